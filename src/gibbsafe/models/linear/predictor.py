"""Models on a linear predictor: features with public bounds, an optional intercept, one joint scaling."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from gibbsafe._types import JSON, Document, Floats
from gibbsafe._validate import count, fail
from gibbsafe.data.blocks import Blocks, RowBlocks
from gibbsafe.data.options import EncodingOptions
from gibbsafe.data.sources import is_table, read_columns, read_records
from gibbsafe.domains.ball import Ball, clip_rows
from gibbsafe.domains.box import Box
from gibbsafe.domains.charges import ReleasedFact, check_charge
from gibbsafe.domains.column import Column, check_names
from gibbsafe.domains.encoding import Design
from gibbsafe.domains.interaction import read_interactions
from gibbsafe.domains.numbers import as_matrix, require_finite
from gibbsafe.domains.row_shape import RowShape
from gibbsafe.errors import DomainError
from gibbsafe.models.base import GibbsModel
from gibbsafe.models.capabilities import BoundedScores, HasCorners, ReadsColumns, StatesRows
from gibbsafe.models.linear.groups import Groups, check_groups, group_precisions
from gibbsafe.models.units import Units
from gibbsafe.posteriors.gibbs import GibbsPosterior
from gibbsafe.posteriors.stage import Stage
from gibbsafe.privacy import Adjacency
from gibbsafe.theorems import Constants

if TYPE_CHECKING:
    from gibbsafe.losses.own import OwnLoss
    from gibbsafe.models.linear.own_loss import OwnLossRegression

__all__ = ["LinearModel"]


@dataclass(frozen=True, kw_only=True)
class LinearModel(GibbsModel, BoundedScores, HasCorners, ReadsColumns, StatesRows):
    """A loss f(xᵀθ) of rows x = (features, 1), scaled jointly so that every row *with its intercept* has norm at most 1.

    Args:
        dimension: number of features.
        radius: features are rows of norm at most this, in the user's units (default 1), or instead of it
        bounds: a (low, high) pair per feature; each is clipped and mapped to [−1, 1], and the row is clipped to
        row_norm: in these units (default √dimension).
        columns: a `gibbsafe.domains.Column` per column of a table instead of bounds: categories become one 0/1 column per level,
            numbers are mapped by their bounds, and the row is clipped to ``row_norm`` (default: the root of their number).
        interactions: of columns, products like ``("age:ward",)``; each counts as a column for the default ``row_norm``.
        intercept: whether a constant column 1 is appended.
        feature_names: names of the columns, needed to read tables by name.
        target: name of the response column in tables.
        target_charge: under which charge bounds of the response were released; None where they are public.
        groups: categories among the columns whose effects have a normal prior of their own about 0, and its precision in the
            user's units, as ``{"ward": 16}``. Levels with few records are then drawn towards the others (partial pooling).
    """

    dimension: int
    radius: float | None = None
    bounds: tuple[tuple[float, float], ...] | None = None
    row_norm: float | None = None
    intercept: bool = True
    feature_names: tuple[str, ...] | None = None
    target: str = "y"
    columns: tuple[Column, ...] | None = None
    interactions: tuple[str, ...] = ()
    target_charge: str | None = None
    groups: Groups | None = None
    _domain: Ball | Box | Design = field(init=False, repr=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "dimension", count("dimension", self.dimension))
        if self.radius is not None and not (self.bounds is None and self.columns is None):
            fail("radius", self.radius, "left out when bounds or columns are declared (row_norm clips rows then)")
        if self.target_charge is not None:
            check_charge("target_charge", self.target_charge)
        if self.interactions and self.columns is None:
            fail("interactions", self.interactions, "left out without columns")
        domain: Ball | Box | Design
        if self.columns is not None:
            domain = self._declare_columns(self.columns)
        elif self.bounds is not None:
            domain = Box(self.bounds, self.row_norm)
            if domain.dimension != self.dimension:
                fail("bounds", f"{domain.dimension} pairs", f"one per feature ({self.dimension})")
            object.__setattr__(self, "bounds", Box(self.bounds).bounds)
        else:
            if self.row_norm is not None:
                fail("row_norm", self.row_norm, "left out without bounds (radius clips rows then)")
            domain = Ball(self.dimension, 1.0 if self.radius is None else self.radius)
            object.__setattr__(self, "radius", domain.radius)
        object.__setattr__(self, "_domain", domain)
        object.__setattr__(self, "groups", check_groups(self.groups, domain))
        if not isinstance(self.intercept, bool):
            fail("intercept", self.intercept, "True or False")
        object.__setattr__(self, "feature_names", check_names(self.feature_names, self.dimension))

    def _declare_columns(self, columns: Sequence[Column | Document]) -> Design:
        """Return the domain of declared columns; it settles names and dimension."""
        listed = tuple(column if isinstance(column, Column) else Column.from_dict(column) for column in columns)
        domain = Design(listed, self.row_norm, read_interactions(self.interactions, listed))
        object.__setattr__(self, "interactions", tuple(self.interactions))
        if self.bounds is not None:
            fail("bounds", self.bounds, "left out when columns are declared")
        if domain.dimension != self.dimension:
            fail("dimension", self.dimension, f"the number of encoded columns ({domain.dimension})")
        object.__setattr__(self, "columns", listed)
        object.__setattr__(self, "feature_names", domain.names)
        return domain

    @classmethod
    def with_loss(
        cls, loss: OwnLoss, *, response_bounds: tuple[float, float], scale: float = 1.0, **declaration: Any
    ) -> OwnLossRegression:
        """Return a linear model of a numeric response with a loss of your own (`gibbsafe.models.own_loss`).

        Args:
            loss: the loss and its declared constants.
            response_bounds: public ends of the response; what lies outside is clipped to them.
            scale: the public unit of the response.
            declaration: what `LinearModel` takes: dimension, radius, bounds, columns and so on.
        """
        from gibbsafe.models.linear.own_loss import OwnLossRegression

        return OwnLossRegression(own_loss=loss, response_bounds=response_bounds, scale=scale, **declaration)

    @classmethod
    def from_columns(cls, features: Sequence[Column], target: Column | None, options: Document) -> Self:
        """Return the model that a study declares: features by `Design`, the response by the target column."""
        if target is None:
            fail("target", None, f"declared for {cls.name}", "write a [target] table with the name of the response column")
        products = read_interactions(options.get("interactions", ()), features)
        dimension = sum(column.width for column in features) + sum(product.width for product in products)
        if target.charge is not None:
            if target.kind != "number" or target.source != target.name:
                fail("target.charge", target.charge[:40], "left out but for bounds of the table's column of that name")
            options = {**options, "target_charge": target.charge}
        return cls(dimension=dimension, columns=tuple(features), target=target.name, **cls._of_target(target), **options)

    @classmethod
    def _of_target(cls, target: Column) -> JSON:
        """Return what a target column says of the response."""
        if target.kind != "number":
            fail("target", target.name, f"a number for {cls.name}, without labels")
        return {}

    def released_facts(self) -> list[ReleasedFact]:
        """Return which bounds and levels were released, and under which charge."""
        found = [column.released for column in self.columns or ()]
        if self.target_charge is not None:
            found.append(ReleasedFact("bounds", self.target, self.target, self.target_charge))
        return [fact for fact in found if fact is not None]

    # -- geometry ------------------------------------------------------------------------------------------------

    @property
    def domain(self) -> Ball | Box | Design:
        """The declared domain of the features."""
        return self._domain

    @property
    def row_scale(self) -> float:
        """Factor by which encoded rows, intercept included, are brought to norm at most 1 (erratum E3: √(r² + 1))."""
        return 1 / (math.hypot(self.domain.radius, 1.0) if self.intercept else self.domain.radius)

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Features in order, the intercept last."""
        return (*self._named_features(), "intercept") if self.intercept else self._named_features()

    def _named_features(self) -> tuple[str, ...]:
        return self.feature_names or tuple(f"x{k}" for k in range(self.dimension))

    def constants(self, prior_precision: Floats, *, adjacency: Adjacency, n: int | None, rows_per_person: int) -> Constants:
        """Return Lipschitz constants per block (features, intercept), smoothness, and the prior's precisions."""
        slope = self.loss.lipschitz * rows_per_person
        precisions = self._block_precisions(prior_precision)
        differences = self._difference_blocks(precisions)
        public = adjacency == Adjacency.REPLACE_ONE and n is not None
        return Constants(
            lipschitz=tuple(slope * length for _, length in self.row_blocks),
            difference_lipschitz=None if differences is None else tuple(rows_per_person * block for block in differences),
            convex=True,
            smoothness=self.loss.smoothness if math.isfinite(self.loss.smoothness) else None,
            prior_precision=tuple(precisions),
            prior_smoothness=float(prior_precision.max()),
            n=n if public else None,
            maximum_n=n * rows_per_person if public and n is not None and rows_per_person > 1 else None,
            dimension=self.parameters,
        )

    def _block_precisions(self, prior_precision: Floats) -> list[float]:
        """Return the least precision of each of `row_blocks`."""
        return [float(prior_precision[: self.dimension].min())] + ([float(prior_precision[-1])] if self.intercept else [])

    @property
    def row_width(self) -> int:
        """Columns of an encoded row."""
        return self.dimension + self.intercept

    @property
    def row_blocks(self) -> tuple[tuple[int, float], ...]:
        """Features, and the intercept apart."""
        features = (self.dimension, self.domain.radius * self.row_scale)
        return (features, (1, self.row_scale)) if self.intercept else (features,)

    @property
    def row_shape(self) -> RowShape:
        """The domain's, scaled as rows are."""
        domain, scale = self.domain, self.row_scale
        low, high = (end * scale for end in domain.encoded_ends())
        norm = domain.radius * scale
        groups: tuple[tuple[int, int], ...] = ()
        longest = float(np.linalg.norm(np.maximum(np.abs(low), np.abs(high))))
        if isinstance(domain, Design):
            groups, longest = domain.groups(), domain.natural_radius * scale
        return RowShape(low, high, groups, norm, norm < longest * (1 - 1e-9), scale if self.intercept else None)

    @property
    def largest_score(self) -> float:
        """The loss's Lipschitz constant: rows have norm at most 1."""
        return self.loss.lipschitz

    def posterior(self, data: RowBlocks, stage: Stage, centre: Floats) -> GibbsPosterior:
        """Return the posterior of one stage on encoded records."""
        return self._gibbs_posterior(data, stage, centre)

    def _difference_blocks(self, precisions: list[float]) -> tuple[float, ...] | None:
        """Bounds per block on the gradient of a loss difference under whole-row replacement, where they are below 2L.

        A person with k rows may be replaced by one with fewer: k times these bounds cover it if no single row's gradient,
        weighted by the precisions, is above them (a test of every model, `test_census.py`).
        """
        return None

    @property
    def units(self) -> Units:
        """The joint scaling and the affine map of the bounds."""
        scale = self.domain.scale * self.row_scale
        return Units(np.append(scale, self.row_scale), self.domain.offset) if self.intercept else Units(scale)

    @property
    def own_precisions(self) -> Floats | None:
        """Those of groups; 0 for every other parameter."""
        if self.groups is None or not isinstance(self.domain, Design):
            return None
        declared = group_precisions(self.groups, self.domain)
        return self.units.precision_from_original(self._of_parameters(declared))

    def _of_parameters(self, of_features: Floats) -> Floats:
        """Return a number per feature as one per parameter, 0 for what is none's."""
        return np.append(of_features, 0.0) if self.intercept else of_features

    # -- records -------------------------------------------------------------------------------------------------

    @abstractmethod
    def _encode_response(self, response: object, on_invalid: str) -> Floats:
        """Return the response column as numbers."""

    def encode_features(self, features: object, on_invalid: str = "error", storage: str = "float64") -> Floats:
        """Return scaled rows, intercept appended, each of norm at most 1; used for training and prediction alike."""
        matrix = as_matrix(self._design(features, on_invalid), self.dimension, on_invalid=on_invalid)
        replacement = self.domain.replacement() if on_invalid == "replace" else None
        encoded = clip_rows(self.domain.encode(require_finite(matrix, replacement)), self.domain.radius)
        rows = np.empty((len(encoded), self.row_width), dtype=np.dtype(storage))
        rows[:, : self.dimension] = encoded * self.row_scale
        clip_rows(rows[:, : self.dimension], self.domain.radius * self.row_scale)  # again, after conversion to storage
        if self.intercept:
            rows[:, -1] = np.nextafter(np.asarray(self.row_scale, dtype=storage), np.asarray(0, dtype=storage))  # not above
        return rows

    def _design(self, features: object, on_invalid: str) -> object:
        """Return declared columns, from a table or by name, as numbers; an array is the design matrix itself."""
        if not isinstance(self.domain, Design):
            return features
        named = read_columns(features, self.domain.columns) if is_table(features) else features
        return self.domain.read(named, on_invalid) if isinstance(named, Mapping) else named

    @property
    def companion(self) -> Column | None:
        """A second column of the response, beside the target: exposures, flags of events. None for most."""
        return None

    def _check_companion(self, field: str, name: object) -> None:
        """Refuse a companion that is no column of its own."""
        if not isinstance(name, str) or not name or name in (self.target, *(self.feature_names or ())):
            fail(field, name, "the name of a column that is neither a feature nor the target")

    def encode(self, data: object, options: EncodingOptions) -> Blocks:
        """Return the records as blocks; margin losses carry the label in the row."""
        named = (self.target,) if self.companion is None else (self.target, self.companion.name)
        features, response = read_records(data, self.feature_names, named, options.on_invalid, self.columns)
        rows = self.encode_features(features, options.on_invalid, options.storage)
        targets = self._encode_response(response, options.on_invalid)
        if len(targets) != len(rows):
            raise DomainError("X, y: not of the same number of rows", private=f"{len(rows)} rows, {len(targets)} responses")
        if self.loss.margin:
            rows *= targets[:, None].astype(rows.dtype)
            return Blocks(rows)
        return Blocks(rows, targets)

    @abstractmethod
    def _extreme_responses(self) -> tuple[object, ...]:
        """Return the responses at the ends of the declared domain."""

    def corners(self) -> list[object]:
        """Return rows at the clip along the first axis and the diagonal, and the middle, each with every extreme response."""
        axis, diagonal = np.eye(1, self.dimension)[0], np.ones(self.dimension)
        directions = [axis, -axis] + ([diagonal, -diagonal] if self.dimension > 1 else []) + [0 * axis]
        reach = self.domain.radius / self.domain.scale
        rows = [self.domain.offset + direction / max(1.0, float(np.linalg.norm(direction))) * reach for direction in directions]
        return [(row[None], np.array([response])) for row in rows for response in self._extreme_responses()]

    def _declaration(self, **more: object) -> JSON:
        """Return the declaration common to linear models."""
        fields: JSON = {"name": self.name, "dimension": self.dimension}
        if self.columns is not None:
            fields |= {"columns": [column.to_dict() for column in self.columns], "row_norm": self.row_norm}
            fields |= {"interactions": list(self.interactions)} if self.interactions else {}
        elif self.bounds is None:
            fields["radius"] = self.radius
        else:
            fields |= {"bounds": [list(pair) for pair in self.bounds], "row_norm": self.row_norm}
        fields |= {"intercept": self.intercept, "target": self.target}
        fields |= {} if self.target_charge is None else {"target_charge": self.target_charge}
        fields["feature_names"] = None if self.feature_names is None else list(self.feature_names)
        if self.groups is not None:
            fields["groups"] = dict(self.groups)
        return fields | more
