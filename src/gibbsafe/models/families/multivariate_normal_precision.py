"""The precision matrix of normal vectors with a known mean, its eigenvalues between trim points."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields
from functools import cached_property
from typing import Any, Self

import numpy as np

from gibbsafe._numerics import down, up
from gibbsafe._types import JSON, Document, Floats, Values
from gibbsafe._validate import choice, count, fail, non_negative, positive, real
from gibbsafe.data.blocks import Blocks, RowBlocks
from gibbsafe.data.options import EncodingOptions
from gibbsafe.data.sources import read_rows
from gibbsafe.domains.ball import clip_rows
from gibbsafe.domains.column import Column, check_names, no_target, only_numbers
from gibbsafe.domains.numbers import as_matrix, require_finite
from gibbsafe.errors import PremiseError
from gibbsafe.models.base import register
from gibbsafe.models.capabilities import IsLikelihood, LipschitzParameters, StatesLean, StatesSpread
from gibbsafe.models.families.family import Family, ranges
from gibbsafe.models.families.rate_family import check_positive_trim, single_range, widest_trim
from gibbsafe.posteriors.precision import PrecisionPosterior, unpacked
from gibbsafe.posteriors.stage import Stage
from gibbsafe.privacy import Adjacency, Budget, Metric
from gibbsafe.samplers.trimmed.wishart import LARGEST_MATRIX
from gibbsafe.theorems import Constants

__all__ = ["MultivariateNormalPrecision"]


@dataclass(frozen=True)
class _OuterProducts:
    """Σ over rows of ‖xxᵀ − yyᵀ‖_F, and of 2‖x − y‖ where ``distances`` are counted too."""

    distances: bool

    def __call__(self, x: object, y: object) -> float:
        a, b = np.atleast_2d(np.asarray(x, dtype=float)), np.atleast_2d(np.asarray(y, dtype=float))
        outer = np.linalg.norm(a[:, :, None] * a[:, None, :] - b[:, :, None] * b[:, None, :], axis=(1, 2))
        return float((outer + 2 * self.distances * np.linalg.norm(a - b, axis=1)).sum())


@register
@dataclass(frozen=True, kw_only=True)
class MultivariateNormalPrecision(Family, IsLikelihood, LipschitzParameters, StatesLean, StatesSpread):
    """Records x with ‖x‖ ≤ ``bound`` from N(mean, A⁻¹), c₁I ≤ A ≤ c₂I (Dimitrakakis et al. 2017, Lemma 23; E18).

    The prior has density ∝ |A|^{(ν−d−1)/2} e^{−ψ tr A/2} between the trim points: a Wishart restricted to them, uniform by
    default (ν = ``degrees_of_freedom`` = d + 1, ψ = ``prior_scale`` = 0). Replacing a record changes the log-likelihood by
    ½ tr A(yyᵀ − xxᵀ) (x, y centred): its range is ½(c₂ − c₁) times the sum of the absolute eigenvalues, at most (c₂ − c₁)R² with
    R = bound + ‖mean‖, half of it for one column; for any number of records.

    ``structure="full"`` draws whole matrices exactly for up to three columns; for more, no exact sampler in bounded time for
    every data set is known here, and the declaration is refused. ``structure="diagonal"`` declares independent columns, of any
    number.

    >>> import gibbsafe as gs
    >>> model = MultivariateNormalPrecision(dimension=2, bound=1.0, trim=(0.5, 1.5))
    >>> gs.plan(model, gs.Budget(1.0), n=100, adjacency="replace-one").release(np.zeros((100, 2))).draws.shape
    (1, 3)
    """

    name = "MultivariateNormalPrecision"
    prior_fields = ("trim", "degrees_of_freedom", "prior_scale", "structure")
    typical_case = "if the precision is in the middle of the trim"
    dimension: int
    bound: float
    trim: tuple[float, float]
    mean: tuple[float, ...] | None = None
    degrees_of_freedom: float | None = None
    prior_scale: float = 0.0
    structure: str = "full"
    feature_names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        d = count("dimension", self.dimension)
        if choice("structure", self.structure, ("full", "diagonal")) == "full" and d > LARGEST_MATRIX:
            raise PremiseError(
                f"structure = 'full' with dimension = {d}: exact draws are known for up to {LARGEST_MATRIX}; declare 'diagonal'"
            )
        mean = (0.0,) * d if self.mean is None else tuple(real("mean", entry) for entry in self.mean)
        if len(mean) != d:
            fail("mean", mean, f"{d} numbers, one per column")
        freedom = d + 1.0 if self.degrees_of_freedom is None else real("degrees_of_freedom", self.degrees_of_freedom)
        if freedom < d + 1:
            fail("degrees_of_freedom", freedom, f"at least {d + 1}, so that the prior is log-concave")
        for name, value in (
            ("dimension", d),
            ("bound", positive("bound", self.bound)),
            ("trim", check_positive_trim(self.trim)),
            ("mean", mean),
            ("degrees_of_freedom", freedom),
            ("prior_scale", non_negative("prior_scale", self.prior_scale)),
            ("feature_names", check_names(self.feature_names, d)),
        ):
            object.__setattr__(self, name, value)

    @property
    def _diagonal(self) -> bool:
        return self.structure == "diagonal"

    @property
    def _mean_norm(self) -> float:
        assert self.mean is not None
        return math.hypot(*self.mean)

    @cached_property
    def parameter_names(self) -> tuple[str, ...]:
        """Entries of the precision matrix: its upper triangle row by row, or its diagonal."""
        columns = self.feature_names or tuple(str(k) for k in range(self.dimension))
        if self._diagonal:
            return tuple(f"precision[{each},{each}]" for each in columns)
        pairs = zip(*np.triu_indices(self.dimension), strict=True)
        return tuple(f"precision[{columns[i]},{columns[j]}]" for i, j in pairs)

    @property
    def parameters(self) -> int:
        """Number of entries."""
        return self.dimension if self._diagonal else self.dimension * (self.dimension + 1) // 2

    def outside(self, draws: Floats, grid: float) -> str | None:
        """Return that a matrix has an eigenvalue outside the trim: an indefinite one among them."""
        if self._diagonal:
            return super().outside(draws, grid)
        eigenvalues = np.linalg.eigvalsh(unpacked(draws, self.dimension, False))
        low, high = self.trim
        room = grid * self.dimension + 1e-12 * high
        return "a draw is outside the trim" if eigenvalues.min() < low - room or eigenvalues.max() > high + room else None

    @property
    def ends(self) -> tuple[float, float]:
        """The trim, of each entry of a diagonal."""
        return self.trim

    @property
    def resolution(self) -> float:
        """The width of the trim."""
        return self.trim[1] - self.trim[0]

    @property
    def radius(self) -> float:
        """R, a bound on ‖x − mean‖."""
        return up(self.bound + self._mean_norm)

    @property
    def _range_per_width(self) -> float:
        """The range of a replaced record per unit of c₂ − c₁."""
        return up(up(self.radius**2 * (0.5 if self.dimension == 1 else 1.0)))

    def constants(self, prior_precision: Floats, *, adjacency: Adjacency, n: int | None, rows_per_person: int) -> Constants:
        """Return ranges over the trimmed matrices, and L = ½√d·c₂·max(1, ‖mean‖) under the metric."""
        low, high = self.trim
        others = up(0.5 * (self.dimension - 1) * math.log1p(up(high - low) / low))
        single = up(up(others + single_range(self.trim, 0.5, (0.0, up(0.5 * self.radius**2)))))
        return Constants(
            **ranges(up(up(self.resolution) * self._range_per_width), single, rows_per_person),
            metric_lipschitz=up(up(0.5 * math.sqrt(self.dimension) * high * max(1.0, self._mean_norm))),
            metric_diameter=self.diameter if rows_per_person == 1 else None,
            n=n if adjacency == Adjacency.REPLACE_ONE else None,
            dimension=self.parameters,
        )

    @cached_property
    def metric(self) -> Metric:
        """The paper's ‖xxᵀ − yyᵀ‖_F + 2‖x − y‖; without the second term where the mean is 0."""
        away = self._mean_norm > 0
        return Metric("outer products and distances" if away else "outer products", _OuterProducts(away))

    @property
    def diameter(self) -> float:
        """The largest distance of two records: two of full length at the best angle φ, √2B² sin φ + 4B sin(φ/2) (E18)."""
        bound, away = self.bound, self._mean_norm > 0
        if self.dimension == 1:
            return up(bound**2 if not away else 4 * bound if bound <= 1 else (bound + 1) ** 2)
        if not away:
            return up(up(math.sqrt(2) * bound**2))
        half = math.acos((math.sqrt(1 + 4 * bound**2) - 1) / (2 * math.sqrt(2) * bound))
        return up(up(math.sqrt(2) * bound**2 * math.sin(2 * half) + 4 * bound * math.sin(half)))

    def lipschitz_at(self, thetas: Floats) -> Floats:
        """Return ½‖A‖_F·max(1, ‖mean‖)."""
        matrices = unpacked(np.atleast_2d(thetas), self.dimension, self._diagonal)
        return np.asarray(0.5 * np.linalg.norm(matrices, axis=(1, 2)) * max(1.0, self._mean_norm))

    def prior_mass_below(self, lipschitz: float) -> float:
        """Return 1 from the largest Lipschitz constant on, and below it the lower bound 0."""
        top = 0.5 * math.sqrt(self.dimension) * self.trim[1] * max(1.0, self._mean_norm)
        return 1.0 if lipschitz >= down(top) else 0.0

    @classmethod
    def trimmed_for(cls, budget: Budget, *, lower: float, draws: int = 1, **declaration: Any) -> Self:
        """Return the family with the widest trim [lower, c₂] that the budget allows at β = 1 under replace-one."""
        unit = cls(trim=(1.0, 2.0), **declaration)._range_per_width
        return cls(trim=widest_trim(budget, lower, unit, draws), **declaration)

    # -- records -------------------------------------------------------------------------------------------------

    def encode(self, data: object, options: EncodingOptions) -> Blocks:
        """Return records clipped to the ball, less the mean."""
        features = read_rows(data, self.feature_names, options.on_invalid)
        matrix = as_matrix(features, self.dimension, on_invalid=options.on_invalid)
        matrix = require_finite(matrix, 0.0 if options.on_invalid == "replace" else None)
        return Blocks(clip_rows(np.array(matrix), self.bound) - np.array(self.mean))

    def posterior(self, data: RowBlocks, stage: Stage, centre: Floats) -> PrecisionPosterior:
        """Return power (ν − d − 1 + βn)/2 and scale ψI + βΣ(x − mean)(x − mean)ᵀ."""
        assert self.degrees_of_freedom is not None
        (total,) = data.reduce(_gram)
        beta = stage.inverse_temperature
        power = 0.5 * (self.degrees_of_freedom - self.dimension - 1 + beta * data.n_rows)
        scale = self.prior_scale * np.eye(self.dimension) + beta * total
        return PrecisionPosterior(power, scale, self.trim, self._diagonal)

    def lean(self, draws: Floats) -> Floats:
        """Return ½(d + 1) log|A|, as a gamma's log θ."""
        matrices = unpacked(draws, self.dimension, self._diagonal)
        return np.asarray(0.5 * (self.dimension + 1) * np.linalg.slogdet(matrices)[1])

    def typical_sd(self, n: int, inverse_temperature: float) -> float:
        """Return θ√(2/(βn + 2)) at the middle of the trim, and at most the standard deviation of a uniform on the trim."""
        middle = sum(self.trim) / 2
        return min(middle * math.sqrt(2 / (inverse_temperature * n + 2)), self.resolution / math.sqrt(12))

    def corners(self) -> list[object]:
        """Return records of full length along the first two axes, both ways, and the centre."""
        axes = np.eye(min(2, self.dimension), self.dimension) * self.bound
        return [row[None] for row in (*axes, *-axes, np.zeros(self.dimension))]

    def simulate(self, draw: Floats, rows: int, generator: np.random.Generator, features: object = None) -> Values:
        """Return synthetic records, not clipped to the bound."""
        precision = unpacked(np.atleast_2d(draw), self.dimension, self._diagonal)[0]
        factor = np.linalg.cholesky(np.linalg.inv(precision))
        return np.asarray(np.array(self.mean) + generator.standard_normal((rows, self.dimension)) @ factor.T)

    @classmethod
    def from_columns(cls, features: Sequence[Column], target: Column | None, options: Document) -> Self:
        """Return the family over a study's numbers; their bounds give the bound on a record's norm."""
        no_target(target, cls.name)
        ends = [column.interval for column in only_numbers(features)]
        bound = math.hypot(*(max(abs(end.low), abs(end.high)) for end in ends))
        names = tuple(column.name for column in features)
        return cls(**{"dimension": len(names), "bound": bound, "feature_names": names, **options})

    def to_dict(self) -> JSON:
        """Return the declaration as plain data."""
        declared = {field.name: getattr(self, field.name) for field in fields(self)}
        return {"name": self.name} | {key: list(value) if isinstance(value, tuple) else value for key, value in declared.items()}


def _gram(rows: Floats, _: object) -> tuple[Floats]:
    return (rows.T @ rows,)
