"""The mean of bounded vectors: squared loss, Gaussian prior, everything in closed form."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np

from gibbsafe._types import JSON, Document, Floats
from gibbsafe.data.blocks import Blocks, RowBlocks
from gibbsafe.data.options import EncodingOptions
from gibbsafe.data.sources import read_rows
from gibbsafe.domains.ball import Ball, clip_rows
from gibbsafe.domains.column import Column, check_names, no_target, only_numbers
from gibbsafe.domains.numbers import as_matrix, require_finite
from gibbsafe.errors import PremiseError
from gibbsafe.losses.base import Loss
from gibbsafe.losses.squared import SquaredLoss
from gibbsafe.models.base import GibbsModel, register
from gibbsafe.models.capabilities import HasCorners, IsLikelihood, ReadsColumns, Simulates
from gibbsafe.models.units import Units
from gibbsafe.posteriors.normal import NormalPosterior
from gibbsafe.posteriors.stage import Stage
from gibbsafe.privacy import Adjacency
from gibbsafe.theorems import Constants

__all__ = ["GaussianMean"]


@register
@dataclass(frozen=True, kw_only=True)
class GaussianMean(GibbsModel, IsLikelihood, HasCorners, ReadsColumns, Simulates):
    """Records x of norm at most ``radius`` with loss ½|θ − x|², the negative log density of N(θ, I) (Minami et al., Theorem 15).

    With the prior N(c, I/λ) (default c = 0, λ = 1/radius²) the posterior is N((nβx̄ + λc)/(nβ + λ), I/(nβ + λ)). Replacing one
    record moves its mean by at most 2βr/(nβ + λ) and leaves its precision, so the price μ = 2rβ/√(nβ + λ) is exact (theorem
    ``gaussian-mean``). Replace-one, one row per person: otherwise the precision itself would depend on private data.

    Data: an (n, d) array, a tuple (X,), or a table with the declared ``feature_names``. β and λ refer to the user's units;
    inside, records and parameters are divided by the radius.

    >>> GaussianMean(dimension=2, radius=10.0).parameter_names
    ('mean0', 'mean1')
    """

    name = "GaussianMean"
    dimension: int
    radius: float = 1.0
    feature_names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        ball = Ball(self.dimension, self.radius)
        object.__setattr__(self, "dimension", ball.dimension)
        object.__setattr__(self, "radius", ball.radius)
        object.__setattr__(self, "feature_names", check_names(self.feature_names, self.dimension))

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """One mean per column."""
        return self.feature_names or tuple(f"mean{k}" for k in range(self.dimension))

    @property
    def loss(self) -> Loss:
        """Half the squared distance, coordinate by coordinate; not Lipschitz on all of space."""
        return SquaredLoss()

    @property
    def parameter_scale(self) -> float:
        """What makes the default prior radius that of the records, 1."""
        return 1 / (3 * math.sqrt(self.dimension))

    def follows(self, dispersion: float | None) -> str:
        """Return that records are normal, of unit variance unless the user says otherwise."""
        return f"{super().follows(dispersion)} (unit variance per coordinate: state dispersion otherwise)"

    def constants(self, prior_precision: Floats, *, adjacency: Adjacency, n: int | None, rows_per_person: int) -> Constants:
        """Return radius, n and the prior's precision in the user's units, in which the price is stated."""
        if adjacency != Adjacency.REPLACE_ONE:
            raise PremiseError(f"adjacency = {adjacency.value!r}: the posterior's precision depends on n; use replace-one")
        if rows_per_person > 1:
            raise PremiseError(
                f"rows_per_person = {rows_per_person}: how many rows a cap keeps is private, and the posterior's precision "
                "depends on it; average each person's rows and use 1"
            )
        precision = self.units.precision_to_original(prior_precision)
        equal = float(precision.min()) == float(precision.max())
        return Constants(
            convex=True,
            loss_strong_convexity=1.0,
            smoothness=1.0,
            prior_precision=float(precision[0]) if equal else tuple(precision.tolist()),
            prior_smoothness=float(precision.max()),
            n=n,
            record_radius=self.radius,
            dimension=self.dimension,
        )

    def encode(self, data: object, options: EncodingOptions) -> Blocks:
        """Return records clipped to the ball and divided by its radius."""
        features = read_rows(data, self.feature_names, options.on_invalid)
        matrix = as_matrix(features, self.dimension, on_invalid=options.on_invalid)
        matrix = require_finite(matrix, 0.0 if options.on_invalid == "replace" else None)
        rows = clip_rows(np.array(matrix), self.radius) / self.radius
        return Blocks(clip_rows(rows.astype(options.storage), 1.0))

    def posterior(self, data: RowBlocks, stage: Stage, centre: Floats) -> NormalPosterior:
        """Return the normal posterior in scaled units: a record counts βr² there."""
        weight = stage.inverse_temperature * self.radius**2
        prior = np.array(stage.prior_precision)
        (total,) = data.reduce(_column_sums)
        precision = weight * data.n_rows + prior
        return NormalPosterior((weight * total + prior * centre) / precision, precision)

    @property
    def units(self) -> Units:
        """Multiply by the radius."""
        return Units(np.full(self.dimension, self.radius))

    def simulate(self, draw: Floats, rows: int, generator: np.random.Generator, features: object = None) -> Floats:
        """Return synthetic records N(draw, I): the loss declares unit variance; they are not clipped to the ball."""
        return draw + generator.standard_normal((rows, self.dimension))

    @classmethod
    def from_columns(cls, features: Sequence[Column], target: Column | None, options: Document) -> Self:
        """Return the mean of a study's numbers, used in their own units; ``row_norm`` or ``radius`` clips the rows.

        Without either the radius is the norm of the farthest corner of the bounds.
        """
        no_target(target, cls.name)
        given = dict(options)
        norm = given.pop("row_norm", None)
        if norm is None and "radius" not in given:
            norm = math.hypot(*(max(abs(column.interval.low), abs(column.interval.high)) for column in only_numbers(features)))
        radius = {} if norm is None else {"radius": norm}
        return cls(dimension=len(features), feature_names=tuple(column.name for column in features), **radius, **given)

    def corners(self) -> list[object]:
        """Return both ends of the first two axes, and the centre."""
        axes = np.eye(min(2, self.dimension), self.dimension) * self.radius
        return [row[None] for row in (*axes, *-axes, np.zeros(self.dimension))]

    def to_dict(self) -> JSON:
        """Return the declaration as plain data."""
        names = None if self.feature_names is None else list(self.feature_names)
        return {"name": self.name, "dimension": self.dimension, "radius": self.radius, "feature_names": names}


def _column_sums(rows: Floats, _: object) -> tuple[Floats]:
    return (rows.sum(axis=0),)
