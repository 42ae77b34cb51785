"""What the families of a rate share: likelihoods θ^m e^{−θt} of a statistic t, and a gamma prior between trim points.

Exponential, Laplace and normal records with a known location have −log-likelihood θt − m log θ + constant in the parameter θ
(rate, inverse scale, precision), t a statistic of the record in a bounded interval [t₀, t₁] and m a constant. With the prior
Gamma(shape, rate) on [c₁, c₂] the posterior tempered by β is Gamma(shape + βmn, rate + βΣt) there.

- Replacing a record changes the log-likelihood by θ(t − t′): its range over the trim is (c₂ − c₁)(t₁ − t₀), for any n.
- Adding one changes it by θt − m log θ, whose range is convex in t (a maximum over θ of linear functions of t less a minimum of
  such), so it is largest at t₀ or t₁.
"""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any, ClassVar, Self

import numpy as np

from gibbsafe._numerics import FLOOR, down, log_excess, up
from gibbsafe._types import JSON, Document, Floats
from gibbsafe._validate import fail, non_negative, positive, real
from gibbsafe.data.blocks import Blocks, RowBlocks
from gibbsafe.data.options import EncodingOptions
from gibbsafe.data.sources import read_response
from gibbsafe.domains.column import Column, no_features
from gibbsafe.domains.numbers import as_column, require_finite
from gibbsafe.models.capabilities import IsLikelihood, LipschitzParameters, StatesLean, StatesSpread
from gibbsafe.models.families.family import Family, check_trim, ranges
from gibbsafe.posteriors.gamma import GammaPosterior
from gibbsafe.posteriors.stage import Stage
from gibbsafe.posteriors.trimmed import TrimmedGamma
from gibbsafe.privacy import Adjacency, Budget
from gibbsafe.theorems import Constants, get

__all__ = ["LocatedRateFamily", "RateFamily", "check_positive_trim", "single_range", "widest_trim"]

#: Largest logarithm of a likelihood ratio that is stated as a number.
LARGEST_LOG = 700.0


def check_positive_trim(trim: object) -> tuple[float, float]:
    """Return trim points 0 < c₁ < c₂ of a rate or precision."""
    low, high = check_trim("trim", trim, 0.0, math.inf)
    if low == 0:
        fail("trim", (low, high), "strictly above 0: there the log-likelihood is unbounded")
    return low, high


def widest_trim(budget: Budget, lower: float, unit: float, draws: int) -> tuple[float, float]:
    """Return the widest (lower, c₂) with range ``unit``·(c₂ − lower) within the budget at β = 1 under replace-one."""
    bottom = positive("lower", lower)
    width = get("bounded-range").calibrate({"difference_range": 1.0}, budget, adjacency="replace-one", draws=draws)
    top = bottom + down(down(width / unit))
    while up(up(up(up(top - bottom) * unit))) > width and top > bottom:  # as constants and theorem round
        top = math.nextafter(top, bottom)
    return bottom, top


def single_range(trim: tuple[float, float], power: float, statistic: tuple[float, float]) -> float:
    """Return sup over t in [t₀, t₁] of the range over θ in the trim of θt − power·log θ.

    >>> round(single_range((0.2, 2.0), 1.0, (0.0, 1.0)), 6)  # log 10: at t = 0
    2.302585
    """
    low, high = trim
    width = up(high - low)

    def spread(t: float) -> float:
        """Differences from the least value, by d − log(1 + d): nothing cancels, however narrow the trim is."""
        if t * high <= power:  # decreasing
            return (up(power) - t * high) * (width / high) + power * log_excess(-width / high, low / high)
        if t * low >= power:  # increasing
            return (up(t * low) - power) * (width / low) + power * log_excess(width / low, high / low)
        ends = (low * t / power * (1 - 2.0**-51), high * t / power * (1 + 2.0**-51))
        return power * max(log_excess(end - 1, end) for end in ends)

    return up(up(max(spread(t) for t in statistic)))


@dataclass(frozen=True, kw_only=True)
class RateFamily(Family, IsLikelihood, LipschitzParameters, StatesLean, StatesSpread):
    """Records with −log-likelihood θ·t(x) − m log θ, prior Gamma(shape, rate) on ``trim`` = (c₁, c₂), 0 < c₁ < c₂.

    ``bound`` is the public bound B of a record: values beyond it are clipped.
    """

    #: m, the power of θ in a record's likelihood, and the name of θ.
    power: ClassVar[float]
    parameter: ClassVar[str]
    prior_fields = ("shape", "rate", "trim")
    typical_case = "if the parameter is in the middle of the trim"
    trim: tuple[float, float]
    bound: float
    shape: float = 1.0
    rate: float = 1.0
    target: str = "y"

    def __post_init__(self) -> None:
        object.__setattr__(self, "trim", check_positive_trim(self.trim))
        object.__setattr__(self, "bound", positive("bound", self.bound))
        object.__setattr__(self, "shape", positive("shape", self.shape))
        object.__setattr__(self, "rate", non_negative("rate", self.rate))

    # -- what a subclass states ----------------------------------------------------------------------------------

    @abstractmethod
    def statistic(self, records: Floats) -> Floats:
        """Return t of clipped records."""

    @property
    @abstractmethod
    def statistic_bounds(self) -> tuple[float, float]:
        """(t₀, t₁) over the declared records."""

    @property
    def lowest(self) -> float:
        """The smallest record."""
        return -self.bound

    @property
    def middle(self) -> float:
        """Where the statistic is least, if that is a record: the location, where there is one."""
        return 0.0

    @property
    def lipschitz_factor(self) -> float:
        """k with ℓ(θ) = kθ under the family's metric."""
        return 1.0

    @property
    @abstractmethod
    def diameter(self) -> float:
        """The largest distance of two records under the family's metric."""

    # -- declaration ---------------------------------------------------------------------------------------------

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """The parameter θ."""
        return (self.parameter,)

    @property
    def ends(self) -> tuple[float, float]:
        """The trim."""
        return self.trim

    @property
    def resolution(self) -> float:
        """The width of the trim."""
        return self.trim[1] - self.trim[0]

    def constants(self, prior_precision: Floats, *, adjacency: Adjacency, n: int | None, rows_per_person: int) -> Constants:
        """Return ranges over the trim; L, and c, L₀, C of the paper's assumptions for one record per person."""
        public_n = n if adjacency == Adjacency.REPLACE_ONE else None
        alone = rows_per_person == 1
        low, high = self.statistic_bounds
        replaced = up(up(self.resolution) * up(high - low))
        single = single_range(self.trim, self.power, (low, high))
        return Constants(
            **ranges(replaced, single, rows_per_person),
            metric_lipschitz=up(self.lipschitz_factor * self.trim[1]),
            metric_diameter=self.diameter if alone else None,
            **(self._stochastic(public_n) if alone else {}),
            n=public_n,
            dimension=1,
        )

    def _stochastic(self, n: int | None) -> JSON:
        """Return c, L₀ and C of Assumption 2 for n records; C, which grows with n, only while it is a number.

        c is the hazard of the trimmed prior at c₁ for shapes from 1 on, which increases, and otherwise the prior's rate, below
        which no hazard falls (for shape 1 at least the rate λ of Lemmas 19, 20 and 22). C is at most e to the range over θ of
        the log-likelihood of n records, and at most the nth power of the corrected lemmas' constant (E15, E17).
        """
        factor, (low, high) = self.lipschitz_factor, self.statistic_bounds
        stated: JSON = {"stochastic_floor": up(factor * self.trim[0])}
        hazard = self.rate
        if self.shape >= 1:
            hazard = math.exp(min(LARGEST_LOG, float(TrimmedGamma(self.shape, self.rate, *self.trim).log_hazard[0])))
        if hazard > FLOOR:  # below it numbers have few digits
            stated["stochastic_rate"] = down(hazard / factor)
        if n is not None:
            log_ratio = single_range(self.trim, self.power * n, (n * low, n * high))
            if log_ratio < LARGEST_LOG:
                stated["likelihood_ratio_bound"] = up(math.exp(up(log_ratio)))
        return stated

    @classmethod
    def trimmed_for(cls, budget: Budget, *, lower: float, draws: int = 1, **declaration: Any) -> Self:
        """Return the family with the widest trim [lower, c₂] that the budget allows at β = 1 under replace-one."""
        low, high = cls(trim=(1.0, 2.0), **declaration).statistic_bounds
        return cls(trim=widest_trim(budget, lower, up(high - low), draws), **declaration)

    def lipschitz_at(self, thetas: Floats) -> Floats:
        """Return ℓ(θ) = kθ."""
        return np.asarray(self.lipschitz_factor * np.atleast_2d(thetas)[:, 0])

    def prior_mass_below(self, lipschitz: float) -> float:
        """Return the prior mass of θ ≤ L/k."""
        top = min(lipschitz / self.lipschitz_factor, self.trim[1])
        if top <= self.trim[0]:
            return 0.0
        prior = GammaPosterior(self.shape, self.rate, *self.trim)
        return min(1.0, math.exp(prior.log_mass(self.trim[0], top) - prior.log_mass(*self.trim)))

    # -- records -------------------------------------------------------------------------------------------------

    def encode(self, data: object, options: EncodingOptions) -> Blocks:
        """Return the statistic of every record, clipped to the bound; what is outside the support is refused or replaced."""
        raw = read_response(data, self.target)
        records = as_column(raw, self.target, options.on_invalid)
        middle = 0.5 * (self.lowest + self.bound) if options.on_invalid == "replace" else None
        finite = require_finite(records[:, None], middle, self.target)[:, 0]
        inside = self._supported(finite, options.on_invalid)
        clipped = np.clip(inside, self.lowest, self.bound)
        return Blocks(np.clip(self.statistic(clipped), *self.statistic_bounds)[:, None])

    def _supported(self, records: Floats, on_invalid: str) -> Floats:
        """Return records of the likelihood's support; all real numbers unless a subclass says otherwise."""
        return records

    def posterior(self, data: RowBlocks, stage: Stage, centre: Floats) -> GammaPosterior:
        """Return Gamma(shape + βmn, rate + βΣt) on the trim."""
        (total,) = data.reduce(_sum)
        beta = stage.inverse_temperature
        return GammaPosterior(self.shape + beta * self.power * data.n_rows, self.rate + beta * total, *self.trim)

    def lean(self, draws: Floats) -> Floats:
        """Return log θ: a mean (shape + m)/T is m/T for shape 0."""
        return np.log(draws[:, 0])

    def typical_sd(self, n: int, inverse_temperature: float) -> float:
        """Return θ/√(shape + βmn) at the middle of the trim, and at most the standard deviation of a uniform on the trim."""
        middle = sum(self.trim) / 2
        spread = middle / math.sqrt(self.shape + inverse_temperature * self.power * n)
        return min(spread, self.resolution / math.sqrt(12))

    def corners(self) -> list[object]:
        """Return records with the smallest and the largest statistic."""
        points = np.array([self.lowest, self.bound, min(max(self.middle, self.lowest), self.bound)])
        statistics = self.statistic(points)
        return [points[[int(statistics.argmin())]], points[[int(statistics.argmax())]]]

    @classmethod
    def from_columns(cls, features: Sequence[Column], target: Column | None, options: Document) -> Self:
        """Return the family for a study's target: a number whose bounds give the bound of a record."""
        no_features(features, cls.name)
        if target is None or target.kind != "number":
            fail("target", target and target.name, f"a number with bounds for {cls.name}")
        interval = target.interval
        return cls(**{"target": target.name, "bound": max(abs(interval.low), abs(interval.high)), **options})

    def to_dict(self) -> JSON:
        """Return the declaration as plain data."""
        declared = {field.name: getattr(self, field.name) for field in fields(self)}
        return {"name": self.name} | declared | {"trim": list(self.trim)}


@dataclass(frozen=True, kw_only=True)
class LocatedRateFamily(RateFamily):
    """Records around a known ``location``, on both sides of 0."""

    location: float = 0.0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "location", real("location", self.location))

    @property
    def middle(self) -> float:
        """The location."""
        return self.location


def _sum(rows: Floats, _: object) -> tuple[float]:
    return (float(rows.sum()),)
