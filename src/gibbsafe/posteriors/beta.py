"""The posterior of a proportion: a beta distribution between trim points."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import betaln

from gibbsafe._types import Floats
from gibbsafe.posteriors.interval import IntervalPosterior
from gibbsafe.posteriors.trimmed import log_beta_mass

__all__ = ["BetaPosterior"]


@dataclass(frozen=True, eq=False)
class BetaPosterior(IntervalPosterior):
    """Density ∝ θ^{a−1}(1−θ)^{b−1} on [low, high]."""

    a: float
    b: float
    low: float = 0.0
    high: float = 1.0

    def values(self, thetas: Floats) -> Floats:
        """Return −(a − 1) log θ − (b − 1) log(1 − θ)."""
        theta = np.asarray(thetas)[:, 0]
        inside = (theta >= self.low) & (theta <= self.high)
        with np.errstate(divide="ignore", invalid="ignore"):
            value = -(self.a - 1) * np.log(theta) - (self.b - 1) * np.log1p(-theta)
        return np.where(inside, value, math.inf)

    def log_mass(self, low: float, high: float) -> float:
        """Return log ∫ θ^{a−1}(1−θ)^{b−1} over [low, high]."""
        if low <= 0 and high >= 1:
            return float(betaln(self.a, self.b))
        return float(log_beta_mass(self.a, self.b, low, high))
