"""The inverse scale of Laplace records around a known location, with a gamma prior between trim points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gibbsafe._numerics import up
from gibbsafe._types import Floats
from gibbsafe.models.base import register
from gibbsafe.models.families.rate_family import LocatedRateFamily
from gibbsafe.privacy import Metric

__all__ = ["LaplaceScale"]


@register
@dataclass(frozen=True, kw_only=True)
class LaplaceScale(LocatedRateFamily):
    """Records |x| ≤ bound with density (θ/2)e^{−θ|x − location|}, θ = 1/s in ``trim`` (Dimitrakakis et al. 2017, Lemma 20; E15).

    Replacing a record costs the range (c₂ − c₁)·sup||x − location| − |y − location||, for any number of records; under the
    paper's metric |x − y| the claim is 2c₂ per unit.

    >>> LaplaceScale(trim=(0.5, 0.9), bound=0.3, location=0.1).statistic_bounds
    (0.0, 0.4...)
    """

    name = "LaplaceScale"
    power = 1.0
    parameter = "inverse_scale"
    metric = Metric.absolute()

    @property
    def statistic_bounds(self) -> tuple[float, float]:
        """Distances from the location to the nearest and the farthest record."""
        return max(0.0, abs(self.location) - self.bound), up(self.bound + abs(self.location))

    @property
    def diameter(self) -> float:
        """Two records are at most twice the bound apart."""
        return 2 * self.bound

    def statistic(self, records: Floats) -> Floats:
        """Return |x − location|."""
        return np.abs(records - self.location)

    def simulate(self, draw: Floats, rows: int, generator: np.random.Generator, features: object = None) -> Floats:
        """Return synthetic records, not clipped to the bound."""
        return generator.laplace(self.location, 1 / float(draw[0]), rows)
