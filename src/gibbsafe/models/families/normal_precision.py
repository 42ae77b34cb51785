"""The precision of normal records with a known mean, with a gamma prior between trim points."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gibbsafe._numerics import up
from gibbsafe._types import Floats
from gibbsafe.models.base import register
from gibbsafe.models.families.rate_family import LocatedRateFamily
from gibbsafe.privacy import Metric

__all__ = ["NormalPrecision"]


def _square_distance(x: object, y: object) -> float:
    a, b = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    return float((np.abs(a**2 - b**2) + 2 * np.abs(a - b)).sum())


@register
@dataclass(frozen=True, kw_only=True)
class NormalPrecision(LocatedRateFamily):
    """Records |x| ≤ bound from N(location, 1/θ), θ in ``trim`` (Dimitrakakis et al. 2017, Lemma 22; E17).

    Replacing a record costs the range ½(c₂ − c₁)·sup|(x − location)² − (y − location)²|, for any number of records; under the
    paper's metric |x² − y²| + 2|x − y| the claim is c₂·max(|location|, 1) per unit.

    >>> NormalPrecision(trim=(1.0, 1.5), bound=2.0).statistic_bounds
    (0.0, 2.0...)
    """

    name = "NormalPrecision"
    power = 0.5
    parameter = "precision"
    metric = Metric("squares and distances", _square_distance)

    @property
    def statistic_bounds(self) -> tuple[float, float]:
        """Half the squared distances from the location to the nearest and the farthest record."""
        away = abs(self.location)
        return 0.5 * max(0.0, away - self.bound) ** 2, up(0.5 * (self.bound + away) ** 2)

    @property
    def lipschitz_factor(self) -> float:
        """max(|location|, 1)/2."""
        return 0.5 * max(abs(self.location), 1.0)

    @property
    def diameter(self) -> float:
        """4B for B ≤ 1, and (B + 1)² beyond: at y = −1 for x = B (E18)."""
        return up(4 * self.bound if self.bound <= 1 else (self.bound + 1) ** 2)

    def statistic(self, records: Floats) -> Floats:
        """Return ½(x − location)²."""
        return np.asarray(0.5 * np.square(records - self.location))

    def simulate(self, draw: Floats, rows: int, generator: np.random.Generator, features: object = None) -> Floats:
        """Return synthetic records, not clipped to the bound."""
        return generator.normal(self.location, 1 / math.sqrt(float(draw[0])), rows)
