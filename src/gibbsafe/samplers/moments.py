"""Whitened coordinates around the mode, and the sums over records that bound how far the potential is from its quadratic.

With A = ∇²U(t) = βH + M (M the prior precisions) and Wᵀ A W = I, write θ = t + W v, s = |v|, y_i = Wᵀ z_i, a_i = y_iᵀv,
w_i = f''(z_iᵀt). Then Σ β w_i y_i y_iᵀ = I − P with P = Wᵀ M W, which W makes diagonal, and exactly

    U(θ) − U(t) = gᵀv + ½ vᵀPv + β Σ [f(u_i + a_i) − f(u_i) − f'(u_i) a_i],        g = Wᵀ∇U(t).

Three kinds of sums bound the last term from below (see `gibbsafe.samplers.envelope`), each dearer and sharper than the one
before: Gram matrices (n p² operations), the third derivative (n p³/2), the fourth moment (n p⁴/8).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.linalg import eigh

from gibbsafe.data.blocks import weights_of
from gibbsafe.samplers.newton import Mode
from gibbsafe.samplers.posterior import GibbsPosterior

__all__ = [
    "Cubic",
    "Frame",
    "Grams",
    "Seconds",
    "Taylor",
    "cubic",
    "fill_pairs",
    "grams",
    "pairs_of",
    "svec_scale",
    "taylor",
    "weighted_gram",
]

Floats: TypeAlias = npt.NDArray[np.float64]

#: Radii, in units of √p, at which Gram matrices are summed; a radius between them uses the next one above.
FAR_RADII = (1.5, 2.0, 2.8, 4.5, 10.0, 40.0)
NEAR_RADII = (0.7, 0.85, 0.95, 1.0, 1.05, 1.1, 1.16, 1.23, 1.3, 1.4, 1.7)
ROWS = 1024
LARGEST_CUBIC_DIMENSION = 128
#: The fourth moment is a square matrix of p(p+1)/2 rows: 27 MB at p = 60.
LARGEST_FOURTH_DIMENSION = 64


@dataclass(frozen=True, eq=False)
class Frame:
    """Whitened coordinates: θ = centre + scale @ v, with the prior's share P = diag(prior_share) of the unit curvature."""

    centre: Floats
    value: float
    scale: Floats
    gradient: Floats
    prior_share: Floats
    rounding: float

    @classmethod
    def at(cls, mode: Mode, posterior: GibbsPosterior) -> Frame:
        """Diagonalise M^{−1/2} A M^{−1/2} = I + βM^{−1/2}HM^{−1/2}, so that P keeps its relative accuracy however small."""
        root = np.sqrt(posterior.prior_precision)
        eigenvalues, vectors = eigh(mode.hessian / np.outer(root, root))
        eigenvalues = np.maximum(eigenvalues, 1.0)
        scale = vectors / root[:, None] / np.sqrt(eigenvalues)
        # Rounding in the Hessian and its eigenvectors shows as an error of this size in WᵀAW = I.
        rounding = min(0.25, 8 * len(root) * np.finfo(float).eps * float(eigenvalues[-1] / eigenvalues[0]))
        return cls(mode.centre, mode.value, scale, scale.T @ mode.gradient, 1 / eigenvalues, rounding)

    def thetas(self, v: Floats) -> Floats:
        """Points θ = t + W v for each row of v."""
        return np.asarray(self.centre + v @ self.scale.T)


@dataclass(frozen=True, eq=False)
class Taylor:
    """Sums of the cheapest pass: Σ β|f‴_i||y_i| y_i y_iᵀ, Σ β w_i |y_i|² y_i y_iᵀ, Σ|y_i| and Σ|z_i|; max|y_i| and max|z_i|."""

    cubic: Floats
    quartic: Floats
    sum_of_norms: float
    sum_of_row_norms: float
    largest_norm: float
    largest_row_norm: float


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
    return np.asarray(shrunk.T @ shrunk)


def taylor(posterior: GibbsPosterior, frame: Frame) -> Taylor:
    """The sums of `Taylor`, in one pass."""
    largest = np.zeros(2)

    def block(rows: Floats, y: Floats | None) -> tuple[Floats | float, ...]:
        predictor = rows @ frame.centre
        white = rows @ frame.scale
        squares = np.einsum("ij,ij->i", white, white)
        norms = np.sqrt(squares)
        row_norms = np.sqrt(np.einsum("ij,ij->i", rows, rows))
        np.maximum(largest, (norms.max(initial=0.0), row_norms.max(initial=0.0)), out=largest)
        third = np.abs(posterior.loss.third(predictor, y)) * norms
        fourth = posterior.loss.curvature(predictor, y) * squares
        norms, row_norms = weights_of(y) * norms, weights_of(y) * row_norms
        return weighted_gram(white, third), weighted_gram(white, fourth), float(norms.sum()), float(row_norms.sum())

    third, fourth, sum_of_norms, sum_of_row_norms = posterior.data.reduce(block, ROWS)
    beta = posterior.inverse_temperature
    return Taylor(beta * third, beta * fourth, sum_of_norms, sum_of_row_norms, float(largest[0]), float(largest[1]))


def grams(posterior: GibbsPosterior, frame: Frame, shares: tuple[float, ...], known: Grams | None = None) -> Grams:
    """The Gram matrices of `Grams` at radii ``shares`` in units of √p, in one pass, joined to those already known."""
    radii = np.sqrt(posterior.dimension) * np.array(shares)

    def block(rows: Floats, y: Floats | None) -> tuple[Floats]:
        white = rows @ frame.scale
        norms = np.sqrt(np.einsum("ij,ij->i", white, white))
        weights = posterior.loss.curvature_losses(np.multiply.outer(radii, norms), rows @ frame.centre, y)
        return (np.stack([weighted_gram(white, weight) for weight in weights]),)

    (sums,) = posterior.data.reduce(block, ROWS)
    sums = posterior.inverse_temperature * sums
    if known is not None:
        radii, sums = np.concatenate([known.radii, radii]), np.concatenate([known.at_radii, sums])
    order = np.argsort(radii)
    return Grams(radii[order], sums[order])


def svec_scale(width: int) -> Floats:
    """Factors 1 (diagonal) and √2 (off it) that make the packed upper triangle of symmetric matrices an isometry."""
    row, column = np.triu_indices(width)
    return np.where(row == column, 1.0, np.sqrt(2.0))


def fill_pairs(white: npt.NDArray[Any], out: npt.NDArray[Any]) -> None:
    """Products y_j y_k, j ≤ k, of the columns of ``white`` (p, rows) into ``out`` (p(p+1)/2, rows)."""
    start = 0
    for j in range(len(white)):
        stop = start + len(white) - j
        np.multiply(white[j:], white[j], out=out[start:stop])
        start = stop


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
    pairs = np.empty((p * (p + 1) // 2, ROWS))

    def block(rows: Floats, y: Floats | None) -> tuple[Floats]:
        third = posterior.inverse_temperature / 6 * posterior.loss.third(rows @ frame.centre, y)
        white = np.ascontiguousarray((rows @ frame.scale).T)
        products = pairs[:, : len(rows)]
        fill_pairs(white, products)
        return ((white * third) @ products.T,)

    (flat,) = posterior.data.reduce(block, ROWS)
    row, column = np.triu_indices(p)
    linear = 3 * flat[:, row == column].sum(axis=1) / (p + 2)
    trace_part = np.zeros_like(flat)
    trace_part[:, row == column] += linear[:, None] / 3
    index = np.arange(len(row))
    trace_part[row, index] += linear[column] / 3
    trace_part[column, index] += linear[row] / 3
    rest = (flat - trace_part) * svec_scale(p)
    return Cubic(linear, rest @ rest.T, flat)


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
