"""Hockey-stick divergences ∫(p − e^ε q)₊ of two densities on a line, by adaptive Gauss–Legendre quadrature, all ε at once.

Densities are given as logarithms without their normalisers. The interval is cut down to where one of them is within `DROP` of its
largest value, so posteriors of any scale are seen; panels are cut at the kinks and halved until every component of the integrand
agrees with its halves. Nothing cancels: the integrand is p·(1 − e^{−h})₊ with h = log p − log q − ε.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
LogDensity = Callable[[Array], Array]

#: Mass is looked for where a log density is within this of its largest value: e^{−90} is below 1e-39.
DROP = 90.0
PANELS = 24
ROUNDS = 60
#: Panels that may still be uneven at once; more are rounding noise.
MOST = 1500
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(10)
#: Steps from a centre, from 1e-16 to 1e30 of a unit, by which an unknown scale is found.
_LADDER = np.concatenate([[0.0], 10.0 ** np.arange(-16, 30.01, 0.25)])


@dataclass(frozen=True)
class Line:
    """Where two densities live: an interval (ends may be infinite), points to look around, and known kinks.

    ``terms`` gives the sum of the absolute terms of a log density: 4e-16 of it is the rounding of the log ratio.
    """

    low: float = -math.inf
    high: float = math.inf
    centres: Sequence[float] = (0.0,)
    unit: float = 1.0
    kinks: Sequence[float] = ()
    terms: LogDensity | None = None


@dataclass(frozen=True)
class Curve:
    """δ(ε) in both directions with the quadrature's own error: `forward`, `backward` and `error` have one entry per ε."""

    forward: Array
    backward: Array
    error: Array

    @property
    def worst(self) -> Array:
        """The larger direction."""
        return np.maximum(self.forward, self.backward)


def _points(line: Line) -> Array:
    """Return points at every scale around the centres, inside the interval."""
    rungs = np.concatenate([-_LADDER[::-1], _LADDER]) * line.unit
    ends = [end for end in (line.low, line.high) if math.isfinite(end)]
    spread = np.linspace(line.low, line.high, 129) if len(ends) == 2 else np.empty(0)
    near = [end + sign * _LADDER * line.unit for end in ends for sign in (-1, 1)]
    raw = np.concatenate([*(centre + rungs for centre in line.centres), *near, spread, np.array(ends), np.array(line.kinks)])
    return np.unique(np.clip(raw[np.isfinite(raw)], line.low, line.high))


def _window(log_density: LogDensity, points: Array) -> tuple[float, float, float]:
    """Return (low, high, largest): where a density is within `DROP` of its largest value; one mode between points."""
    values = log_density(points)
    for _ in range(14):  # zoom in on the mode
        best = int(np.argmax(values))
        left, right = points[max(0, best - 1)], points[min(len(points) - 1, best + 1)]
        inner = np.linspace(left, right, 19)
        points = np.concatenate([points, inner])
        values = np.concatenate([values, log_density(inner)])
        order = np.argsort(points, kind="stable")
        points, values = points[order], values[order]
    top = float(values.max())
    inside = np.nonzero(values >= top - DROP)[0]
    first, last = int(inside[0]), int(inside[-1])
    low = points[0] if first == 0 else _edge(log_density, points[first - 1], points[first], top)
    high = points[-1] if last == len(points) - 1 else _edge(log_density, points[last + 1], points[last], top)
    return float(low), float(high), top


def _edge(log_density: LogDensity, outside: float, inside: float, top: float) -> float:
    for _ in range(24):
        grid = np.linspace(outside, inside, 9)
        kept = log_density(grid) >= top - DROP
        k = int(np.argmax(kept))
        if k == 0:
            return outside
        outside, inside = grid[k - 1], grid[k]
    return outside


def integrate(function: Callable[[Array], Array], edges: Array, relative: float = 1e-10) -> tuple[Array, Array]:
    """Return ∫ f and its error for a vector-valued f: points (k,) → values (components, k)."""
    left, right = edges[:-1], edges[1:]
    values = _panel(function, left, right)
    done_value, done_error = np.zeros(values.shape[0]), np.zeros(values.shape[0])
    for depth in range(ROUNDS):
        middle = (left + right) / 2
        halves_left, halves_right = np.concatenate([left, middle]), np.concatenate([middle, right])
        halves = _panel(function, halves_left, halves_right)
        both = halves[:, : len(left)] + halves[:, len(left) :]
        error = np.abs(both - values)
        total = np.abs(done_value + both.sum(axis=1))
        small = error <= np.maximum(relative * total[:, None] / 50, 2e-14 * np.abs(both)) + 1e-300  # the second is rounding
        fine = (small.all(axis=0) & (depth > 0)) | (middle <= left) | (middle >= right)  # agreement once may be chance
        if np.count_nonzero(~fine) > MOST:
            fine[:] = True  # noise that no halving removes: its size is the error
        done_value += both[:, fine].sum(axis=1)
        done_error += error[:, fine].sum(axis=1)
        again = np.concatenate([~fine, ~fine])
        if not again.any():
            break
        left, right, values = halves_left[again], halves_right[again], halves[:, again]
    else:
        done_value += values.sum(axis=1)
        done_error += np.abs(values).sum(axis=1)
    return done_value, done_error + 1e-13 * np.abs(done_value)


def _nodes(left: Array, right: Array) -> tuple[Array, Array]:
    half = (right - left)[:, None] / 2
    return (left[:, None] + half * (1 + _NODES)).ravel(), (half * _WEIGHTS).ravel()


def _panel(function: Callable[[Array], Array], left: Array, right: Array) -> Array:
    points, weights = _nodes(left, right)
    values = function(points) * weights
    return values.reshape(values.shape[0], len(left), len(_NODES)).sum(axis=2)


@dataclass(frozen=True)
class Pair:
    """Two densities, normalised: logarithms, a common grid of panels, and the relative error of the normalisers."""

    log_p: LogDensity
    log_q: LogDensity
    edges: Array
    error: float
    noise: float = 0.0

    def largest(self) -> float:
        """Return the largest log ratio seen on the panels' ends, either way, less its rounding: a lower bound on the pure ε."""
        gaps = np.abs(self.log_p(self.edges) - self.log_q(self.edges))
        return float(np.max(gaps[np.isfinite(gaps)])) - 2 * (self.error + self.noise)

    def _crossings(self, levels: Array) -> Array:
        """Return where the log ratio crosses ±ε, by bisection between the panels' nodes: the sticks' kinks."""
        points = np.unique(np.concatenate([self.edges, _nodes(self.edges[:-1], self.edges[1:])[0]]))
        gap = self.log_p(points) - self.log_q(points)
        wanted = np.concatenate([levels, -levels])[:, None]
        rows, columns = np.nonzero((gap[:-1] > wanted) != (gap[1:] > wanted))
        low, high, level = points[columns], points[columns + 1], wanted[rows, 0]
        above = gap[columns] > level
        for _ in range(64):
            middle = (low + high) / 2
            same = (self.log_p(middle) - self.log_q(middle) > level) == above
            low, high = np.where(same, middle, low), np.where(same, high, middle)
        return high

    def curve(self, epsilons: Sequence[float]) -> Curve:
        """Return ∫(p − e^ε q)₊ and ∫(q − e^ε p)₊ at every ε."""
        wanted = np.asarray(epsilons, dtype=np.float64)
        eps = np.concatenate([wanted, wanted - 0.5])[:, None]

        def sticks(x: Array) -> Array:
            p, q = self.log_p(x), self.log_q(x)
            gap = np.where(np.isfinite(p) & np.isfinite(q), p - q, np.where(np.isfinite(p), np.inf, -np.inf))
            forward = np.exp(p) * -np.expm1(-np.maximum(gap - eps, 0.0))
            backward = np.exp(q) * -np.expm1(-np.maximum(-gap - eps, 0.0))
            return np.concatenate([forward, backward])

        edges = np.unique(np.concatenate([self.edges, self._crossings(eps[:, 0])]))
        value, error = integrate(sticks, edges)
        half, asked = len(eps), len(epsilons)
        # Relative errors η of densities change the stick by at most 2η P(S), S = {p > e^ε q}, P(S) ≤ δ(ε − ½)/(1 − e^{−½}).
        mass = np.minimum(1.0, np.maximum(value[asked:half], value[half + asked :]) / -math.expm1(-0.5))
        total = np.maximum(error[:asked], error[half : half + asked]) + 2 * (self.error + self.noise) * mass
        total = np.where(np.isnan(total), np.inf, total)  # beyond what doubles carry: nothing is said
        return Curve(value[:asked], value[half : half + asked], total)


def normalised(log_p: LogDensity, log_q: LogDensity, line: Line, panels: int = PANELS) -> Pair:
    """Return the pair with its normalisers and panels."""
    points = _points(line)
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        low_p, high_p, top_p = _window(log_p, points)
        low_q, high_q, top_q = _window(log_q, points)
        low, high = min(low_p, low_q), max(high_p, high_q)
        cuts = [low_p, high_p, low_q, high_q, *(k for k in line.kinks if low < k < high)]
        spans = [np.linspace(*pair, panels + 1) for pair in ((low_p, high_p), (low_q, high_q), (low, high))]
        edges = np.unique(np.concatenate([*spans, np.array(cuts)]))
        masses, errors = integrate(lambda x: np.exp(np.stack([log_p(x) - top_p, log_q(x) - top_q])), edges, 1e-12)
    log_masses = np.log(masses)
    return Pair(
        lambda x: log_p(x) - top_p - log_masses[0],
        lambda x: log_q(x) - top_q - log_masses[1],
        edges,
        float((errors / masses).max()) + 1e-12,
        0.0 if line.terms is None else 4e-16 * float(np.max(line.terms(edges))),
    )


def curve(log_p: LogDensity, log_q: LogDensity, line: Line, epsilons: Sequence[float]) -> Curve:
    """Return δ(ε) of both directions for densities known up to their normalisers."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        return normalised(log_p, log_q, line).curve(epsilons)


def product_curve(pairs: Sequence[Pair], epsilons: Sequence[float]) -> Curve:
    """Return δ(ε) of independent blocks on a product of panels; its error is twice what halving them changes."""
    with np.errstate(over="ignore", under="ignore", invalid="ignore", divide="ignore"):
        fine, coarse = ([_cells(pair, parts) for pair in pairs] for parts in (2, 1))
        values = [[_direction(cells, epsilon, way) for epsilon in epsilons] for cells in (fine, coarse) for way in (0, 1)]
    forward, backward, other, back = (np.array(row) for row in values)
    missing = sum(abs(1 - float(mass.sum())) for cells in fine for mass in cells[1:])
    error = (
        2 * np.maximum(np.abs(forward - other), np.abs(backward - back))
        + 2 * missing
        + 2 * sum(pair.error + pair.noise for pair in pairs)
    )
    return Curve(forward, backward, error)


def _cells(pair: Pair, parts: int) -> tuple[Array, Array, Array]:
    """Return (log ratio, p mass, q mass) of the nodes of the panels, halved ``parts`` − 1 times."""
    edges = pair.edges
    for _ in range(parts - 1):
        edges = np.unique(np.concatenate([edges, (edges[:-1] + edges[1:]) / 2]))
    points, weights = _nodes(edges[:-1], edges[1:])
    p, q = pair.log_p(points), pair.log_q(points)
    heavy = np.maximum(p, q) + np.log(weights) > -45
    p, q, weights = p[heavy], q[heavy], weights[heavy]
    return p - q, np.exp(p) * weights, np.exp(q) * weights


def _direction(blocks: Sequence[tuple[Array, Array, Array]], epsilon: float, way: int) -> float:
    """Return Σ over nodes of p(1 − e^{ε − Σ log ratios})₊: the last block by sorted partial sums, every pair counted."""
    sign = 1 if way == 0 else -1
    ratio, mass = np.zeros(1), np.ones(1)
    for block in blocks[:-1]:
        ratio = np.add.outer(ratio, sign * block[0]).ravel()
        mass = np.multiply.outer(mass, block[1 + way]).ravel()
    last = blocks[-1]
    order = np.argsort(sign * last[0])
    sorted_ratio, mine, theirs = sign * last[0][order], last[1 + way][order], last[2 - way][order]
    above_mine = np.append(np.cumsum(mine[::-1])[::-1], 0.0)
    above_theirs = np.append(np.cumsum(theirs[::-1])[::-1], 0.0)
    start = np.searchsorted(sorted_ratio, epsilon - ratio, side="right")
    return float(mass @ np.maximum(0.0, above_mine[start] - np.exp(np.minimum(epsilon - ratio, 700)) * above_theirs[start]))
