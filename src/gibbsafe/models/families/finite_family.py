"""Any finite family: finitely many parameters, finitely many outcomes, a table of likelihoods and a prior."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from gibbsafe._numerics import up
from gibbsafe._types import JSON, Document, Floats, Values
from gibbsafe._validate import fail, positive, real
from gibbsafe.data.blocks import Blocks, RowBlocks
from gibbsafe.data.options import EncodingOptions
from gibbsafe.data.sources import read_response
from gibbsafe.domains.column import Column
from gibbsafe.models.base import register
from gibbsafe.models.capabilities import IsLikelihood, LipschitzParameters
from gibbsafe.models.families.family import Family, ranges
from gibbsafe.models.families.states import check_states, count_states, encode_states, levels_of
from gibbsafe.posteriors.exact_law import needed_bits
from gibbsafe.posteriors.finite import FinitePosterior
from gibbsafe.posteriors.stage import Stage
from gibbsafe.privacy import Adjacency, Metric
from gibbsafe.theorems import Constants

__all__ = ["FiniteFamily"]


#: Most pairs of outcomes, over all parameters: constants are found by enumeration.
MOST_PAIRS = 20_000_000


@register
@dataclass(frozen=True, kw_only=True)
class FiniteFamily(Family, IsLikelihood, LipschitzParameters):
    """Outcomes x with probabilities p_θ(x) from a table with one row per parameter (Dimitrakakis et al. 2017, Examples 1 and 2).

    Args:
        points: the parameters, different numbers; draws are among them.
        likelihood: one row per parameter, one column per outcome; entries above 0, rows that add up to 1.
        outcomes: their labels, or their number m for 0, …, m − 1.
        prior: weights of the parameters, uniform by default; only their ratios matter.

    Replacing a record costs the range over θ of log p_θ(x)/p_θ(y), the largest over pairs: exact, for any number of records.

    >>> family = FiniteFamily.bernoulli(0.2)
    >>> family.points, round(family.metric_constants().metric_lipschitz, 6)
    ((0.2, 0.4, 0.6, 0.8), 1.386294)
    """

    name = "FiniteFamily"
    metric = Metric.hamming()
    finite = True
    prior_fields = ("points", "prior")
    points: tuple[float, ...]
    likelihood: tuple[tuple[float, ...], ...]
    outcomes: tuple[Any, ...] | int = (0, 1)
    prior: tuple[float, ...] | None = None
    target: str = "y"

    def __post_init__(self) -> None:
        points = self._numbers("points", self.points)
        if len(points) < 2 or len(set(points)) != len(points):
            fail("points", points, "two or more different numbers")
        outcomes = check_states("outcomes", self.outcomes)
        if not isinstance(self.likelihood, tuple | list) or len(self.likelihood) != len(points):
            fail("likelihood", self.likelihood, f"a table with {len(points)} rows, one per parameter")
        if len(points) * len(outcomes) ** 2 > MOST_PAIRS:
            fail("outcomes", len(outcomes), f"so few that points × outcomes² is at most {MOST_PAIRS:,}")
        rows = tuple(self._numbers("likelihood", row, least=0.0) for row in self.likelihood)
        for row in rows:
            if len(row) != len(outcomes) or abs(math.fsum(row) - 1) > 1e-9:
                fail("likelihood", list(row), f"rows of {len(outcomes)} probabilities that add up to 1")
        weights = (1.0,) * len(points) if self.prior is None else self._numbers("prior", self.prior, least=0.0)
        if len(weights) != len(points):
            fail("prior", list(weights), f"{len(points)} weights, one per parameter")
        total = math.fsum(weights)
        for name, value in (
            ("points", points),
            ("outcomes", outcomes),
            ("likelihood", rows),
            ("prior", tuple(weight / total for weight in weights)),
        ):
            object.__setattr__(self, name, value)

    @staticmethod
    def _numbers(name: str, values: object, least: float = -math.inf) -> tuple[float, ...]:
        """Return finite numbers above ``least``."""
        if not isinstance(values, tuple | list):
            fail(name, values, "a list of numbers")
        numbers = tuple(real(name, value) for value in values)
        for number in numbers:
            if number <= least:
                fail(name, number, f"above {least:g}: impossible outcomes and parameters have no finite range")
        return numbers

    @classmethod
    def bernoulli(cls, step: float, **declaration: Any) -> Self:
        """Return Bernoulli outcomes with θ = kΔ strictly between 0 and 1 (Example 1; E12: 1/Δ whole, endpoints excluded)."""
        size = positive("step", step)
        pieces = round(1 / size)
        if pieces < 3 or abs(pieces * size - 1) > 1e-9:
            fail("step", step, "1/m for a whole number m of at least 3")
        points = tuple(k / pieces for k in range(1, pieces))
        return cls(points=points, likelihood=tuple(((pieces - k) / pieces, k / pieces) for k in range(1, pieces)), **declaration)

    @cached_property
    def _log(self) -> Floats:
        return np.asarray(np.log(np.array(self.likelihood)))

    @property
    def _labels(self) -> tuple[object, ...]:
        assert isinstance(self.outcomes, tuple)
        return self.outcomes

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """The parameter θ."""
        return ("theta",)

    @property
    def resolution(self) -> float:
        """The smallest distance of two parameters."""
        return float(np.diff(np.sort(self.points)).min())

    def outside(self, draws: Floats, grid: float) -> str | None:
        """Return that a draw is none of the points."""
        points = np.sort(np.array(self.points, dtype=np.float64))
        near = np.searchsorted(points, draws)
        left, right = points[np.maximum(near - 1, 0)], points[np.minimum(near, len(points) - 1)]
        distance = np.minimum(np.abs(draws - left), np.abs(draws - right))
        return "a draw is not one of the family's points" if (distance > grid).any() else None

    def constants(self, prior_precision: Floats, *, adjacency: Adjacency, n: int | None, rows_per_person: int) -> Constants:
        """Return ranges and differences by enumeration of the table, rounding of the drawn weights included.

        Each of the differences of a range may be off by half a unit in the last place of its logarithms; weights are drawn with
        so many bits that their rounding is at most a share 2⁻⁵² of the range (`FinitePosterior.law`). Both are inside `up`
        and what `_rounding` adds.
        """
        replaced, single, largest = self._widths
        if replaced == 0:
            fail("likelihood", self.likelihood, "different for some parameters: otherwise there is nothing to learn")
        rounding = self._rounding
        return Constants(
            **ranges(up(up(replaced + rounding)), up(up(single + rounding)), rows_per_person),
            metric_lipschitz=up(up(up(largest + rounding))),
            metric_diameter=1.0 if rows_per_person == 1 else None,
            n=n if adjacency == Adjacency.REPLACE_ONE else None,
            dimension=1,
        )

    @cached_property
    def _widths(self) -> tuple[float, float, float]:
        """Range of a replaced record's and of an added one's log-likelihood, and the largest log ratio of two outcomes."""
        gaps = self._log[:, :, None] - self._log[:, None, :]
        replaced, single = (float((table.max(axis=0) - table.min(axis=0)).max()) for table in (gaps, self._log))
        return replaced, single, float(gaps.max())

    @property
    def _rounding(self) -> float:
        """An upper bound on what four logarithms lose when they are subtracted in floating point."""
        return 2.0**-50 * float(np.abs(self._log).max())

    def lipschitz_at(self, thetas: Floats) -> Floats:
        """Return ℓ(θ) = max log p_θ(x)/p_θ(y) of the nearest parameter."""
        nearest = np.abs(np.atleast_2d(thetas)[:, :1] - np.array(self.points)).argmin(axis=1)
        return np.asarray(np.ptp(self._log, axis=1)[nearest])

    def prior_mass_below(self, lipschitz: float) -> float:
        """Return the prior mass of the parameters with ℓ(θ) ≤ L."""
        assert self.prior is not None
        return float(np.array(self.prior)[np.ptp(self._log, axis=1) <= lipschitz * (1 + 1e-12)].sum())

    # -- records -------------------------------------------------------------------------------------------------

    def encode(self, data: object, options: EncodingOptions) -> Blocks:
        """Return the code of every record's outcome."""
        values = read_response(data, self.target)
        codes = encode_states(values, self._labels, options.on_invalid, self.target)
        return Blocks(codes[:, None])

    def posterior(self, data: RowBlocks, stage: Stage, centre: Floats) -> FinitePosterior:
        """Return log prior + β Σ counts·log-likelihood for every parameter; how many bits the weights have is public."""
        counts, beta = count_states(data, len(self._labels)), stage.inverse_temperature
        bits = needed_bits(beta * min(self._widths[:2]))
        return FinitePosterior(np.array(self.points), np.log(np.array(self.prior)), self._log, counts, beta, bits)

    def corners(self) -> list[object]:
        """Return one record of the pair of outcomes that a draw tells apart best."""
        gaps = self._log[:, :, None] - self._log[:, None, :]
        widths = gaps.max(axis=0) - gaps.min(axis=0)
        pair = np.unravel_index(int(widths.argmax()), widths.shape)
        return [np.array([self._labels[int(code)]]) for code in pair]

    def simulate(self, draw: Floats, rows: int, generator: np.random.Generator, features: object = None) -> Values:
        """Return synthetic outcomes under the nearest parameter."""
        row = int(np.abs(np.array(self.points) - float(draw[0])).argmin())
        chances = np.array(self.likelihood[row])
        return np.array(self._labels)[generator.choice(len(self._labels), size=rows, p=chances / chances.sum())]

    @classmethod
    def from_columns(cls, features: Sequence[Column], target: Column | None, options: Document) -> Self:
        """Return the family for a study's target column of declared levels."""
        return cls(**{"outcomes": levels_of(features, target, cls.name), "target": target and target.name, **options})

    def to_dict(self) -> JSON:
        """Return the declaration as plain data."""
        assert self.prior is not None
        return {
            "name": self.name,
            "points": list(self.points),
            "likelihood": [list(row) for row in self.likelihood],
            "outcomes": list(self._labels),
            "prior": list(self.prior),
            "target": self.target,
        }
