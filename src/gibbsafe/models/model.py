"""What a model is: public knowledge about records, loss and parameters, and nothing else."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import numpy as np
import numpy.typing as npt

from gibbsafe._validate import choice
from gibbsafe.data.blocks import Blocks
from gibbsafe.data.sources import keep_first_rows
from gibbsafe.errors import DomainError
from gibbsafe.models.losses import Loss
from gibbsafe.privacy import Adjacency
from gibbsafe.samplers.closed_form import NormalPosterior
from gibbsafe.samplers.posterior import GibbsPosterior
from gibbsafe.theorems import Constants, Theorem

if TYPE_CHECKING:
    from gibbsafe.schedules import Request, Stage

__all__ = ["MODELS", "EncodingOptions", "Model", "model_from_dict", "register"]

Array: TypeAlias = npt.NDArray[np.float64]


@dataclass(frozen=True)
class EncodingOptions:
    """How records are read: none of it depends on the records."""

    on_invalid: str = "error"
    storage: str = "float64"
    rows_per_person: int | None = None
    n: int | None = None

    def kept(self, rows: int, persons: npt.NDArray[Any] | None) -> slice | npt.NDArray[np.intp]:
        """Which of this many rows to keep: all, or the first ones of every person; refuse a number that is not the plan's."""
        if self.n is not None and self.n != rows:
            raise DomainError(f"data: {rows} records, but the plan declares n = {self.n}; make a plan for this n")
        return slice(None) if self.rows_per_person is None else keep_first_rows(persons, rows, self.rows_per_person)


class Model(ABC):
    """A family of Gibbs posteriors exp(−β Σ f(xᵢᵀθ, yᵢ)) π(θ) in *scaled* parameters θ.

    In scaled units every encoded row, intercept included, has norm at most 1. `to_original` and `from_original` are the public
    affine maps between scaled parameters and those of the user's units.
    """

    name: ClassVar[str]
    #: Theorems that price an exact draw from this model's posterior.
    theorems: ClassVar[tuple[str, ...]] = ("gaussian-dp", "log-sobolev", "log-sobolev-simple")
    #: Samplers that know this model's posterior, and what to say where none applies.
    samplers: ClassVar[tuple[str, ...]] = ("inverse-cdf", "shell", "langevin")
    sampler_remedy: ClassVar[str] = ""

    @property
    @abstractmethod
    def parameter_names(self) -> tuple[str, ...]:
        """Names of the parameters, in the order of the draws."""

    @property
    @abstractmethod
    def loss(self) -> Loss:
        """The loss of one record as a function of the linear predictor."""

    @abstractmethod
    def constants(self, prior_precision: Array, *, adjacency: Adjacency, n: int | None, rows_per_person: int) -> Constants:
        """Declared constants for a Gaussian prior with these precisions (scaled, one per parameter)."""

    @abstractmethod
    def encode(self, data: Any, options: EncodingOptions, persons: Any = None) -> Blocks:
        """Return clipped, encoded and scaled records; refuse what does not have the declared form."""

    @abstractmethod
    def to_original(self, scaled: Array) -> Array:
        """Return draws (rows) in the user's units."""

    @abstractmethod
    def from_original(self, original: Array) -> Array:
        """Return the inverse of `to_original`."""

    @abstractmethod
    def precision_to_original(self, scaled: Array) -> Array:
        """Return prior precisions per parameter in the user's units."""

    @abstractmethod
    def precision_from_original(self, original: Array) -> Array:
        """Return the inverse of `precision_to_original`."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the declaration as plain data."""

    @property
    def parameters(self) -> int:
        """Number of parameters."""
        return len(self.parameter_names)

    @property
    def parameter_scale(self) -> float:
        """Size of a typical scaled parameter, public: the unit of the default prior radius 3√d."""
        return 1.0

    @property
    def ball(self) -> float | None:
        """Radius of the parameter ball in scaled units, or None where parameters are unbounded."""
        return None

    def default_precision(self, request: Request, theorem: Theorem) -> Array:
        """Return the prior precision (scaled) of a plan that names no prior."""
        return request.shrinkage_rule(theorem)

    def typical_curvature(self, n: int) -> float | None:
        """Curvature of n losses per direction if rows spread evenly and each has half its largest one; None for kinks."""
        smoothness = self.loss.smoothness
        return n * smoothness / 2 / self.parameters if math.isfinite(smoothness) else None

    def posterior(self, data: Blocks, stage: Stage, centre: Array) -> GibbsPosterior | NormalPosterior:
        """Return the posterior of one stage on encoded records."""
        precision = np.array(stage.prior_precision)
        return GibbsPosterior(data, self.loss, stage.inverse_temperature, precision, centre, self.ball)


#: Every model by the name under which plans and studies know it.
MODELS: dict[str, type[Model]] = {}


def register(cls: type[Model]) -> type[Model]:
    """Add a model to the registry."""
    MODELS[cls.name] = cls
    return cls


def model_from_dict(data: Mapping[str, Any]) -> Model:
    """Rebuild a model from `Model.to_dict`'s data."""
    fields = dict(data)
    cls = MODELS[choice("model", fields.pop("name", None), MODELS)]
    return cls(**fields)
