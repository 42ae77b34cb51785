"""A location of unbounded data under the Welsch loss: pure differential privacy with no bound on the records."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from gibbsafe._types import JSON, Document, Floats
from gibbsafe._validate import count, fail, positive, real
from gibbsafe.data.blocks import Blocks, RowBlocks
from gibbsafe.data.options import EncodingOptions
from gibbsafe.data.sources import read_rows
from gibbsafe.domains.column import Column, check_names, no_target, only_numbers
from gibbsafe.domains.numbers import as_matrix, require_finite
from gibbsafe.models.base import register
from gibbsafe.models.capabilities import BoundedScores, StatesLean, StatesSpread
from gibbsafe.models.families.family import Family, block_ranges, check_trim
from gibbsafe.posteriors.bumps import BumpPosterior, WelschPosterior
from gibbsafe.posteriors.stage import Stage
from gibbsafe.privacy import Adjacency, Metric
from gibbsafe.theorems import Constants

__all__ = ["WelschLocation"]

#: Beyond this many scales from every allowed location a record's loss is 1 to the last digit (e^{−760} = 0).
SATURATED = 39.0
#: Curvature of the expected loss at the truth for normal records of the declared scale, times the squared scale.
TYPICAL_CURVATURE = 1 / (2 * math.sqrt(2))


@register
@dataclass(frozen=True, kw_only=True)
class WelschLocation(Family, BoundedScores, StatesLean, StatesSpread):
    """The location of records of any size, under the bounded loss Σ_j 1 − e^{−(x_j−θ_j)²/2s²} (``scale`` s, a public guess).

    The loss of a record lies in [0, d], whatever the record, so the posterior exp(−β Σ loss) is bounded-range with r = 2βd
    (replace-one) or βd (add-remove), and β = ε/2d is pure ε: for every data set, with no assumption on where data come from and
    nothing replaced in them. It is what contaminated likelihoods become when the contamination is flat.

    The prior is uniform on public ``bounds`` (one interval for every coordinate), or normal there (``prior_mean``,
    ``prior_scale``). Bounds may be generous: the draw's variance hardly depends on them, its set-up grows with the square root
    of bounds/s. Coordinates are independent under every posterior, so a draw is priced as a composition of d blocks: 2βd at
    δ = 0, and for δ > 0 about √d of that.

    Data: an (n,) or (n, d) array of finite numbers, a tuple (X,), or a table with the declared ``feature_names``.

    >>> import gibbsafe as gs
    >>> plan = gs.plan(WelschLocation(scale=8.0, bounds=(-300.0, 300.0)), gs.Budget(1.0), n=1000, adjacency="replace-one")
    >>> plan.theorem.name, round(plan.inverse_temperature, 6)
    ('bounded-range', 0.5)
    >>> data = np.append(30 + 8 * np.random.default_rng(0).standard_normal(999), 1e12)
    >>> round(float(plan.release(data, generator=np.random.default_rng(1)).draws[0, 0]))
    30
    """

    name = "WelschLocation"
    metric = Metric.hamming()
    prior_fields = ("bounds", "prior_mean", "prior_scale")
    typical_case = "if records are normal with the declared scale"
    bounds: tuple[float, float]
    scale: float = 1.0
    dimension: int = 1
    prior_mean: float | None = None
    prior_scale: float | None = None
    feature_names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "scale", positive("scale", self.scale))
        object.__setattr__(self, "dimension", count("dimension", self.dimension))
        object.__setattr__(self, "bounds", check_trim("bounds", self.bounds, -1e150, 1e150))
        object.__setattr__(self, "feature_names", check_names(self.feature_names, self.dimension))
        if (self.prior_mean is None) != (self.prior_scale is None):
            fail("prior_scale", self.prior_scale, "declared together with prior_mean; leave out both for a uniform prior")
        if self.prior_mean is not None:
            object.__setattr__(self, "prior_mean", real("prior_mean", self.prior_mean))
            object.__setattr__(self, "prior_scale", positive("prior_scale", self.prior_scale))
        if (self.bounds[1] - self.bounds[0]) / self.scale > 1e9:
            fail("scale", self.scale, "at least 1e-9 of the bounds' width: finer ones cannot be searched in bounded time")

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """One location per column."""
        return self.feature_names or tuple(f"location{k}" for k in range(self.dimension))

    @property
    def ends(self) -> tuple[float, float]:
        """The bounds of every location."""
        return self.bounds

    @property
    def resolution(self) -> float:
        """The loss's scale, or the bounds' width where that is smaller."""
        return min(self.scale, self.bounds[1] - self.bounds[0])

    def constants(self, prior_precision: Floats, *, adjacency: Adjacency, n: int | None, rows_per_person: int) -> Constants:
        """Return the range of one record's loss, one per coordinate, and twice that for a replaced record."""
        return Constants(
            **block_ranges((1.0,) * self.dimension, rows_per_person),
            n=n if adjacency == Adjacency.REPLACE_ONE else None,
            dimension=self.dimension,
        )

    def encode(self, data: object, options: EncodingOptions) -> Blocks:
        """Return records, cut off where their loss is 1 to the last digit for every location."""
        features = read_rows(data, self.feature_names, options.on_invalid)
        if self.dimension == 1 and np.ndim(features) == 1:
            features = np.asarray(features)[:, None]
        middle = self.bounds[0] / 2 + self.bounds[1] / 2
        matrix = require_finite(
            as_matrix(features, self.dimension, on_invalid=options.on_invalid),
            middle if options.on_invalid == "replace" else None,
        )
        reach = SATURATED * self.scale
        rows = np.clip(np.array(matrix), self.bounds[0] - reach, self.bounds[1] + reach)
        return Blocks(rows.astype(options.storage))

    def posterior(self, data: RowBlocks, stage: Stage, centre: Floats) -> WelschPosterior:
        """Return the posterior: at the first draw an envelope, by sums over the records."""
        prior = None if self.prior_mean is None or self.prior_scale is None else (self.prior_mean, self.prior_scale)
        return WelschPosterior(
            tuple(
                BumpPosterior(data, stage.inverse_temperature, self.scale, *self.bounds, prior=prior, column=j)
                for j in range(self.dimension)
            )
        )

    @property
    def largest_score(self) -> float:
        """e^{−½}/s, the steepest slope of the loss, in every coordinate."""
        return math.exp(-0.5) / self.scale

    def lean(self, draws: Floats) -> Floats:
        """Return 0: the loss is symmetric around the location."""
        return np.zeros(len(draws))

    def typical_sd(self, n: int, inverse_temperature: float) -> float:
        """Return s/√(nβ/2√2), at most that of the uniform prior."""
        width = (self.bounds[1] - self.bounds[0]) / math.sqrt(12)
        return min(width, self.scale / math.sqrt(max(n, 1) * inverse_temperature * TYPICAL_CURVATURE))

    def corners(self) -> list[object]:
        """Return the ends of the bounds, their middle, and records far outside."""
        low, high = self.bounds
        return [np.full((1, self.dimension), value) for value in (low, high, (low + high) / 2, -1e12, 1e12)]

    def simulate(self, draw: Floats, rows: int, generator: np.random.Generator, features: object = None) -> Floats:
        """Return normal records of the declared scale around the draw: the loss itself is no probability model."""
        return draw + self.scale * generator.standard_normal((rows, self.dimension))

    @classmethod
    def from_columns(cls, features: Sequence[Column], target: Column | None, options: Document) -> Self:
        """Return the location of a study's numbers; without ``bounds`` they are the widest of the columns'."""
        no_target(target, cls.name)
        given = dict(options)
        if "bounds" not in given:
            ends = [column.interval for column in only_numbers(features)]
            given["bounds"] = (min(end.low for end in ends), max(end.high for end in ends))
        return cls(dimension=len(features), feature_names=tuple(column.name for column in features), **given)

    def to_dict(self) -> JSON:
        """Return the declaration as plain data."""
        return {
            "name": self.name,
            "bounds": list(self.bounds),
            "scale": self.scale,
            "dimension": self.dimension,
            "prior_mean": self.prior_mean,
            "prior_scale": self.prior_scale,
            "feature_names": None if self.feature_names is None else list(self.feature_names),
        }
