"""Skeleton of a likelihood with a prior of its own: here counts with a Poisson rate, a gamma prior between trim points.

Copy it to a file of src/gibbsafe/models/families; CONTRIBUTING.md names the rest. A posterior that none of
src/gibbsafe/posteriors is needs a file there, and one of src/gibbsafe/samplers/trimmed that registers how it is drawn.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from gibbsafe._numerics import up
from gibbsafe._types import JSON, Document, Floats
from gibbsafe._validate import count, fail, positive
from gibbsafe.data.blocks import Blocks, RowBlocks
from gibbsafe.data.options import EncodingOptions
from gibbsafe.data.sources import read_response
from gibbsafe.domains.column import Column, no_features
from gibbsafe.domains.numbers import as_column, require_finite
from gibbsafe.models.base import register
from gibbsafe.models.capabilities import IsLikelihood
from gibbsafe.models.families.family import Family, ranges
from gibbsafe.models.families.rate_family import check_positive_trim, single_range
from gibbsafe.posteriors.gamma import GammaPosterior
from gibbsafe.posteriors.stage import Stage
from gibbsafe.privacy import Adjacency, Metric
from gibbsafe.theorems import Constants


@register
@dataclass(frozen=True, kw_only=True)
class PoissonRate(Family, IsLikelihood):
    """Records x in 0..cap with −log-likelihood θ − x log θ, prior Gamma(shape, rate) on ``trim`` = (c₁, c₂), 0 < c₁ < c₂.

    Replacing a record changes the log-likelihood by (x − x′) log θ, whose range over the trim is at most cap·log(c₂/c₁); adding
    one by x log θ − θ, whose range is convex in x and so largest at 0 or at the cap.
    """

    name = "PoissonRate"
    metric = Metric.absolute()
    prior_fields = ("shape", "rate", "trim")
    trim: tuple[float, float]
    cap: int
    shape: float = 1.0
    rate: float = 1.0
    target: str = "y"

    def __post_init__(self) -> None:
        object.__setattr__(self, "trim", check_positive_trim(self.trim))
        object.__setattr__(self, "cap", count("cap", self.cap))
        object.__setattr__(self, "shape", positive("shape", self.shape))
        object.__setattr__(self, "rate", positive("rate", self.rate))

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """The rate."""
        return ("rate",)

    @property
    def ends(self) -> tuple[float, float]:
        """The trim."""
        return self.trim

    @property
    def resolution(self) -> float:
        """The width of the trim."""
        return self.trim[1] - self.trim[0]

    def constants(self, prior_precision: Floats, *, adjacency: Adjacency, n: int | None, rows_per_person: int) -> Constants:
        """Return the ranges of one person's records, rounded up."""
        replaced = up(self.cap * up(math.log(up(self.trim[1] / self.trim[0]))))
        single = max(single_range(self.trim, power, (1.0, 1.0)) for power in (0.0, float(self.cap)))
        public_n = n if adjacency == Adjacency.REPLACE_ONE else None
        return Constants(**ranges(replaced, single, rows_per_person), n=public_n, dimension=1)

    def encode(self, data: object, options: EncodingOptions) -> Blocks:
        """Return the counts, clipped to 0..cap; what is no number is refused, or read as 0."""
        column = as_column(read_response(data, self.target), self.target, options.on_invalid)
        finite = require_finite(column[:, None], 0.0 if options.on_invalid == "replace" else None, self.target)
        return Blocks(np.clip(finite, 0.0, float(self.cap)))

    def posterior(self, data: RowBlocks, stage: Stage, centre: Floats) -> GammaPosterior:
        """Return Gamma(shape + βΣx, rate + βn) on the trim."""
        (total,) = data.reduce(lambda rows, _: (float(rows.sum()),))
        beta = stage.inverse_temperature
        return GammaPosterior(self.shape + beta * total, self.rate + beta * data.n_rows, *self.trim)

    def corners(self) -> list[object]:
        """Return the smallest and the largest record, for the audit."""
        return [np.array([0.0]), np.array([float(self.cap)])]

    def simulate(self, draw: Floats, rows: int, generator: np.random.Generator, features: object = None) -> Floats:
        """Return synthetic counts."""
        return np.minimum(generator.poisson(float(draw[0]), rows), self.cap).astype(np.float64)

    @classmethod
    def from_columns(cls, features: Sequence[Column], target: Column | None, options: Document) -> Self:
        """Return the family for a study's target: a number whose upper bound is the cap."""
        no_features(features, cls.name)
        if target is None or target.kind != "number":
            fail("target", target and target.name, f"a number with bounds for {cls.name}")
        return cls(**{"target": target.name, "cap": math.floor(target.interval.high), **options})

    def to_dict(self) -> JSON:
        """Return the declaration as plain data."""
        fields = {name: getattr(self, name) for name in ("cap", "shape", "rate", "target")}
        return {"name": self.name, "trim": list(self.trim)} | fields
