"""Densities exp(w Σᵢ e^{−(θ−xᵢ)²/2s²}) on an interval: many bumps, any number of modes."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gibbsafe._types import Floats
from gibbsafe.posteriors.protocols import ExactPosterior

__all__ = ["BumpPosterior", "WelschPosterior"]

#: A bump is summed within this many scales: e^{−40.5} of it is left outside.
WINDOW = 9.0


class BumpPosterior(ExactPosterior):
    """Density ∝ exp(w Σᵢ e^{−(θ−xᵢ)²/2s²}) N(θ; m, v²) on [low, high]; without m and v the prior is uniform there."""

    def __init__(
        self,
        records: Floats,
        weight: float,
        scale: float,
        low: float,
        high: float,
        *,
        prior: tuple[float, float] | None = None,
    ) -> None:
        self.records = np.sort(np.asarray(records, dtype=np.float64))
        self.weight, self.scale, self.low, self.high, self.prior = weight, scale, low, high, prior

    @property
    def support(self) -> tuple[Floats, Floats]:
        """The interval."""
        return np.array([self.low]), np.array([self.high])

    def sum(self, theta: float) -> tuple[float, float]:
        """Return Σ e^{−r²/2} and its derivative at one θ."""
        reach = WINDOW * self.scale
        start, stop = np.searchsorted(self.records, (theta - reach, theta + reach))
        r = (self.records[start:stop] - theta) / self.scale
        bump = np.exp(-0.5 * r * r)
        return float(bump.sum()), float(r @ bump) / self.scale

    def log_prior(self, theta: float) -> float:
        """Return the log prior up to a constant."""
        return 0.0 if self.prior is None else -0.5 * ((theta - self.prior[0]) / self.prior[1]) ** 2

    def log_density(self, theta: float) -> float:
        """Return the log density up to a constant."""
        return self.weight * self.sum(theta)[0] + self.log_prior(theta)

    def values(self, thetas: Floats) -> Floats:
        """Return −log density at each row of ``thetas`` (k, 1), up to a constant; infinite outside the interval."""
        flat = np.asarray(thetas, dtype=np.float64)[:, 0]
        return np.array([-self.log_density(t) if self.low <= t <= self.high else math.inf for t in flat])


@dataclass(frozen=True, eq=False)
class WelschPosterior(ExactPosterior):
    """Independent coordinates, each a density exp(β Σ e^{−r²/2s²}) on the bounds."""

    coordinates: tuple[BumpPosterior, ...]

    def values(self, thetas: Floats) -> Floats:
        """Return −log density at each row of ``thetas``, up to a constant."""
        columns = np.asarray(thetas)
        return np.asarray(np.sum([part.values(columns[:, [j]]) for j, part in enumerate(self.coordinates)], axis=0))

    @property
    def support(self) -> tuple[Floats, Floats]:
        """The bounds, in every coordinate."""
        return np.array([part.low for part in self.coordinates]), np.array([part.high for part in self.coordinates])
