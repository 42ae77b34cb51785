"""Isotropic Gaussians restricted to a ball around the origin, drawn exactly with bounded work wherever their mean is.

Plain rejection first: a Gaussian draw that lies in the ball follows the restricted law. Those that miss `TRIES` times are drawn
from the same law by a route whose work is bounded for every mean: with e the direction of the mean, t = xᵀe has the log-concave
density ∝ exp(−(t − |mean|)²/2σ²) P(χ²_{p−1} ≤ (B² − t²)/σ²) on [−B, B] (a marginal of a log-concave law), and given t the rest is
a Gaussian in p − 1 dimensions restricted to the radius √(B² − t²): its squared radius is a trimmed gamma. Which route a draw took
does not change its law, since both have the same.
"""

from __future__ import annotations

import math
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.special import gammainc, gammaln

from gibbsafe.samplers.log_concave import Indices, LogConcave
from gibbsafe.samplers.trimmed import TrimmedGamma

__all__ = ["draw_in_ball"]

Floats: TypeAlias = npt.NDArray[np.float64]

#: Gaussian draws before the other route is taken.
TRIES = 8


def draw_in_ball(means: Floats, deviation: float, radius: float, generator: np.random.Generator) -> Floats:
    """One exact draw from N(mean, deviation²·I) restricted to |x| ≤ radius for each row of ``means`` (k, p)."""
    drawn = np.empty_like(means)
    pending = np.arange(len(means))
    for _ in range(TRIES):
        points = means[pending] + deviation * generator.standard_normal((len(pending), means.shape[1]))
        inside = np.square(points).sum(axis=1) <= radius**2
        drawn[pending[inside]] = points[inside]
        pending = pending[~inside]
        if not pending.size:
            return drawn
    drawn[pending] = _by_slices(means[pending] / deviation, radius / deviation, generator) * deviation
    norms = np.linalg.norm(drawn[pending], axis=1, keepdims=True)  # rounding may leave a draw just outside
    drawn[pending] *= np.minimum(1.0, radius / np.maximum(norms, 1e-300))
    return drawn


def _log_gamma_share(shape: float, x: Floats) -> Floats:
    """log P(shape, x), the regularised lower incomplete gamma function, also where it underflows."""
    with np.errstate(divide="ignore", under="ignore"):
        plain = np.log(gammainc(shape, x))
        # P = x^a e^{−x}/Γ(a+1) · Σ x^k/((a+1)…(a+k)); for x < 1 twenty terms are more than enough
        term, series = np.ones_like(x), np.ones_like(x)
        small = np.minimum(x, 1.0)
        for k in range(1, 21):
            term = term * small / (shape + k)
            series = series + term
        tail = shape * np.log(x) - x - gammaln(shape + 1) + np.log(series)
    return np.where(x < 1, tail, plain)


def _by_slices(means: Floats, radius: float, generator: np.random.Generator) -> Floats:
    """Draws in units of the deviation: the coordinate along the mean, then the rest."""
    k, p = means.shape
    norms = np.linalg.norm(means, axis=1)
    along = means / np.maximum(norms, 1e-300)[:, None]
    along[norms == 0] = np.eye(1, p)
    rest_shape = (p - 1) / 2

    def height(t: Floats, index: Indices) -> Floats:
        rest = np.maximum(radius**2 - t**2, 0.0) / 2
        base = -0.5 * np.square(t - norms[index])
        return np.asarray(base if p == 1 else base + _log_gamma_share(rest_shape, rest))

    everyone = np.arange(k)
    mode = _modes(lambda t: height(t, everyone), radius, k)
    top = height(mode, everyone)
    low, high = np.minimum(-radius - mode, 0.0), np.maximum(radius - mode, 0.0)
    density = LogConcave(
        lambda x, index: np.minimum(height(mode[index] + x, index) - top[index], 0.0), low, high, np.full(k, 1.0)
    )
    t = np.clip(mode + density.draw(everyone, generator), -radius, radius)
    if p == 1:
        return t[:, None] * along
    room = np.maximum(radius**2 - t**2, 1e-300) / 2
    squares = 2 * TrimmedGamma(np.full(k, rest_shape), np.ones(k), np.zeros(k), room).draw_values(everyone, generator)
    directions = generator.standard_normal((k, p))
    directions -= (directions * along).sum(axis=1, keepdims=True) * along
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return np.asarray(t[:, None] * along + np.sqrt(squares)[:, None] * directions)


def _modes(height: object, radius: float, k: int) -> Floats:
    """Maxima of concave functions on [−radius, radius] by golden section (to about 1e-8 of the radius)."""
    assert callable(height)
    low, high = np.full(k, -radius), np.full(k, radius)
    ratio = (math.sqrt(5) - 1) / 2
    for _ in range(60):
        left, right = high - ratio * (high - low), low + ratio * (high - low)
        rising = height(left) < height(right)
        low, high = np.where(rising, left, low), np.where(rising, high, right)
    return np.asarray((low + high) / 2)
