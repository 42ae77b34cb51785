"""Many log-concave densities on intervals at once: how far they reach, and their masses.

A density e^{h(x)} with h concave and largest at 0, h(0) = 0, falls by d = −h(r) at a point r to the right of its mode. A *reach*
is an r with d between ½ and 2, or the end of the interval if that comes first. What a reach is good for is said where
draws are made (`gibbsafe.samplers.trimmed.log_concave`); where exactly it lies changes the time taken, never a law.

Masses over parts of the interval are Gauss–Legendre sums over panels that widen with the distance from the mode.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np

from gibbsafe._types import Floats, Indices

__all__ = ["LogConcave"]

#: Log density relative to the mode's at points x of the densities with these indices; the two broadcast.
Heights: TypeAlias = Callable[[Floats, Indices], Floats]

#: Drops of the log density that a reach may have, and steps after which any point beyond will do.
SMALLEST_DROP, LARGEST_DROP = 0.5, 2.0
MAXIMUM_STEPS = 200
#: Ends of quadrature panels in units of a reach: narrow near the mode; at 100 reaches the density has fallen by e⁻⁵⁰ or more.
PANELS = np.array([0, *2.0 ** np.arange(-9, -1), 0.5, 0.75, 1, 1.5, 2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64, 100])
#: How many densities are integrated together.
BLOCK = 512
NODES, WEIGHTS = np.polynomial.legendre.leggauss(20)


class LogConcave:
    """Densities ∝ e^{h_i(x)} on [low_i, high_i] ∋ 0 with h_i concave, h_i(0) = 0 its maximum; ``scale`` guesses their widths.

    >>> normal = LogConcave(lambda x, _: -0.5 * x**2, np.array([-np.inf]), np.array([1.0]), np.ones(1))
    >>> float(normal.masses()[0].round(10))  # √(2π) Φ(1)
    2.1089...
    """

    def __init__(self, heights: Heights, low: Floats, high: Floats, scale: Floats) -> None:
        self.heights = heights
        self.low, self.high = low, high
        self.left, self.left_drop = self._reach(-1.0, -low, scale)
        self.right, self.right_drop = self._reach(1.0, high, scale)

    def _reach(self, sign: float, room: Floats, scale: Floats) -> tuple[Floats, Floats]:
        """Return distances on one side at which the log density has dropped by ½ to 2, or the room there is, and the drops."""
        x = np.minimum(scale, room)
        drop = np.zeros_like(x)
        near, far = np.zeros_like(x), np.full_like(x, np.inf)
        open_ = np.flatnonzero(room > 0)
        for _ in range(MAXIMUM_STEPS):
            drop[open_] = -self.heights(sign * x[open_], open_)
            short = (drop[open_] < SMALLEST_DROP) & (x[open_] < room[open_])
            long = drop[open_] > LARGEST_DROP
            near[open_[short]], far[open_[long]] = x[open_[short]], x[open_[long]]
            open_ = open_[short | long]
            if not open_.size:
                return x, drop
            x[open_] = _between(near[open_], far[open_], room[open_])
        beyond = far[open_]  # a cliff: any point past it bounds the tail as well
        x[open_] = np.where(np.isfinite(beyond), beyond, x[open_])
        drop[open_] = -self.heights(sign * x[open_], open_)
        return x, drop

    # -- masses --------------------------------------------------------------------------------------------------

    def edges(self) -> Floats:
        """Return the ends of quadrature panels, (k, m), rising from ``low`` to ``high`` or where nothing is left."""
        left = -np.minimum(self.left[:, None] * PANELS[:0:-1], -self.low[:, None])
        right = np.minimum(self.right[:, None] * PANELS, self.high[:, None])
        return np.concatenate([left, right], axis=1)

    def masses(self) -> Floats:
        """Return ∫ e^{h_i} over each interval."""
        edges = self.edges()
        parts = [self._block_masses(edges[start : start + BLOCK], start) for start in range(0, len(edges), BLOCK)]
        return np.concatenate(parts)

    def _block_masses(self, edges: Floats, start: int) -> Floats:
        used = (np.diff(edges, axis=1) > 0).any(axis=0)  # panels beyond an end of the interval are empty
        points, weights = nodes(edges[:, np.append(used, True) | np.append(False, used)])
        values = self.heights(points, np.arange(start, start + len(edges))[:, None])
        return np.asarray((np.exp(values) * weights).sum(axis=1))


def nodes(edges: Floats) -> tuple[Floats, Floats]:
    """Return quadrature points and weights, (k, m), of the panels between consecutive edges (k, panels + 1)."""
    half = np.diff(edges, axis=-1) / 2
    middle = edges[..., :-1] + half
    points = middle[..., None] + half[..., None] * NODES
    weights = half[..., None] * WEIGHTS
    shape = (*edges.shape[:-1], -1)
    return points.reshape(shape), weights.reshape(shape)


def _between(near: Floats, far: Floats, room: Floats) -> Floats:
    """Return the next distance to look at: beyond ``near``, before ``far``, or their geometric mean."""
    with np.errstate(over="ignore", invalid="ignore"):
        bracketed = np.sqrt(near) * np.sqrt(far)
    inside = np.where(near > 0, bracketed, far / 4)
    return np.minimum(np.where(np.isfinite(far), inside, 4 * near), room)
