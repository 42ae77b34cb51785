"""Whitened coordinates around the mode, and the sums over records that bound how far the potential is from its quadratic.

With A = ∇²U(t) = βH + M (M the prior precisions) and Wᵀ A W = I, write θ = t + W v, s = |v|, y_i = Wᵀ z_i, a_i = y_iᵀv,
w_i = f''(z_iᵀt). Then D = Σ β w_i y_i y_iᵀ = I − P with P = Wᵀ M W, which W makes diagonal, and exactly

    U(θ) − U(t) = gᵀv + ½ vᵀPv + β Σ [f(u_i + a_i) − f(u_i) − f'(u_i) a_i],        g = Wᵀ∇U(t).

Three kinds of sums bound the last term from below (see `gibbsafe.samplers.shell.envelope`), each dearer and sharper than the one
before: Gram matrices (n p² operations), the third derivative (n p³/2), the fourth moment (n p⁴/8).
"""

from __future__ import annotations

import threading
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from scipy.linalg import eigh

from gibbsafe._types import Floats, Values
from gibbsafe.data.blocks import weights_of
from gibbsafe.data.sums import Largest
from gibbsafe.losses.base import Loss
from gibbsafe.posteriors.gibbs import GibbsPosterior
from gibbsafe.samplers.newton import Mode
from gibbsafe.samplers.shell.rounding import UNIT, Rounding, Sums, product_error

__all__ = [
    "Cubic",
    "Frame",
    "Grams",
    "Seconds",
    "Taylor",
    "cubic",
    "fill_pairs",
    "grams",
    "largest_norms",
    "pair_room",
    "pairs_of",
    "svec_scale",
    "taylor",
    "weighted_gram",
]


#: Radii, in units of √p, at which Gram matrices are summed; a radius between them uses the next one above.
FAR_RADII = (1.5, 2.0, 2.8, 4.5, 10.0, 40.0)
NEAR_RADII = (0.7, 0.85, 0.95, 1.0, 1.05, 1.1, 1.16, 1.23, 1.3, 1.4, 1.7)
#: Rows of a block: operations on fewer are over before another thread has taken its turn; and where pairs of columns are kept.
ROWS = 8192
PAIR_ROWS = 1024
LARGEST_CUBIC_DIMENSION = 128
#: Eigenvalues, in units of the prior's, beyond which the Hessian is not squared to find them.
LARGEST_SQUARED = 1e8
#: The fourth moment is a square matrix of p(p+1)/2 rows: 27 MB at p = 60.
LARGEST_FOURTH_DIMENSION = 64


@dataclass(frozen=True, eq=False)
class Frame:
    """Whitened coordinates: θ = centre + scale @ v, with the prior's share P ⪰ diag(prior_share) of the curvature.

    The curvature of the data in these coordinates is measured (`Taylor.curvature`), not taken to be I − P: so W need not
    whiten well for any bound to hold. ``skew`` bounds |VᵀV − I|, V the computed eigenvectors: P errs by that share of itself.
    """

    centre: Floats
    value: float
    loss_total: float
    scale: Floats
    gradient: Floats
    prior_share: Floats
    skew: float

    @classmethod
    def at(cls, mode: Mode, posterior: GibbsPosterior) -> Frame:
        """Diagonalise M^{−1/2} A M^{−1/2} = I + βM^{−1/2}HM^{−1/2}, so that P keeps its relative accuracy however small.

        Eigenvalues of the sum err by roundings of the largest. Where that is many prior precisions they are taken from the
        singular values of the rows instead, which err by roundings of its root.
        """
        root = np.sqrt(posterior.prior_precision)
        eigenvalues, vectors = eigh(mode.hessian / root / root[:, None])
        if eigenvalues[-1] > LARGEST_SQUARED:
            eigenvalues, vectors = _by_singular_values(posterior, mode.centre, root)
        eigenvalues = np.maximum(eigenvalues, 1.0)
        # Draws depend on no library's choice of signs.
        vectors = vectors * np.sign(vectors[np.abs(vectors).argmax(axis=0), np.arange(len(root))])
        scale = vectors / root[:, None] / np.sqrt(eigenvalues)
        p = len(root)
        skew = float(np.linalg.norm(vectors.T @ vectors - np.eye(p))) + (p * p + 8) * UNIT
        total = float(posterior.loss_totals(mode.centre[None])[0])
        return cls(mode.centre, mode.value, total, scale, scale.T @ mode.gradient, 1 / eigenvalues, skew)

    def steps(self, v: Floats) -> Floats:
        """Steps W v for each row of v."""
        return np.asarray(v @ self.scale.T)

    def thetas(self, v: Floats) -> Floats:
        """Points θ = t + W v for each row of v."""
        return np.asarray(self.centre + self.steps(v))


def _by_singular_values(posterior: GibbsPosterior, centre: Floats, root: Floats) -> tuple[Floats, Floats]:
    """Eigenvalues and vectors of I + βM^{−1/2}HM^{−1/2}, from the triangular factor of the rows √(βw_i) M^{−1/2} z_i."""
    p = len(root)
    (factor,) = posterior.data.reduce(partial(_factor, posterior.loss, posterior.inverse_temperature, centre, root), ROWS)
    _, values, vectors = np.linalg.svd(np.concatenate([factor.triangle, np.zeros((p, p))]))
    return np.asarray(1 + np.square(values[::-1])), np.asarray(vectors[::-1].T)


@dataclass(frozen=True, eq=False)
class _Factor:
    """The triangular factor of rows: adding is factoring the two triangles, one above the other."""

    triangle: Floats

    @classmethod
    def of(cls, rows: Floats) -> _Factor:
        """Return the factor of some rows."""
        return cls(np.linalg.qr(rows)[1])

    def __add__(self, other: _Factor) -> _Factor:
        return _Factor.of(np.concatenate([self.triangle, other.triangle]))

    def __rmul__(self, times: int) -> _Factor:
        return _Factor(np.sqrt(times) * self.triangle)


def _factor(  # noqa: PLR0917 - what a block needs, then the block
    loss: Loss, beta: float, centre: Floats, root: Floats, rows: Floats, y: Floats | None
) -> tuple[_Factor]:
    weights = beta * loss.curvature(rows @ centre, y)
    return (_Factor.of(rows * np.sqrt(weights)[:, None] / root),)


@dataclass(frozen=True, eq=False)
class Taylor:
    """Sums of the cheapest pass: D = Σ β w_i y_i y_iᵀ, Σ β|f‴_i||y_i| y_i y_iᵀ, Σ β w_i |y_i|² y_i y_iᵀ, and their rounding."""

    curvature: Floats
    cubic: Floats
    quartic: Floats
    sum_of_row_norms: float
    largest_norm: float
    rounding: Rounding


@dataclass(frozen=True, eq=False)
class Grams:
    """B(r) = Σ β Δ_i(|y_i| r) y_i y_iᵀ at rising radii r, Δ_i the loss's `curvature_losses` within that reach."""

    radii: Floats
    at_radii: Floats


@dataclass(frozen=True, eq=False)
class Cubic:
    """C(v) = β Σ f'''_i a_i³/6 = s² cᵀv + C₀(v): ``linear`` is c, ``spread`` the matrix F Fᵀ of C₀(v) = vᵀF svec(vvᵀ).

    ``flat`` holds (β/6) Σ f'''_i y_ij y_ik y_il in row j and column (k, l), k ≤ l.
    """

    linear: Floats
    spread: Floats
    flat: Floats


def weighted_gram(white: Floats, weights: Floats) -> Floats:
    """Σ weight_i y_i y_iᵀ for weights ≥ 0: a symmetric product, which BLAS does in half the time of a general one."""
    shrunk = white * np.sqrt(np.maximum(weights, 0))[:, None]
    return np.asarray(np.dot(shrunk.T, shrunk))


def taylor(posterior: GibbsPosterior, frame: Frame) -> Taylor:
    """The sums of `Taylor`, in one pass."""
    beta = posterior.inverse_temperature
    second, third, fourth, scalars, largest = posterior.data.reduce(partial(_taylor, posterior.loss, frame), ROWS)
    losses, norms, row_norms, raw_curvature = (float(each) for each in scalars)
    tops = (float(each) for each in largest.values)
    sums = Sums(losses, norms, row_norms, beta * raw_curvature, beta * float(np.trace(second)), *tops)
    return Taylor(beta * second, beta * third, beta * fourth, row_norms, sums.largest_norm, Rounding.of(posterior, frame, sums))


def _taylor(loss: Loss, frame: Frame, rows: Floats, y: Floats | None) -> tuple[Floats, Floats, Floats, Floats, Largest]:
    predictor = rows @ frame.centre
    white = rows @ frame.scale
    squares = np.einsum("ij,ij->i", white, white)
    norms = np.sqrt(squares)
    row_squares = np.einsum("ij,ij->i", rows, rows)
    row_norms = np.sqrt(row_squares)
    largest = Largest(np.array([norms.max(initial=0.0), row_norms.max(initial=0.0)]))
    curvature = loss.curvature(predictor, y)
    third = np.abs(loss.third(predictor, y)) * norms
    count = weights_of(y)
    scalars = np.array(
        [
            loss.total(predictor, y) if loss.margin else np.abs(loss.value(predictor, y)).sum(),  # a margin loss is ≥ 0
            np.sum(count * norms),
            np.sum(count * row_norms),
            curvature @ row_squares,
        ]
    )
    by_squares = weighted_gram(white, curvature * squares)
    return weighted_gram(white, curvature), weighted_gram(white, third), by_squares, scalars, largest


def largest_norms(rows: Floats, white: Floats, spread: float) -> Floats:
    """Upper bounds of the norms |y_i|, rounding of the products (`product_error`) included."""
    norms = np.sqrt(np.einsum("ij,ij->i", white, white)) * (1 + 1e-13)
    return np.asarray(norms + spread * np.sqrt(np.einsum("ij,ij->i", rows, rows)))


def grams(posterior: GibbsPosterior, frame: Frame, shares: tuple[float, ...], known: Grams | None = None) -> Grams:
    """The Gram matrices of `Grams` at radii ``shares`` in units of √p, in one pass, joined to those already known."""
    radii = np.sqrt(posterior.dimension) * np.array(shares)
    (sums,) = posterior.data.reduce(partial(_grams, posterior.loss, frame, radii, product_error(frame.scale)), ROWS)
    sums = posterior.inverse_temperature * sums
    if known is not None:
        radii, sums = np.concatenate([known.radii, radii]), np.concatenate([known.at_radii, sums])
    order = np.argsort(radii)
    return Grams(radii[order], sums[order])


def _grams(loss: Loss, frame: Frame, radii: Floats, spread: float, rows: Floats, y: Floats | None) -> tuple[Floats]:  # noqa: PLR0917
    white = rows @ frame.scale
    reaches = np.multiply.outer(radii, largest_norms(rows, white, spread))
    weights = loss.curvature_losses(reaches, rows @ frame.centre, y)
    return (np.stack([weighted_gram(white, weight) for weight in weights]),)


def svec_scale(width: int) -> Floats:
    """Factors 1 (diagonal) and √2 (off it) that make the packed upper triangle of symmetric matrices an isometry."""
    row, column = np.triu_indices(width)
    return np.where(row == column, 1.0, np.sqrt(2.0))


def fill_pairs(white: Values, out: Values) -> None:
    """Products y_j y_k, j ≤ k, of the columns of ``white`` (p, rows) into ``out`` (p(p+1)/2, rows)."""
    start = 0
    for j in range(len(white)):
        stop = start + len(white) - j
        np.multiply(white[j:], white[j], out=out[start:stop])
        start = stop


_ROOM = threading.local()


def pair_room(width: int, dtype: type[np.floating[Any]]) -> Values:
    """Return room for the products of pairs of one block of `PAIR_ROWS` rows: this thread's own, and taken only once."""
    shape = (width * (width + 1) // 2, PAIR_ROWS)
    room: Values | None = getattr(_ROOM, "room", None)
    if room is None or room.shape != shape or room.dtype != dtype:
        room = _ROOM.room = np.empty(shape, dtype=dtype)
    return room


def pairs_of(columns: Floats) -> Floats:
    """Products v_j v_k, j ≤ k, of points given as columns (p, points): the packed upper triangles of vvᵀ, unscaled."""
    products = np.empty((len(columns) * (len(columns) + 1) // 2, columns.shape[1]))
    fill_pairs(columns, products)
    return products


def cubic(posterior: GibbsPosterior, frame: Frame) -> Cubic:
    """The third derivative at the mode: its part s²cᵀv, and the flattening of the rest, which has no trace.

    c_j = 3 Σ_k T_jkk/(p+2) makes T − sym(c ⊗ I) traceless (the harmonic decomposition of a cubic form).
    """
    p = posterior.dimension
    (flat,) = posterior.data.reduce(partial(_cubic, posterior.loss, posterior.inverse_temperature, frame), PAIR_ROWS)
    row, column = np.triu_indices(p)
    linear = 3 * flat[:, row == column].sum(axis=1) / (p + 2)
    trace_part = np.zeros_like(flat)
    trace_part[:, row == column] += linear[:, None] / 3
    index = np.arange(len(row))
    trace_part[row, index] += linear[column] / 3
    trace_part[column, index] += linear[row] / 3
    rest = (flat - trace_part) * svec_scale(p)
    return Cubic(linear, rest @ rest.T, flat)


def _cubic(loss: Loss, beta: float, frame: Frame, rows: Floats, y: Floats | None) -> tuple[Floats]:
    third = beta / 6 * loss.third(rows @ frame.centre, y)
    white = np.ascontiguousarray((rows @ frame.scale).T)
    products = pair_room(len(white), np.float64)[:, : len(rows)]
    fill_pairs(white, products)
    return (np.dot(white * third, products.T),)


@dataclass(frozen=True)
class Seconds:
    """Rough cost, on one core, of an evaluation in a batch, a Gram matrix, the cubic, a fourth moment without and with proof."""

    evaluation: float
    gram: float
    cubic: float
    moment: float
    fourth: float

    @classmethod
    def of(cls, posterior: GibbsPosterior) -> Seconds:
        """Fitted to timings of NumPy with OpenBLAS; only decides what is worth computing."""
        n, p = posterior.rows_per_pass, posterior.dimension
        pairs = p * (p + 1) / 2
        moment = n * (0.02 * pairs**2 + 0.6 * pairs) * 1e-9
        return cls(
            evaluation=n * (0.1 * p + 8) * 1e-9,
            gram=n * (0.05 * p**2 + 1.5 * p + 80) * 1e-9,
            cubic=n * (0.1 * p * pairs + 0.6 * pairs) * 1e-9,
            moment=moment,
            fourth=moment + 3e-10 * pairs**3 + 1e-2,
        )
