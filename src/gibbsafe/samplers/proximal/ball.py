"""Isotropic Gaussians restricted to a ball around the origin, drawn exactly with bounded work wherever their mean is.

Plain rejection first: a Gaussian draw that lies in the ball follows the restricted law. Those that miss `TRIES` times are drawn
from the same law by a route whose work is bounded for every mean: with e the direction of the mean, t = xᵀe has the log-concave
density ∝ exp(−(t − |mean|)²/2σ²) P(χ²_{p−1} ≤ (B² − t²)/σ²) on [−B, B] (a marginal of a log-concave law), and given t the rest is
a Gaussian in p − 1 dimensions restricted to the radius √(B² − t²): its squared radius is a trimmed gamma. Which route a draw took
does not change its law, since both have the same.
"""

from __future__ import annotations

import numpy as np
from scipy.special import gammainc, gammaln

from gibbsafe._types import Floats, Indices
from gibbsafe.posteriors.log_concave import LogConcave
from gibbsafe.posteriors.trimmed import TrimmedGamma
from gibbsafe.samplers.trimmed.log_concave import draw
from gibbsafe.samplers.trimmed.values import draw_values

__all__ = ["draw_in_ball"]


#: Gaussian draws before the other route is taken.
TRIES = 8
#: Terms of the series of an incomplete gamma function, each at most half the last.
SERIES_TERMS = 60
GOLDEN = (5**0.5 - 1) / 2


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
    # P = x^a e^{−x}/Γ(a+1) · Σ_k x^k/((a+1)…(a+k)): below half the shape, terms fall at least like 2^−k
    small = np.minimum(x, 0.5 * (shape + 1))
    series = 1 + np.cumprod(small[..., None] / (shape + np.arange(1, SERIES_TERMS)), axis=-1).sum(axis=-1)
    with np.errstate(divide="ignore", under="ignore"):
        near = shape * np.log(x) - x - gammaln(shape + 1) + np.log(series)
        return np.asarray(np.where(x <= small, near, np.log(gammainc(shape, x))))


def _by_slices(means: Floats, radius: float, generator: np.random.Generator) -> Floats:
    """Draws in units of the deviation: the coordinate along the mean, then the rest."""
    k, p = means.shape
    norms = np.linalg.norm(means, axis=1)
    along = means / np.maximum(norms, 1e-300)[:, None]
    along[norms == 0] = np.eye(1, p)
    everyone = np.arange(k)
    t = _Slice(norms, radius, p).draw_coordinates(everyone, generator)
    if p == 1:
        return np.asarray(t[:, None] * along)
    room = np.maximum((radius - t) * (radius + t), 1e-300) / 2
    rest = TrimmedGamma(np.full(k, (p - 1) / 2), np.ones(k), np.zeros(k), room)
    squares = 2 * draw_values(rest, everyone, generator)
    directions = generator.standard_normal((k, p))
    directions -= (directions * along).sum(axis=1, keepdims=True) * along
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    return np.asarray(t[:, None] * along + np.sqrt(squares)[:, None] * directions)


class _Slice(LogConcave):
    """The coordinate along the mean, for means of these norms in p dimensions."""

    def __init__(self, norms: Floats, radius: float, parameters: int) -> None:
        self._norms, self._radius, self._p = norms, radius, parameters
        everyone = np.arange(len(norms))
        self.mode = self._modes(everyone)
        self._top = self._height(self.mode, everyone)
        low, high = np.minimum(-radius - self.mode, 0.0), np.maximum(radius - self.mode, 0.0)
        super().__init__(self._relative, low, high, np.ones(len(norms)))

    def _height(self, t: Floats, index: Indices) -> Floats:
        """Log density up to a constant: ½((radius − norm)² − (t − norm)²), multiplied out so that far means leave no error."""
        base = 0.5 * (self._radius - t) * (t + self._radius - 2 * self._norms[index])
        if self._p == 1:
            return np.asarray(base)
        return np.asarray(
            base + _log_gamma_share((self._p - 1) / 2, np.maximum((self._radius - t) * (self._radius + t), 0.0) / 2)
        )

    def _relative(self, x: Floats, index: Indices) -> Floats:
        return np.asarray(np.minimum(self._height(self.mode[index] + x, index) - self._top[index], 0.0))

    def _modes(self, everyone: Indices) -> Floats:
        """Maxima by golden section."""
        low, high = np.full(len(everyone), -self._radius), np.full(len(everyone), self._radius)
        for _ in range(60):
            left, right = high - GOLDEN * (high - low), low + GOLDEN * (high - low)
            rising = self._height(left, everyone) < self._height(right, everyone)
            low, high = np.where(rising, left, low), np.where(rising, high, right)
        return np.asarray((low + high) / 2)

    def draw_coordinates(self, index: Indices, generator: np.random.Generator) -> Floats:
        """One exact draw of the coordinate from each."""
        return np.asarray(np.clip(self.mode[index] + draw(self, index, generator), -self._radius, self._radius))
