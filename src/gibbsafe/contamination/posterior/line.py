"""The posterior of one parameter as a function on a line: a Chebyshev interpolant with a checked error, and quadrature.

Evaluating n records at a few dozen nodes replaces ten thousand particles, and every integral becomes deterministic.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.polynomial import chebyshev, legendre

from gibbsafe._types import Floats
from gibbsafe.contamination.model.models import ContaminatedNormalMean, Records

__all__ = ["Line", "likelihood_sum", "line_posterior"]

#: Half width of the interval in posterior standard deviations, and how deep the posterior must have fallen there.
WIDTH, DEPTH = 14.0, 60.0
#: Log densities are interpolated to this error at the checked points; below SMALL records they are evaluated directly.
TOLERANCE, SMALL = 1e-7, 40
#: Up to this many records all θ are evaluated at once instead of one by one.
FEW = 200


def likelihood_sum(model: ContaminatedNormalMean, records: Records, p: float, theta: Floats) -> Floats:
    """Return Σ log k_p(x_i; θ) − log(p g(x_i)) (or Σ log f for p = 0) at many θ, blockwise."""
    x, s = records.x, model.scale
    if p == 0:
        total, squares = x.sum(), (x * x).sum()
        value: Floats = -(squares - 2 * theta * total + len(x) * theta**2) / (2 * s * s)
        return value - len(x) * model.log_mass(theta) if model.truncated else value
    ratio = math.log1p(-p) - math.log(p) - records.log_g - math.log(s * math.sqrt(2 * math.pi))
    near_edge = model.truncated and not model.truncation_is_far(theta)
    offset = -model.log_mass(theta) if near_edge else np.zeros(len(theta))
    if len(x) <= FEW:
        return np.asarray(np.logaddexp(0, ratio[:, None] + offset - 0.5 * ((x[:, None] - theta) / s) ** 2).sum(axis=0))
    result = np.zeros(len(theta))
    step = 8192  # a block stays in the cache
    for start in range(0, len(x), step):
        block, base = x[start : start + step] / s, ratio[start : start + step]
        for k, value_at in enumerate(theta / s):
            t = block - value_at
            t *= t
            t *= -0.5
            t += base
            if offset[k] != 0:
                t += offset[k]
            if t.max(initial=0.0) > 700:
                result[k] += np.logaddexp(0, t).sum()
            else:
                np.exp(t, out=t)
                t += 1.0
                result[k] += np.log(t, out=t).sum()
    return result


@dataclass(frozen=True, eq=False)
class Line:
    """log π(θ|records) up to a constant on [low, high], outside which there is no mass worth the name."""

    low: float
    high: float
    mode: float
    deviation: float
    log_density: Callable[[Floats], Floats]
    error: float
    nodes: int

    def without(self, model: ContaminatedNormalMean, records: Records, p: float) -> Line:
        """Return the posterior without the last of the records, evaluated exactly on top of this one."""
        x, log_g = records.x[-1:], records.log_g[-1:]

        def log_density(theta: Floats) -> Floats:
            return self.log_density(theta) - model.log_k(x, theta, log_g, p)

        return replace(self, log_density=log_density)

    def panel(self, low: float, high: float, points: int = 64) -> tuple[Floats, Floats]:
        """Return Gauss–Legendre nodes and weights on panels of [low, high] no wider than four standard deviations."""
        low, high = max(low, self.low), min(high, self.high)
        if not low < high:
            return np.zeros(0), np.zeros(0)
        pieces = min(max(1, math.ceil((high - low) / (4 * self.deviation))), 64)
        edges = np.linspace(low, high, pieces + 1)
        x, w = _legendre(points if pieces == 1 else 32)
        half = np.diff(edges) / 2
        theta = (edges[:-1] + half)[:, None] + half[:, None] * x
        return theta.ravel(), (half[:, None] * w).ravel()


_LEGENDRE: dict[int, tuple[Floats, Floats]] = {}


def _legendre(points: int) -> tuple[Floats, Floats]:
    if points not in _LEGENDRE:
        _LEGENDRE[points] = legendre.leggauss(points)
    return _LEGENDRE[points]


def _curve(model: ContaminatedNormalMean, records: Records, p: float) -> Callable[[Floats], Floats]:
    def log_density(theta: Floats) -> Floats:
        return likelihood_sum(model, records, p, np.atleast_1d(theta)) + model.log_prior(np.atleast_1d(theta)[:, None])

    return log_density


def _find_mode(model: ContaminatedNormalMean, records: Records, curve: Callable[[Floats], Floats]) -> tuple[float, float]:
    """Return the mode and the standard deviation there: a coarse scan from a robust start, then parabolas.

    A few records leave a posterior with several humps; many leave one near the median, where the search starts.
    """
    n, s = len(records), model.scale
    start = float(np.median(records.x)) if n else model.prior_mean
    low, high = model.parameter_bounds or (-math.inf, math.inf)
    step = min(s / math.sqrt(max(n, 1)), (high - low) / 100)
    low, high = low + step, high - step
    if n <= 2000:
        far = 6 * model.prior_scale
        wide = np.linspace(model.prior_mean - far, model.prior_mean + far, 61)
        points = np.concatenate([wide, start + s * np.linspace(-3, 3, 41), records.x[: SMALL if n <= SMALL else 0]])
        points = np.clip(points, low, high)
        start = float(points[int(np.argmax(curve(points)))])
    start, deviation = min(max(start, low), high), step
    for _ in range(40):
        left, middle, right = curve(np.array([start - step, start, start + step]))
        curvature = float(2 * middle - left - right) / step**2
        before = start
        if curvature <= 0:
            start += step * (1 if right > left else -1)
        else:
            deviation = 1 / math.sqrt(curvature)
            start += float(np.clip((right - left) / (2 * step) / curvature, -4 * step, 4 * step))
        start = min(max(start, low), high)
        if abs(start - before) < 1e-3 * deviation:
            break
    return start, deviation


def line_posterior(model: ContaminatedNormalMean, records: Records, p: float) -> Line:
    """Return the posterior of the mean given contaminated records.

    The interval is the mode ± 14 standard deviations (28, 56 where needed), such that the log density has fallen by 60 at both
    ends; else, for the few records with which that can happen, the prior's whole range, in direct evaluation.
    """
    curve = _curve(model, records, p)
    mode, deviation = _find_mode(model, records, curve)
    top = float(curve(np.array([mode]))[0])
    bounds = model.parameter_bounds or (-math.inf, math.inf)
    for width in (WIDTH, 2 * WIDTH, 4 * WIDTH) if len(records) > SMALL else ():
        low, high = max(mode - width * deviation, bounds[0]), min(mode + width * deviation, bounds[1])
        ends = curve(np.array([low, high])) - top
        if all(end < -DEPTH or edge in bounds for end, edge in zip(ends, (low, high), strict=True)):
            return _interpolated(curve, top, low=low, high=high, mode=mode, deviation=deviation)
    reach = 9 * model.prior_scale
    low, high = max(model.prior_mean - reach, bounds[0]), min(model.prior_mean + reach, bounds[1])
    narrow = min(model.scale, deviation, (high - low) / 8)
    return Line(low, high, mode, narrow, lambda theta: curve(theta) - top, 0.0, 0)


def _interpolated(
    curve: Callable[[Floats], Floats], top: float, *, low: float, high: float, mode: float, deviation: float
) -> Line:
    """Interpolate with more and more nodes, then on more and more pieces, until the error between the nodes is small.

    A few records leave poles near the line, which one polynomial over many standard deviations cannot follow.
    """
    for pieces, nodes in ((1, 12), (1, 20), (1, 32), (1, 48), (4, 40), (16, 40), (64, 40)):
        edges = np.linspace(low, high, pieces + 1)
        middle, half = (edges[:-1] + edges[1:]) / 2, (high - low) / (2 * pieces)
        z = chebyshev.chebpts1(nodes)
        values = (curve((middle[:, None] + half * z).ravel()) - top).reshape(pieces, nodes)
        coefficients: Floats = np.asarray(chebyshev.chebfit(z, values.T, nodes - 1), dtype=np.float64)
        checks = np.array([-0.83, -0.31, -0.07, 0.13, 0.47]) if pieces == 1 else np.array([-0.93, 0.37])
        points = (middle[:, None] + half * checks).ravel()
        exact = curve(points) - top

        def log_density(
            theta: Floats, coefficients: Floats = coefficients, middle: Floats = middle, half: float = half
        ) -> Floats:
            index = np.clip(((theta - low) / (2 * half)).astype(int), 0, len(middle) - 1)
            return np.asarray(chebyshev.chebval((theta - middle[index]) / half, coefficients[:, index], tensor=False))

        # What a miss costs is its size against the density there: deep in the tail a larger one is harmless.
        allowed = TOLERANCE * np.exp(np.minimum(-0.5 * exact - 8, 30.0)).clip(1.0)
        error = np.abs(log_density(points) - exact)
        if (error <= allowed).all():
            return Line(low, high, mode, deviation, log_density, float(error.max()), pieces * nodes)
    return Line(low, high, mode, deviation, lambda theta: curve(theta) - top, 0.0, 0)
