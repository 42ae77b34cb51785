"""The rate of exponential records, with a gamma prior between trim points."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gibbsafe._types import Floats
from gibbsafe.errors import DomainError
from gibbsafe.models.base import register
from gibbsafe.models.families.rate_family import RateFamily
from gibbsafe.privacy import Metric

__all__ = ["ExponentialRate"]


@register
@dataclass(frozen=True, kw_only=True)
class ExponentialRate(RateFamily):
    """Records x in [0, bound] with density θe^{−θx}, rate θ in ``trim`` (Dimitrakakis et al. 2017, Lemma 19).

    Replacing a record costs the range (c₂ − c₁)·bound for any number of records; under the paper's metric |x − y| the claim is
    2c₂ per unit. Negative records are outside the support: refused, or read as 0 with ``on_invalid="replace"``.

    >>> import gibbsafe as gs
    >>> model = ExponentialRate(trim=(0.2, 2.0), bound=1.0)
    >>> round(gs.plan(model, gs.Budget(1.8), n=100, adjacency="replace-one").inverse_temperature, 9)
    1.0
    >>> ExponentialRate.trimmed_for(gs.Budget(0.5), lower=1.0, bound=2.0).trim
    (1.0, 1.2499999...)
    """

    name = "ExponentialRate"
    power = 1.0
    parameter = "rate"
    metric = Metric.absolute()

    @property
    def lowest(self) -> float:
        """Durations start at 0."""
        return 0.0

    @property
    def statistic_bounds(self) -> tuple[float, float]:
        """The record itself."""
        return 0.0, self.bound

    @property
    def diameter(self) -> float:
        """Two records are at most the bound apart."""
        return self.bound

    def statistic(self, records: Floats) -> Floats:
        """Return the records."""
        return records

    def _supported(self, records: Floats, on_invalid: str) -> Floats:
        negative = records < 0
        if negative.any() and on_invalid != "replace":
            row = int(np.argmax(negative))
            raise DomainError(
                f"{self.target}: a record is below 0, where exponential ones are not; clean it or use on_invalid='replace'",
                private=f"row {row} is {records[row]:g}",
            )
        return np.maximum(records, 0.0)

    def simulate(self, draw: Floats, rows: int, generator: np.random.Generator, features: object = None) -> Floats:
        """Return synthetic records, not clipped to the bound."""
        return generator.exponential(1 / float(draw[0]), rows)
