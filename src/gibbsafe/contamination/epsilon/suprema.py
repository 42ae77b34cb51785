"""How far one record can move the log likelihood: sup and inf of log d(x; θ) = log k_p(x; θ) − log k_p(x; c) over x and θ.

A record enters through its residual r = x − cᵀw and, where g does not follow c, through one more number v (g is evaluated at
r + v). θ enters through a = (θ − c)ᵀw alone, and |a| ≤ R with R = |θ − c|₁ since |w| ≤ 1: no search over θ is needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import singledispatch
from typing import TypeAlias

import numpy as np

from gibbsafe._types import Floats
from gibbsafe.contamination.epsilon.search import maximise
from gibbsafe.contamination.model.densities import CentredAtTruth, Truncated
from gibbsafe.contamination.model.likelihoods import log_mixture
from gibbsafe.contamination.model.models import ContaminatedModel, ContaminatedNormalMean
from gibbsafe.contamination.model.regressions import ContaminatedRegression
from gibbsafe.errors import PremiseError

__all__ = ["Setting", "logistic_rise", "rise", "setting", "spread"]

LogDensity: TypeAlias = Callable[[Floats, Floats], Floats]

#: Beyond this many scales outside the reach of θ a normal density is e^(−84): nothing against any heavy tail.
REACH = 13.0


@dataclass(frozen=True, eq=False)
class Setting:
    """A model at a reference point c: what the suprema depend on besides R."""

    model: ContaminatedModel
    p: float
    reference: Floats
    log_g: LogDensity
    shifts: tuple[float, float]
    residuals: tuple[float, float]

    @property
    def locations(self) -> tuple[float, float]:
        """The interval of cᵀw over all covariates (the first is the constant 1)."""
        c = self.reference[: self.model.dimension]
        width = float(np.abs(c[1:]).sum())
        return float(c[0]) - width, float(c[0]) + width

    @property
    def reference_scale(self) -> float:
        """The scale at c."""
        return math.exp(self.reference[-1]) if self.model.unknown_scale else self.model.noise

    def axes(self, reach: float, widest: float, points: int = 601) -> list[Floats]:
        """Return the grid of residuals, and that of shifts where there is more than one."""
        core = reach + REACH * widest
        grid = np.linspace(-core, core, points)
        if self.model.likelihood.long_tails:
            tail = core * np.geomspace(1.05, 1e5, 60)
            grid = np.concatenate([-tail[::-1], grid, tail])
        low, high = self.residuals
        grid = np.unique(np.clip(grid, low, high))
        if self.shifts[0] == self.shifts[1]:
            return [grid]
        return [grid[:: max(1, len(grid) // 300)], np.linspace(*self.shifts, 25)]

    def shift_of(self, rest: tuple[Floats, ...]) -> Floats:
        """Return the shift: the second coordinate of a search, or the only one there is."""
        return rest[0] if rest else np.array(self.shifts[0])

    def log_f(self, r: Floats, a: Floats | float, scale: Floats | float | None = None) -> Floats:
        """Return log f at residual r when the location moved by a."""
        c = float(self.reference[0]) if self.model.on_a_line else 0.0
        return self.model.log_f(c + r, np.asarray(c + a), self.reference_scale if scale is None else scale)

    def log_k(self, r: Floats, v: Floats, a: Floats | float = 0.0) -> Floats:
        """Return log k_p."""
        return log_mixture(self.log_f(r, a), self.log_g(r, v), self.p)


EVERYWHERE = (-math.inf, math.inf)


@singledispatch
def setting(model: ContaminatedModel, p: float, reference: Floats, truth: Floats | None) -> Setting:
    """Return the setting of a model at a reference point (the truth, or the mode)."""
    raise PremiseError(f"{type(model).__name__}: neither a mean nor a regression, and suprema are known of no other")


@setting.register
def _(model: ContaminatedNormalMean, p: float, reference: Floats, truth: Floats | None) -> Setting:
    g, centre, at = model.contamination, float(reference[0]), 0.0 if truth is None else float(truth[0])
    space = EVERYWHERE if model.space is None else (model.space[0] - centre, model.space[1] - centre)
    return Setting(model, p, reference, lambda r, v: g.log_density(centre + r, at) if g else r, (0.0, 0.0), space)


@setting.register
def _(model: ContaminatedRegression, p: float, reference: Floats, truth: Floats | None) -> Setting:
    g, c = model.contamination, reference[: model.dimension]
    if g is None or model.likelihood.labels:
        return Setting(model, p, reference, lambda r, v: np.full(np.shape(r), -math.log(2)), (0.0, 0.0), EVERYWHERE)
    if isinstance(g, CentredAtTruth):
        assert truth is not None
        gap = float(np.abs(truth[: model.dimension] - c).sum())
        return Setting(model, p, reference, lambda r, v: g.base.log_density(r + v), (-gap, gap), EVERYWHERE)
    assert not isinstance(g, Truncated)
    locations = Setting(model, p, reference, lambda r, v: r, (0.0, 0.0), EVERYWHERE).locations
    return Setting(model, p, reference, lambda r, v: g.log_density(r + v), locations, EVERYWHERE)


def logistic_rise(p: float, reach: float, low: float, high: float) -> float:
    """Return sup over u in [low, high] of log k(u + R)/k(u), k(u) = (1−p)/(1+e^(−u)) + p/2.

    The maximum over all u is at e^u = √(B/(A e^R)), A = 1 − p/2, B = p/2; for p = 0 it is R, approached as u → −∞.
    """
    if reach == 0:
        return 0.0
    a, b = 1 - p / 2, p / 2
    best = 0.5 * (math.log(b / a) - reach) if p > 0 else -math.inf
    u = min(max(best, low), high)

    def log_k(value: float) -> float:
        # log((A e^u + B)/(1 + e^u)) without overflow
        top = np.logaddexp(math.log(a) + value, math.log(b)) if b > 0 else math.log(a) + value
        return float(top - np.logaddexp(0, value))

    return log_k(u + reach) - log_k(u)


def _logistic_spread(at: Setting, reach: float) -> tuple[float, float]:
    low, high = at.locations
    p = at.p
    up = max(logistic_rise(p, reach, low, high), logistic_rise(p, reach, -high, -low))
    down = max(logistic_rise(p, reach, low - reach, high - reach), logistic_rise(p, reach, -high - reach, -low - reach))
    return up, -down


def spread(at: Setting, reach: float, scales: tuple[float, float] | None = None) -> tuple[float, float]:
    """Return (sup, inf) of log d over all records and all θ with |(θ − c)ᵀw| ≤ R, and scales in the given interval.

    Closed forms for logistic labels and for Cauchy noise without contamination (±2 asinh(R/2s)); otherwise a search over one
    number, or two where g does not follow c. Normal noise without contamination has no finite answer.
    """
    closed = _closed_spread(at, reach, scales)
    if closed is not None:
        return closed
    low, high = scales or (at.reference_scale, at.reference_scale)
    _, worst = _extremes(at, reach, low, high)

    def fall(r: Floats, *rest: Floats) -> Floats:
        v = at.shift_of(rest)
        return at.log_k(r, v) - log_mixture(worst(r), at.log_g(r, v), at.p)

    return rise(at, reach, scales), -max(_searched(at, fall, reach, high), 0.0)


def rise(at: Setting, reach: float, scales: tuple[float, float] | None = None) -> float:
    """Return the first of the two alone, at half the price."""
    closed = _closed_spread(at, reach, scales)
    if closed is not None:
        return closed[0]
    low, high = scales or (at.reference_scale, at.reference_scale)
    best, _ = _extremes(at, reach, low, high)

    def rising(r: Floats, *rest: Floats) -> Floats:
        v = at.shift_of(rest)
        return log_mixture(best(r), at.log_g(r, v), at.p) - at.log_k(r, v)

    return max(_searched(at, rising, reach, high), 0.0)


def _closed_spread(at: Setting, reach: float, scales: tuple[float, float] | None) -> tuple[float, float] | None:
    model = at.model
    if model.likelihood.labels:
        return _logistic_spread(at, reach)
    if at.p == 0 and (scales is None or math.isinf(model.likelihood.clean_spread(1.0, model.noise))):
        value = model.likelihood.clean_spread(reach, model.noise)
        return value, -value
    return None


def _searched(at: Setting, function: Callable[..., Floats], reach: float, widest: float) -> float:
    """Return the largest value of a function of residual and shift, kinks of the likelihood included."""
    axes = at.axes(reach, max(widest, at.reference_scale))
    return _largest(function, axes, () if at.model.likelihood.smooth else (-reach, 0.0, reach))


def _largest(function: Callable[..., Floats], axes: list[Floats], kinks: tuple[float, ...]) -> float:
    """Return the largest value found over the axes, and with the residual held at every kink of the likelihood."""
    best = maximise(function, axes)[0]
    for kink in kinks:
        if len(axes) == 1:
            best = max(best, float(function(np.array(kink))))
        else:
            best = max(best, maximise(lambda v, r=kink: function(np.full(np.shape(v), r), v), axes[1:])[0])
    return best


def _extremes(
    at: Setting, reach: float, low: float, high: float
) -> tuple[Callable[[Floats], Floats], Callable[[Floats], Floats]]:
    """Return the largest and the smallest log f of a residual over the locations and scales in reach."""
    kernel, model = at.model.likelihood, at.model
    if model.truncation is not None:
        return _truncated_extremes(at, reach)
    ends = (np.array(-reach), np.array(reach))

    def best(r: Floats) -> Floats:
        a = kernel.nearest(r, *ends)
        return at.log_f(r, a, low if low == high else kernel.best_scale(np.abs(r - a), low, high))

    def worst(r: Floats) -> Floats:
        a = kernel.farthest(r, *ends)
        return at.log_f(r, a, low) if low == high else np.minimum(at.log_f(r, a, low), at.log_f(r, a, high))

    return best, worst


def _truncated_extremes(at: Setting, reach: float) -> tuple[Callable[[Floats], Floats], Callable[[Floats], Floats]]:
    """The same for a truncated normal: log f is concave in θ (an exponential family), so halve the interval of its maximum."""

    def best(r: Floats) -> Floats:
        low, high = np.full(np.shape(r), -reach), np.full(np.shape(r), reach)
        gold = (math.sqrt(5) - 1) / 2
        for _ in range(60):
            inner, outer = high - gold * (high - low), low + gold * (high - low)
            rising = at.log_f(r, inner) < at.log_f(r, outer)
            low, high = np.where(rising, inner, low), np.where(rising, high, outer)
        return np.asarray(np.maximum(at.log_f(r, low), at.log_f(r, high)))

    def plain_best(r: Floats) -> Floats:
        return at.log_f(r, np.clip(r, -reach, reach))

    def worst(r: Floats) -> Floats:
        return np.minimum(at.log_f(r, -reach), at.log_f(r, reach))

    ends = at.model.log_mass(float(at.reference[0]) + np.array([-reach, reach]))
    return (plain_best if (ends > -1e-15).all() else best), worst
