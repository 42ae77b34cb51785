"""Exact hockey-stick divergences δ(ε) = ∫ (p − e^ε q)₊ by quadrature, with the kink located.

The integrand is p·(1 − e^{−h})₊ with h = log p − log q − ε, evaluated as ``-expm1(-h)``: nothing cancels, however small δ is.
Composite Gauss–Legendre; a panel in which h changes sign is cut at the roots (bisection), so every piece is smooth. In two
dimensions the inner coordinate is treated like that for every node of the outer one. Normalisers are taken in log space on the
same panels.

Accuracy, measured against closed forms in soundness/test_quadrature.py: 1e-11 relative in one dimension, 1e-8 in two.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

Array = NDArray[np.float64]
LogDensity = Callable[..., Array]

NODES, WEIGHTS = np.polynomial.legendre.leggauss(10)
FINE_NODES, FINE_WEIGHTS = np.polynomial.legendre.leggauss(6)


def panels(low: float, high: float, width: float, breaks: Sequence[float] = ()) -> Array:
    """Return panel edges over [low, high], no wider than ``width``, with an edge at every break."""
    inner = [round(b, 12) for b in breaks if low < b < high]  # no panel of subnormal width
    count = max(4, math.ceil((high - low) / width))
    return np.unique(np.concatenate([np.linspace(low, high, count + 1), inner]))


@dataclass(frozen=True)
class Pair:
    """The posteriors of two neighbouring data sets, as unnormalised log densities on a common grid.

    ``edges``: panel edges of the (inner) coordinate. ``outer``: panel edges of the second coordinate, if there is one;
    ``breaks(s)`` then gives the inner coordinates at which a density has a kink, for outer coordinate s.
    ``normalised=True`` leaves the densities as they are (parts of measures with atoms).
    """

    log_p: LogDensity
    log_q: LogDensity
    edges: Array
    outer: Array | None = None
    breaks: Callable[[Array], Array] | None = None
    normalised: bool = False
    _cache: dict[str, Array] = field(default_factory=dict, repr=False, compare=False)

    def reversed(self) -> Pair:
        """Swap the two data sets."""
        grid = self._grid()
        swapped = dict(grid, p=grid["q"], q=grid["p"], norm=grid["norm"][::-1])
        return Pair(self.log_q, self.log_p, self.edges, self.outer, self.breaks, self.normalised, swapped)

    # -- the grid: arrays of shape (outer nodes, panels, inner points) ---------------------------------------------

    def _grid(self) -> dict[str, Array]:
        if self._cache:
            return self._cache
        if self.outer is None:
            s, s_weight = np.zeros(1), np.ones(1)
        else:
            half = np.diff(self.outer)[:, None] / 2
            s = (self.outer[:-1, None] + half + half * NODES).ravel()
            s_weight = (half * WEIGHTS).ravel()
        edges = np.broadcast_to(self.edges, (s.size, self.edges.size))
        if self.breaks is not None:
            extra = np.clip(np.round(self.breaks(s), 12), self.edges[0], self.edges[-1])
            edges = np.sort(np.concatenate([edges, extra], axis=1), axis=1)
        left, half = edges[:, :-1, None], np.diff(edges, axis=1)[:, :, None] / 2
        points = np.concatenate([left, left + half + half * NODES, left + 2 * half], axis=2)
        weights = half * WEIGHTS * s_weight[:, None, None]
        p, q = self._log(self.log_p, s[:, None, None], points), self._log(self.log_q, s[:, None, None], points)
        if not self.normalised:
            norm_p, norm_q = (logsumexp(f[:, :, 1:-1], b=weights) for f in (p, q))
        else:
            norm_p = norm_q = 0.0
        self._cache.update(s=s, s_weight=s_weight, points=points, weights=weights, p=p - norm_p, q=q - norm_q)
        self._cache.update(norm=np.array([norm_p, norm_q]))
        return self._cache

    def _log(self, density: LogDensity, s: Array, t: Array) -> Array:
        return density(t) if self.outer is None else density(t, s)

    # -- the divergence --------------------------------------------------------------------------------------------

    def delta(self, epsilon: float) -> float:
        """Return ∫ (p − e^ε q)₊."""
        grid = self._grid()
        p, h = grid["p"], grid["p"] - grid["q"] - epsilon
        changes = (h[:, :, :-1] > 0) != (h[:, :, 1:] > 0)
        cut = changes.any(axis=2)
        smooth = np.where(cut[:, :, None], 0.0, grid["weights"] * _positive_part(p[:, :, 1:-1], h[:, :, 1:-1]))
        total = float(smooth.sum())
        rows, columns = np.nonzero(cut)
        if rows.size:
            total += self._cut_panels(epsilon, rows, columns, changes)
        return total

    def _cut_panels(self, epsilon: float, rows: NDArray[np.intp], columns: NDArray[np.intp], changes: Array) -> float:
        """Integrate the panels in which h changes sign: between neighbouring points, cut at the roots."""
        grid = self._grid()
        norm_p, norm_q = grid["norm"]
        points = grid["points"][rows, columns]
        s = np.broadcast_to(grid["s"][rows, None], (rows.size, points.shape[1] - 1))
        low, high, root_here = points[:, :-1].copy(), points[:, 1:].copy(), changes[rows, columns]

        def log_ratio(t: Array, at: Array) -> Array:
            return self._log(self.log_p, at, t) - norm_p - (self._log(self.log_q, at, t) - norm_q) - epsilon

        a, b, at = low[root_here], high[root_here], s[root_here]
        sign = log_ratio(a, at) > 0
        for _ in range(32):  # the integrand is 0 at the root: what 2⁻³² of a panel adds is of second order
            middle = (a + b) / 2
            same = (log_ratio(middle, at) > 0) == sign
            a, b = np.where(same, middle, a), np.where(same, b, middle)
        middle = high.copy()
        middle[root_here] = (a + b) / 2
        total = 0.0
        for start, end in ((low, middle), (middle, high)):
            half = (end - start)[:, :, None] / 2
            t = start[:, :, None] + half + half * FINE_NODES
            at3 = np.broadcast_to(s[:, :, None], t.shape)
            p = self._log(self.log_p, at3, t) - norm_p
            piece = half * FINE_WEIGHTS * _positive_part(p, log_ratio(t, at3))
            total += float((piece.sum(axis=(1, 2)) * grid["s_weight"][rows]).sum())
        return total


def _positive_part(log_p: Array, h: Array) -> Array:
    return np.exp(log_p) * -np.expm1(-np.maximum(h, 0.0))
