"""One data set, one parameter: Algorithm 1 literally, its sound version, the coupled bound and the exact privacy curve.

D are all records but the last, π its posterior, d(x; θ) = k_p(x; θ)/k_p(x; c), A = [c − φ, c + φ].
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy import optimize

from gibbsafe._types import Floats
from gibbsafe.contamination.epsilon.search import maximise
from gibbsafe.contamination.epsilon.suprema import Setting, setting, spread
from gibbsafe.contamination.model.models import ContaminatedNormalMean, Records
from gibbsafe.contamination.posterior.line import Line
from gibbsafe.errors import GibbsafeError
from gibbsafe.privacy.profiles import gaussian_epsilon

__all__ = ["LineInstance", "literal_epsilon"]


@dataclass(frozen=True, eq=False)
class LineInstance:
    """The posterior given D, and a reference point c."""

    line: Line
    at: Setting
    theta: Floats
    weight: Floats
    log_total: float = 0.0

    @classmethod
    def of(cls, model: ContaminatedNormalMean, line: Line, p: float, reference: float, truth: Floats | None) -> LineInstance:
        """Return the instance with normalised quadrature weights."""
        theta, step = line.panel(line.low, line.high)
        log_density = line.log_density(theta)
        top = float(log_density.max())
        weight = step * np.exp(log_density - top)
        total = float(weight.sum())
        keep = weight > 1e-18 * weight.max()
        at = setting(model, p, np.array([reference]), truth)
        return cls(line, at, theta[keep], weight[keep] / total, top + math.log(total))

    @property
    def reference(self) -> float:
        """The point c."""
        return float(self.at.reference[0])

    def log_mean(self, r: Floats) -> Floats:
        """Return log E d(c + r; θ) under π."""
        return self._log_mean(r, self.theta, self.weight)

    def _log_mean(self, r: Floats, theta: Floats, weight: Floats) -> Floats:
        """Return log Σ w d, without overflow, blockwise over records."""
        shape, flat = np.shape(r), np.ravel(r)
        log_k = self.at.log_k(flat, np.array(0.0))
        p = self.at.p
        with np.errstate(under="ignore"):
            free = p * weight.sum() * np.exp(self.at.log_g(flat, np.array(0.0)) - log_k) if p else np.zeros(len(flat))
            moved = np.exp(self.at.log_f(flat[:, None], (theta - self.reference)[None, :]) - log_k[:, None]) @ weight
            value: Floats = np.log((1 - p) * moved + free)
        return value.reshape(shape)

    def reach(self, phi: float) -> float:
        """Return the farthest point of A that the parameters can reach."""
        bounds = self.line.low, self.line.high
        return min(phi, max(self.reference - bounds[0], bounds[1] - self.reference))

    def axes(self, phi: float) -> list[Floats]:
        """Return the grid of residuals on which suprema over records start."""
        widest = float(np.abs(self.theta - self.reference).max())
        return self.at.axes(min(max(phi, 8 * self.line.deviation), widest), self.at.model.noise, 301)

    def mean_range(self, phi: float) -> tuple[float, float]:
        """Return log sup_x E d and log inf_z E d."""
        axes = self.axes(phi)
        top, _ = maximise(self.log_mean, axes)
        bottom, _ = maximise(lambda r: -self.log_mean(r), axes)
        return top, -bottom

    def tails(self, phi: float) -> tuple[Floats, Floats]:
        """Return quadrature nodes and normalised weights of the posterior outside A."""
        left, left_step = self.line.panel(self.line.low, self.reference - phi)
        right, right_step = self.line.panel(self.reference + phi, self.line.high)
        theta, step = np.concatenate([left, right]), np.concatenate([left_step, right_step])
        with np.errstate(under="ignore"):
            weight = step * np.exp(self.line.log_density(theta) - self.log_total) if len(theta) else theta
        keep = weight > 0
        return theta[keep], weight[keep]

    def outside(self, phi: float) -> float:
        """Return P(A^c|D)."""
        return float(self.tails(phi)[1].sum())

    def worst_outside(self, phi: float) -> float:
        """Return sup_x P(A^c|D ∪ x) = sup_x E[d 1_{A^c}]/E d, which the printed algorithm takes at one x only (E21)."""
        theta, weight = self.tails(phi)
        if not len(theta):
            return 0.0
        axes = [self.axes(phi)[0][::3]]
        value, _ = maximise(lambda r: self._log_mean(r, theta, weight) - self.log_mean(r), axes, starts=2, levels=3)
        return min(1.0, math.exp(value))

    def radius(self, delta: float, *, worst: bool) -> float:
        """Return the least φ (to a small part of a standard deviation, rounded up) with mass at most δ outside A."""
        mass = self.worst_outside if worst else self.outside
        farthest = max(self.reference - self.line.low, self.line.high - self.reference)

        def excess(phi: float) -> float:
            return math.log(max(mass(phi), 1e-300)) - math.log(delta)

        low = 0.98 * self.radius(delta, worst=False) if worst else 0.0
        high = 1.05 * low if worst else 3 * self.line.deviation
        if low == 0.0 or excess(low) <= 0:
            low = 0.0
            if mass(0.0) <= delta:
                return 0.0
        while high < farthest and mass(high) > delta:
            low, high = high, 1.3 * high
        if high >= farthest:
            return farthest
        tolerance = (1e-4 if worst else 1e-6) * self.line.deviation
        root = float(optimize.brentq(excess, low, high, xtol=tolerance, rtol=1e-12))
        while mass(root) > delta:
            root += tolerance
        return root

    def separate(self, phi: float, adjacency: str) -> float:
        """Return ln η + ln sup E d − ln inf E d; for strict adjacency the larger of its two halves (Remark 20 with E26)."""
        up, down = spread(self.at, self.reach(phi))
        top, bottom = self.mean_range(phi)
        if adjacency == "add-remove":
            return max(up - bottom, top - down)
        return up - down + top - bottom

    def coupled(self, phi: float, adjacency: str) -> float:
        """Return sup over θ in A of sup_x log r − inf_z log r, r = k_p(x; θ)/E k_p(x): c cancels, and x is the same twice."""
        ends = max(-phi, self.line.low - self.reference), min(phi, self.line.high - self.reference)
        axes = self.axes(phi)
        moves = np.linspace(*ends, 9)
        grid = axes[0]
        mean = self.log_mean(grid) + self.at.log_k(grid, np.array(0.0))
        coarse = np.stack([self.at.log_k(grid, np.array(0.0), a) - mean for a in moves])
        rough = coarse.max(axis=1), -coarse.min(axis=1)
        score = np.maximum(*rough) if adjacency == "add-remove" else rough[0] + rough[1]
        near = [a for a, value in zip(moves, score, strict=True) if value >= score.max() - 0.02 * abs(score.max())]
        sides = [self._coupled_at(a, axes) for a in near]
        return max(max(rise, fall) if adjacency == "add-remove" else rise + fall for rise, fall in sides)

    def _coupled_at(self, a: float, axes: list[Floats]) -> tuple[float, float]:
        def log_ratio(r: Floats) -> Floats:
            return self.at.log_k(r, np.array(0.0), a) - self.at.log_k(r, np.array(0.0)) - self.log_mean(r)

        return max(maximise(log_ratio, axes, starts=2)[0], 0.0), max(maximise(lambda r: -log_ratio(r), axes, starts=2)[0], 0.0)

    def gaussian(self, delta: float, adjacency: str) -> float:
        """Return ε of the normal approximation with μ = 2S·sd, S the largest score: an approximation, not a bound."""
        step = 1e-4 * self.at.model.noise
        up, down = spread(self.at, step)
        return gaussian_epsilon((1 if adjacency == "add-remove" else 2) * max(up, -down) / step * self.line.deviation, delta)

    def exact(self, delta: float, adjacency: str) -> float:
        """Return the least ε with sup_{x,z} ∫(π(·|D∪x) − e^ε π(·|D∪z))₊ ≤ δ, by search over the two records."""
        coarse, fine = _Curve.of(self, 401), _Curve.of(self, 2001)
        low, high = self.axes(3 * self.line.deviation)[0][[0, -1]]
        reach = 3 * self.line.deviation + 5 * self.at.model.noise
        grid = np.linspace(max(low, -reach), min(high, reach), 41)
        epsilon, pair = 0.0, (float(grid[0]), float(grid[-1]))
        for curve in (coarse, fine):
            for _ in range(4):
                value, pair = curve.worst_pair(epsilon, grid, adjacency, pair if curve is fine else None)
                if value <= delta * (1 + 1e-6):
                    break
                epsilon = curve.solve(pair, delta, adjacency)
        return epsilon


@dataclass(frozen=True, eq=False)
class _Curve:
    """Posterior densities on a uniform grid, on which hockey sticks are sums."""

    instance: LineInstance
    offset: Floats
    base: Floats

    @classmethod
    def of(cls, instance: LineInstance, points: int) -> _Curve:
        line = instance.line
        reach = 9 * line.deviation
        theta = np.linspace(max(line.low, line.mode - reach), min(line.high, line.mode + reach), points)
        log_density = line.log_density(theta)
        base = np.exp(log_density - log_density.max())
        return cls(instance, theta - instance.reference, base / base.sum())

    def law(self, r: Floats) -> Floats:
        """Return the posterior given D and the records c + r, one per row."""
        at = self.instance.at
        log_k = at.log_k(np.ravel(r)[:, None], np.array(0.0), self.offset[None, :])
        law = self.base * np.exp(log_k - log_k.max(axis=1, keepdims=True))
        value: Floats = law / law.sum(axis=1, keepdims=True)
        return value

    def worst_pair(
        self, epsilon: float, grid: Floats, adjacency: str, near: tuple[float, float] | None
    ) -> tuple[float, tuple[float, float]]:
        """Return the largest hockey stick at ε over pairs of records, and where."""
        factor = math.exp(epsilon)
        if adjacency == "add-remove":
            ends = [self.law(grid), self.base[None, :]]
            forward = np.clip(ends[0] - factor * ends[1], 0, None).sum(axis=1)
            backward = np.clip(ends[1] - factor * ends[0], 0, None).sum(axis=1)
            best = int(np.argmax(np.maximum(forward, backward)))
            return float(max(forward[best], backward[best])), (float(grid[best]), float(grid[best]))
        spacing = float(grid[1] - grid[0])
        for _ in range(1 if near is None else 3):
            left = grid if near is None else near[0] + spacing * np.linspace(-1, 1, 7)
            right = grid if near is None else near[1] + spacing * np.linspace(-1, 1, 7)
            one, two = self.law(left), self.law(right)
            sticks = np.array([np.clip(law - factor * two, 0, None).sum(axis=1) for law in one])
            i, j = np.unravel_index(int(np.argmax(sticks)), sticks.shape)
            near, spacing = (float(left[i]), float(right[j])), spacing / 3
        assert near is not None
        return float(sticks[i, j]), near

    def solve(self, pair: tuple[float, float], delta: float, adjacency: str) -> float:
        """Return the ε at which the pair's hockey stick is δ."""
        one, two = self.law(np.array(pair))
        couples = [(one, two)] if adjacency != "add-remove" else [(one, self.base), (self.base, one)]

        def excess(epsilon: float) -> float:
            factor = math.exp(epsilon)
            return max(float(np.clip(a - factor * b, 0, None).sum()) for a, b in couples) - delta

        if excess(0.0) <= 0:
            return 0.0
        high = 1.0
        while excess(high) > 0:
            high *= 2
            if high > 500:
                raise GibbsafeError("the exact privacy curve stays above δ; choose a larger δ")
        return float(optimize.brentq(excess, 0.0, high, xtol=1e-10))


def literal_epsilon(
    model: ContaminatedNormalMean,
    records: Records,
    line: Line,
    p: float,
    truth: Floats,
    *,
    delta: float,
    particles: int | None,
    generator: np.random.Generator,
    adjacency: str = "replace-one",
) -> float:
    """Return ε̂ of one data set by Algorithm 1 as printed: box at θ*, mass at the observed records, particles.

    ``line`` is the posterior of all n records. ``particles=None`` replaces the particles by quadrature and keeps the rest.
    """
    instance = LineInstance.of(model, line, p, float(truth[0]), truth)

    def last(theta: Floats) -> Floats:
        return model.log_k(records.x[-1:], theta, records.log_g[-1:], p)

    if particles is None:
        phi = instance.radius(delta, worst=False)
        theta, weight = instance.theta, instance.weight
    else:
        theta = line.mode + line.deviation * generator.standard_normal(particles)
        theta = theta[(theta > line.low) & (theta < line.high)]
        log_weight = line.log_density(theta) + 0.5 * ((theta - line.mode) / line.deviation) ** 2
        weight = np.exp(log_weight - log_weight.max())
        weight /= weight.sum()
        distance = np.abs(theta - truth[0])
        order = np.argsort(distance)[::-1]
        phi = float(distance[order][int(np.searchsorted(np.cumsum(weight[order]), delta, side="left"))])
    log_last = last(theta)
    reduced = weight * np.exp(log_last.min() - log_last)
    smaller = LineInstance(line, instance.at, theta, reduced / reduced.sum())
    if particles is not None:
        smaller = _binned(smaller)
    return smaller.separate(phi, adjacency)


def _binned(instance: LineInstance, bins: int = 240) -> LineInstance:
    """Gather particles into narrow bins (at their weighted means): the same sums, to second order in a bin's width."""
    edges = np.linspace(instance.theta.min(), instance.theta.max() + 1e-300, bins + 1)
    index = np.clip(np.searchsorted(edges, instance.theta, side="right") - 1, 0, bins - 1)
    weight = np.asarray(np.bincount(index, instance.weight, bins), dtype=np.float64)
    theta = np.bincount(index, instance.weight * instance.theta, bins)
    keep = weight > 0
    return LineInstance(instance.line, instance.at, theta[keep] / weight[keep], weight[keep])
