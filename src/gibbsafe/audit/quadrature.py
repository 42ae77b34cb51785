"""Exact hockey-stick divergences of two posteriors with one or two parameters, by adaptive quadrature with the kink located.

δ(ε) = ∫ p (1 − e^{−h})₊, h = log p − log q − ε. Along the last coordinate the line is cut into panels on which log p and log q
are polynomials to rounding error (panels are halved until their Legendre coefficients say so, also at kinks of a loss); a panel
in which h changes sign is cut again at the roots of its polynomial, so every piece is smooth and nothing cancels. The first of
two coordinates is integrated by Gauss–Legendre panels over such lines.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from numpy.polynomial import legendre
from scipy.special import logsumexp

from gibbsafe._types import Floats
from gibbsafe.audit.coordinates import Coordinates, coordinates_of
from gibbsafe.errors import PremiseError

__all__ = ["Quadrature"]


ORDER = 12
NODES, WEIGHTS = legendre.leggauss(ORDER)
#: Values at the nodes → Legendre coefficients.
TO_COEFFICIENTS = ((2 * np.arange(ORDER) + 1) / 2)[:, None] * (legendre.legvander(NODES, ORDER - 1).T * WEIGHTS)
#: Points between which a sign change is looked for, and the coefficients' values there.
POINTS = np.concatenate([[-1.0], NODES, [1.0]])
AT_POINTS = legendre.legvander(POINTS, ORDER - 1).T
#: Coefficients of a function → coefficients of its derivative.
DERIVATIVE = np.array([np.pad(legendre.legder(row), (0, 1)) for row in np.eye(ORDER)])
FIRST_PANELS, FIRST_OUTER = 24, 14
MOST_PANELS, MOST_ROUNDS = 6000, 48
#: Coefficients below this that halving did not shrink this often in a row are taken for rounding.
LARGEST_ROUNDING, MOST_IN_VAIN = 1e-7, 3
#: A panel is fine when its last coefficients, weighted by its mass, are below this.
TOLERANCE = 1e-13
#: Rounding of sums of thousands of terms.
ROUNDING = 2e-14


def coefficients(values: Floats) -> Floats:
    """Return Legendre coefficients of functions given at the nodes (last axis)."""
    return np.asarray(values @ TO_COEFFICIENTS.T)


def last_coefficients(values: Floats) -> Floats:
    """Return the size of the last two coefficients: an estimate of what the polynomial leaves out."""
    return np.asarray(np.abs(coefficients(values)[..., -2:]).max(axis=-1))


@dataclass(frozen=True, eq=False)
class Quadrature:
    """Two normalised densities on cells (line, panel): log p at the nodes, log p − log q, half widths, and weights of the lines.

    ``error`` bounds the error of `delta` that comes from the panels, the normalisers and the mass outside the box.
    """

    log_p: Floats
    log_ratio: Floats
    half: Floats
    line_weights: Floats
    error: float

    @classmethod
    def of(cls, first: Any, second: Any) -> Quadrature:
        """Return the quadrature of two posteriors (anything with ``values``, and ``support`` where it is not all of space)."""
        return _build(coordinates_of((first, second)), (first, second))

    def reversed(self) -> Quadrature:
        """Swap the two densities."""
        return Quadrature(self.log_p - self.log_ratio, -self.log_ratio, self.half, self.line_weights, self.error)

    @cached_property
    def _coefficients(self) -> tuple[Floats, Floats, Floats]:
        ratio = coefficients(self.log_ratio)
        return coefficients(self.log_p), ratio, ratio @ AT_POINTS

    def delta(self, epsilon: float) -> tuple[float, float]:
        """Return ∫(p − e^ε q)₊ and a bound on its error."""
        of_p, of_ratio, at_points = self._coefficients
        positive = at_points > epsilon
        whole, cut = positive.all(axis=-1), positive.any(axis=-1) & ~positive.all(axis=-1)
        cells = np.zeros(whole.shape)
        h = self.log_ratio[whole] - epsilon
        cells[whole] = (WEIGHTS * np.exp(self.log_p[whole]) * -np.expm1(-np.maximum(h, 0.0))).sum(axis=-1)
        if cut.any():
            cells[cut] = _cut_cells(of_p[cut], of_ratio[cut], positive[cut], epsilon)
        lines = (cells * self.half).sum(axis=1)
        return float(lines @ self.line_weights), self.error + self._line_error(lines)

    def _line_error(self, lines: Floats) -> float:
        """Bound the error of integrating over lines: the last coefficients of the line integrals on each outer panel."""
        if len(lines) == 1:
            return 0.0
        weights = self.line_weights.reshape(-1, ORDER).sum(axis=1)
        return float(2 * (weights * last_coefficients(lines.reshape(-1, ORDER))).sum())


def _cut_cells(of_p: Floats, of_ratio: Floats, positive: npt.NDArray[np.bool_], epsilon: float) -> Floats:
    """Integrate cells in which h changes sign: between neighbouring points, up to the roots of h's polynomial."""
    left, right = positive[:, :-1], positive[:, 1:]
    cell, piece = np.nonzero(left | right)
    low, high = POINTS[piece], POINTS[piece + 1]
    mixed = left[cell, piece] != right[cell, piece]
    of_h = of_ratio[cell]
    rising = right[cell, piece][mixed]
    root = _roots(of_h[mixed], epsilon, low[mixed], high[mixed], rising)
    low[mixed], high[mixed] = np.where(rising, root, low[mixed]), np.where(rising, high[mixed], root)
    half = (high - low)[:, None] / 2
    x = low[:, None] + half + half * NODES
    h = np.maximum(_evaluate(of_h, x) - epsilon, 0.0)
    value = (half * WEIGHTS * np.exp(_evaluate(of_p[cell], x)) * -np.expm1(-h)).sum(axis=1)
    return np.asarray(np.bincount(cell, weights=value, minlength=len(of_p)), dtype=np.float64)


def _roots(of_h: Floats, epsilon: float, low: Floats, high: Floats, rising: npt.NDArray[np.bool_]) -> Floats:
    """Return where polynomials cross ε between two points: halving to be near, then Newton steps kept between the ends."""
    slopes = of_h @ DERIVATIVE
    root = (low + high) / 2
    for k in range(10):
        basis = legendre.legvander(root, ORDER - 1)
        h = (of_h * basis).sum(axis=1) - epsilon
        before = (h > 0) != rising
        low, high = np.where(before, root, low), np.where(before, high, root)
        slope = (slopes * basis).sum(axis=1)
        newton = root - h / np.where(slope == 0, 1.0, slope)
        root = np.where((k >= 4) & (newton >= low) & (newton <= high), newton, (low + high) / 2)
    return root


def _evaluate(of_f: Floats, x: Floats) -> Floats:
    """Return polynomials (rows of coefficients) at their own points (rows of x)."""
    return np.asarray(np.einsum("ck,cxk->cx", of_f, legendre.legvander(x, ORDER - 1)))


# -- the mesh ----------------------------------------------------------------------------------------------------------


@dataclass(eq=False)
class _Mesh:
    """Panels of the last coordinate over lines through the outer nodes, with both log densities at their nodes."""

    coordinates: Coordinates
    posteriors: tuple[Any, Any]
    outer: Floats

    def evaluate(self, low: Floats, high: Floats) -> Floats:
        """Return log densities (2, lines, panels, nodes)."""
        half = (high - low)[:, None] / 2
        t = low[:, None] + half + half * NODES
        shape = (len(self.outer), *t.shape)
        columns = [np.broadcast_to(t, shape).ravel()]
        if self.coordinates.dimension == 2:
            columns.insert(0, np.broadcast_to(self.outer[:, None, None], shape).ravel())
        found = np.stack(self.coordinates.log_densities(self.posteriors, np.stack(columns, axis=1))).reshape(2, *shape)
        if not np.isfinite(found).all():
            raise PremiseError("posterior: its density vanishes or is infinite inside its support, which quadrature cannot see")
        return found


def _build(coordinates: Coordinates, posteriors: tuple[object, object]) -> Quadrature:
    panels_of_lines = FIRST_OUTER
    while True:
        integral = _on_lines(coordinates, posteriors, panels_of_lines)
        if coordinates.dimension == 1 or panels_of_lines >= 4 * FIRST_OUTER:
            return integral
        worst = max(integral.delta(0.0)[1], integral.reversed().delta(0.0)[1])
        if worst < 1e-8:
            return integral
        panels_of_lines *= 2


def _on_lines(coordinates: Coordinates, posteriors: tuple[object, object], panels_of_lines: int) -> Quadrature:
    outer, line_weights = np.zeros(1), np.ones(1)
    if coordinates.dimension == 2:
        edges = np.linspace(coordinates.box[0, 0], coordinates.box[1, 0], panels_of_lines + 1)
        half = np.diff(edges)[:, None] / 2
        outer, line_weights = (edges[:-1, None] + half + half * NODES).ravel(), (half * WEIGHTS).ravel()
    mesh = _Mesh(coordinates, posteriors, outer)
    low, high, logs = _refined(mesh, line_weights)
    half = np.broadcast_to((high - low) / 2, (len(outer), len(low)))
    log_weights = np.log(half)[None, :, :, None] + np.log(WEIGHTS) + np.log(line_weights)[None, :, None, None]
    norms = logsumexp(logs + log_weights, axis=(1, 2, 3), keepdims=True)
    p, q = logs - norms
    both = np.stack([p, q])
    error = _tails(both, half, line_weights) + _outside(both, low, high, line_weights) + ROUNDING
    return Quadrature(p, p - q, half, line_weights, error)


def _refined(mesh: _Mesh, line_weights: Floats) -> tuple[Floats, Floats, Floats]:
    """Halve panels until both log densities are polynomials on each, as far as its mass matters and rounding allows.

    Halving helps where a function is smooth or has a kink; where small last coefficients do not shrink several times in a row,
    they are rounding errors of the potential, and stay in the error bound.
    """
    edges = np.linspace(mesh.coordinates.box[0, -1], mesh.coordinates.box[1, -1], FIRST_PANELS + 1)
    low, high, vain = edges[:-1], edges[1:], np.zeros(FIRST_PANELS, int)
    logs = mesh.evaluate(low, high)
    for _ in range(MOST_ROUNDS):
        share = np.exp(logs - logs.max(axis=(1, 2, 3), keepdims=True)).mean(axis=3) * (high - low) * line_weights[:, None]
        share /= share.sum(axis=(1, 2), keepdims=True)
        rough = last_coefficients(logs).max(axis=0)
        coarse = ((share.max(axis=0) * rough).sum(axis=0) > TOLERANCE / 10) & (vain < MOST_IN_VAIN)
        if not coarse.any() or len(low) + coarse.sum() > MOST_PANELS:
            break
        middle = (low[coarse] + high[coarse]) / 2
        halves = np.concatenate([low[coarse], middle]), np.concatenate([middle, high[coarse]])
        new = mesh.evaluate(*halves)
        now, before = last_coefficients(new).max(axis=(0, 1)), np.tile(rough[:, coarse].max(axis=0), 2)
        stuck = (now > 0.6 * before) & (now < LARGEST_ROUNDING)
        low, high = (np.concatenate([old[~coarse], half]) for old, half in zip((low, high), halves, strict=True))
        vain = np.concatenate([vain[~coarse], np.where(stuck, np.tile(vain[coarse], 2) + 1, 0)])
        logs = np.concatenate([logs[:, :, ~coarse], new], axis=2)
    order = np.argsort(low)
    return low[order], high[order], logs[:, :, order]


def _tails(logs: Floats, half: Floats, line_weights: Floats) -> float:
    """Bound what the panels leave out: each density's mass times the last coefficients of both logarithms."""
    mass = np.exp(logs).mean(axis=3) * 2 * half * line_weights[:, None]
    return float(4 * (mass.sum(axis=0) * last_coefficients(logs).sum(axis=0)).sum())


def _outside(logs: Floats, low: Floats, high: Floats, line_weights: Floats) -> float:
    """Bound the mass beyond both ends of the lines: height over slope, as of an exponential."""
    total = 0.0
    for panel, side in ((0, -1.0), (len(low) - 1, 1.0)):
        ends = logs[:, :, panel] @ (TO_COEFFICIENTS.T @ legendre.legvander(np.array([side, 0.0]), ORDER - 1).T)
        slope = np.abs(ends[..., 0] - ends[..., 1]) * 2 / (high[panel] - low[panel])
        total += float((np.exp(ends[..., 0]) / np.maximum(slope, 1e-6) * line_weights).sum())
    return total
