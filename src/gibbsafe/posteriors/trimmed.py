"""Trimmed gamma and beta distributions and their masses, however little of them the trim points leave.

On the scale where they are log-concave for every shape (log θ for gammas, logit θ for betas) a trimmed distribution is a
log-concave density on an interval (`gibbsafe.posteriors.log_concave`). Nothing is taken as the difference of two distribution
functions, so a trim that holds 1e-300 of the untrimmed mass is as good as any other.
"""

from __future__ import annotations

import numpy as np

from gibbsafe._types import Floats, Indices
from gibbsafe.posteriors.log_concave import LogConcave

__all__ = ["TrimmedBeta", "TrimmedGamma", "log_beta_mass", "log_gamma_mass"]


def _arrays(*values: object) -> tuple[Floats, ...]:
    """Return the values as one-dimensional arrays of one length."""
    return tuple(np.broadcast_arrays(*(np.atleast_1d(np.asarray(value, dtype=np.float64)) for value in values)))


def _log_ratio(end: Floats, mode: Floats, difference: Floats) -> Floats:
    """Return log(end/mode); close to the mode, log1p keeps the digits of the difference."""
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        close = np.abs(difference) < 0.5 * mode
        return np.where(close, np.log1p(np.where(close, difference / mode, 0.0)), np.log(end / mode))


class TrimmedGamma(LogConcave):
    """Densities ∝ θ^{shape−1} e^{−rate·θ} on [low, high], as functions of x = log(θ/mode).

    Shapes above 0, rates above 0 (or 0 where ``high`` is finite), 0 ≤ low < high ≤ ∞. In x the log density is
    shape·x − rate·mode·(eˣ − 1) up to a constant: concave for every shape.

    >>> never = TrimmedGamma(0.5, 1e6, 1e-3, 1.0)  # e⁻¹⁰⁰⁰ of the untrimmed mass
    >>> never.log_mass.round(6)
    array([-1010.36...])
    """

    def __init__(self, shape: object, rate: object, low: object, high: object) -> None:
        shape, rate, low, high = _arrays(shape, rate, low, high)
        with np.errstate(divide="ignore", over="ignore"):
            self.mode = np.clip(shape / rate, low, high)
        self.shape, self.rate_at_mode = shape, rate * self.mode
        low_x, high_x = (_log_ratio(end, self.mode, end - self.mode) for end in (low, high))
        scale = 1 / np.maximum(np.sqrt(self.rate_at_mode), np.abs(shape - self.rate_at_mode))
        self._low, self._high = low, high
        super().__init__(self._heights, np.minimum(low_x, 0.0), np.maximum(high_x, 0.0), scale)

    def _heights(self, x: Floats, index: Indices) -> Floats:
        with np.errstate(over="ignore"):
            return np.asarray(self.shape[index] * x - self.rate_at_mode[index] * np.expm1(x))

    def theta(self, x: Floats, index: Indices) -> Floats:
        """Return the parameters at positions x."""
        mode = self.mode[index]
        return np.asarray(np.clip(mode + mode * np.expm1(x), self._low[index], self._high[index]))

    def subset(self, index: Indices) -> TrimmedGamma:
        """Return the distributions ``index`` alone."""
        return TrimmedGamma(*(each[index] for each in (self.shape, self.rate_at_mode / self.mode, self._low, self._high)))

    @property
    def log_mass(self) -> Floats:
        """Log of ∫ θ^{shape−1} e^{−rate·θ} over [low, high]."""
        return np.asarray(self.shape * np.log(self.mode) - self.rate_at_mode + np.log(self.masses()))

    @property
    def log_hazard(self) -> Floats:
        """A lower bound on the log of the normalised density at ``low``, which is the hazard there.

        Taken from the height at ``low`` above the mode's, not from two logarithms whose digits cancel; what the height's own two
        terms may have lost is taken off.
        """
        with np.errstate(over="ignore"):
            rise, fall = self.shape * self.low, self.rate_at_mode * np.expm1(self.low)
        lost = 1e-9 + 2.0**-49 * (np.abs(rise) + np.abs(fall))
        return np.asarray(rise - fall - np.log(self._low) - np.log(self.masses()) - lost)


class TrimmedBeta(LogConcave):
    """Densities ∝ θ^{a−1}(1−θ)^{b−1} on [low, high], as functions of x = logit θ − logit mode.

    With the mode m the log density in x is a·x − (a + b) log(1 + m(eˣ − 1)) up to a constant: concave for all a, b > 0.

    >>> narrow = TrimmedBeta(1e6, 1.0, 0.3, 0.4)
    >>> float(narrow.log_mass[0].round(4))
    -916304.5474
    """

    def __init__(self, a: object, b: object, low: object, high: object) -> None:
        a, b, low, high = _arrays(a, b, low, high)
        free = a / (a + b)
        self.mode = np.clip(free, low, high)
        self.rest = np.where(self.mode == free, b / (a + b), 1 - self.mode)
        self.a, self.b = a, b
        low_x, high_x = (
            _log_ratio(end, self.mode, end - self.mode) - _log_ratio(1 - end, self.rest, self.mode - end) for end in (low, high)
        )
        total = (a + b) * self.mode * self.rest
        scale = 1 / np.maximum(np.sqrt(total), np.abs(a * self.rest - b * self.mode))
        self._low, self._high = low, high
        super().__init__(self._heights, np.minimum(low_x, 0.0), np.maximum(high_x, 0.0), scale)

    def _heights(self, x: Floats, index: Indices) -> Floats:
        # Seen from the nearer of 0 and 1, so that neither the exponential nor a difference of large numbers spoils the digits.
        with np.errstate(over="ignore"):
            flip = self.mode[index] * np.exp(np.minimum(x, 700.0)) > self.rest[index]
        near, far = (
            np.where(flip, one, other)
            for one, other in ((self.rest[index], self.mode[index]), (self.mode[index], self.rest[index]))
        )
        power, away = np.where(flip, self.b[index], self.a[index]), np.where(flip, -x, x)
        grown = near * np.expm1(away)
        shrink = np.where(grown > -0.5, np.log1p(np.maximum(grown, -0.5)), np.log(far + near * np.exp(away)))
        return np.asarray(power * away - (self.a[index] + self.b[index]) * shrink)

    def theta(self, x: Floats, index: Indices) -> Floats:
        """Return the parameters at positions x."""
        mode, rest = self.mode[index], self.rest[index]
        right, step = x > 0, np.expm1(-np.abs(x))
        left_over = np.where(right, mode + rest * (1 + step), rest + mode * (1 + step))
        moved = np.where(right, -1.0, 1.0) * mode * rest * step / left_over
        return np.asarray(np.clip(mode + moved, self._low[index], self._high[index]))

    @property
    def log_mass(self) -> Floats:
        """Log of ∫ θ^{a−1}(1−θ)^{b−1} over [low, high]."""
        return np.asarray(self.a * np.log(self.mode) + self.b * np.log(self.rest) + np.log(self.masses()))


def log_beta_mass(a: float, b: float, low: float, high: float) -> float:
    """Return log ∫ θ^{a−1}(1−θ)^{b−1} over [low, high]: no cancellation, however far in a tail.

    >>> float(np.exp(log_beta_mass(2.0, 3.0, 0.0, 1.0)).round(12))  # B(2, 3)
    0.083333333333
    """
    return float(TrimmedBeta(a, b, low, high).log_mass[0])


def log_gamma_mass(shape: float, rate: float, low: float, high: float) -> float:
    """Return log ∫ θ^{shape−1} e^{−rate·θ} over [low, high]: no cancellation, however far in a tail."""
    return float(TrimmedGamma(shape, rate, low, high).log_mass[0])
