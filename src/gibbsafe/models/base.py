"""What a model is: public knowledge about records, loss and parameters, and nothing else."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import ClassVar, TypeVar, get_type_hints

import numpy as np

from gibbsafe._types import JSON, Document, Floats
from gibbsafe._validate import choice
from gibbsafe.data.blocks import Blocks, RowBlocks
from gibbsafe.data.options import EncodingOptions
from gibbsafe.errors import CertificateError, GibbsafeError
from gibbsafe.losses.base import Loss
from gibbsafe.losses.bregman import has_bregman
from gibbsafe.models.capabilities import HoldsCode, check_capabilities
from gibbsafe.models.units import Units
from gibbsafe.posteriors.gibbs import GibbsPosterior
from gibbsafe.posteriors.protocols import Posterior
from gibbsafe.posteriors.stage import Stage
from gibbsafe.privacy import Adjacency
from gibbsafe.samplers.registry import SAMPLERS, Shape
from gibbsafe.theorems import Constants, Kind

__all__ = ["MODELS", "OWN_MODELS", "GibbsModel", "Model", "model_from_dict", "posterior_type", "register", "require_size"]


class Model(ABC):
    """What is public about records, likelihood and prior, and nothing else: the base of every model.

    A model states facts: its domain (`encode`), its loss or likelihood (`posterior`), `constants`, and by its `kind` whether the
    plan chooses the prior (`GibbsModel`) or the declaration holds it (`gibbsafe.models.families`). What follows from facts is
    decided in `gibbsafe.planning`; what only some models can do is a capability (`gibbsafe.models.capabilities`). Draws are made
    in *scaled* parameters; `units` is the public affine map to the user's.
    """

    name: ClassVar[str]
    #: Which theorems may price it, and who sets its prior.
    kind: ClassVar[Kind]

    @property
    @abstractmethod
    def parameter_names(self) -> tuple[str, ...]:
        """Names of the parameters, in the order of the draws."""

    @abstractmethod
    def constants(self, prior_precision: Floats, *, adjacency: Adjacency, n: int | None, rows_per_person: int) -> Constants:
        """Declared constants; of a `GibbsModel` under a Gaussian prior with these precisions (scaled, one per parameter)."""

    @abstractmethod
    def encode(self, data: object, options: EncodingOptions) -> Blocks:
        """Return clipped, encoded and scaled records, one row each and in their order; refuse what has not the declared form."""

    @abstractmethod
    def posterior(self, data: RowBlocks, stage: Stage, centre: Floats) -> Posterior:
        """Return the posterior of one stage on encoded records, for the sampler."""

    @abstractmethod
    def to_dict(self) -> JSON:
        """Return the declaration as plain data."""

    @abstractmethod
    def _shape(self) -> Shape:
        """Return what is public about the posterior that samplers go by."""

    @property
    def parameters(self) -> int:
        """Number of parameters."""
        return len(self.parameter_names)

    @property
    def samplers(self) -> tuple[str, ...]:
        """Samplers that draw from its posterior, in the order of preference."""
        return tuple(sampler.name for sampler in SAMPLERS.values() if sampler.draws_from(self._shape()))

    @property
    def units(self) -> Units:
        """The map from scaled parameters to the user's units: the identity unless a model says otherwise."""
        return Units()

    def to_original(self, scaled: Floats) -> Floats:
        """Return draws (rows) in the user's units."""
        return self.units.to_original(scaled)

    def from_original(self, original: Floats) -> Floats:
        """Return the inverse of `to_original`."""
        return self.units.from_original(original)

    def outside(self, draws: Floats, grid: float) -> str | None:
        """Return why some of these draws (user's units, rounded to the grid) cannot be of this model; None if all can."""
        return None


class GibbsModel(Model):
    """A family of Gibbs posteriors exp(−β Σ f(xᵢᵀθ, yᵢ)) π(θ) in *scaled* parameters θ, π Gaussian and chosen by the plan.

    In scaled units every encoded row, intercept included, has norm at most 1.
    """

    kind = Kind.GIBBS

    @property
    @abstractmethod
    def loss(self) -> Loss:
        """The loss of one record as a function of the linear predictor."""

    @property
    def parameter_scale(self) -> float:
        """Size of a typical scaled parameter, public: the unit of the default prior radius 3√d."""
        return 1.0

    @property
    def ball(self) -> float | None:
        """Radius of the parameter ball in scaled units, or None where parameters are unbounded."""
        return None

    @property
    def own_precisions(self) -> Floats | None:
        """Precisions of parameters whose prior is declared (scaled), 0 for the others; None where none is."""
        return None

    @property
    def row_blocks(self) -> tuple[tuple[int, float], ...]:
        """How many columns of an encoded row are bounded together, and by which norm (scaled), block by block."""
        return ((self.parameters, 1.0),)

    def _shape(self) -> Shape:
        loss = self.loss
        drawn, bends = posterior_type(type(self)), (loss.smoothness, loss.self_concordance)
        return Shape(drawn, self.parameters, self.ball is not None, *bends, loss.predictors, has_bregman(loss))

    def _gibbs_posterior(self, data: RowBlocks, stage: Stage, centre: Floats) -> GibbsPosterior:
        precision = np.array(stage.prior_precision)
        return GibbsPosterior(data, self.loss, stage.inverse_temperature, precision, centre, self.ball)

    def outside(self, draws: Floats, grid: float) -> str | None:
        """Return that a draw lies outside the parameter ball, if there is one."""
        if self.ball is None:
            return None
        norms = np.linalg.norm(self.from_original(draws), axis=1)
        room = self.ball * 1e-9 + grid * math.sqrt(self.parameters)
        return "a draw is outside the parameter ball" if (norms > self.ball + room).any() else None


def posterior_type(cls: type[Model]) -> type[Posterior]:
    """Return the type of posterior that a model's `posterior` says it returns: what samplers go by."""
    try:
        drawn = get_type_hints(cls.posterior).get("return")
    except NameError:
        drawn = None
    if not isinstance(drawn, type) or not issubclass(drawn, Posterior):
        raise GibbsafeError(f"{cls.__name__}.posterior: does not say which type of posterior it returns; annotate it")
    return drawn


M = TypeVar("M", bound=Model)
#: Every model by the name under which plans and studies know it.
MODELS: dict[str, type[Model]] = {}
#: Those that hold code of the user's: no study declares them, and a file rebuilds what they declare without that code.
OWN_MODELS: dict[str, type[Model]] = {}


def register(cls: type[M]) -> type[M]:
    """Add a model to the registry; one that cannot do what it declares, or that no sampler draws from, is refused."""
    check_capabilities(cls)
    drawn = posterior_type(cls)
    if not any(issubclass(drawn, sampler.posterior) for sampler in SAMPLERS.values()):
        raise GibbsafeError(f"{cls.__name__}: no sampler draws from its posterior, a {drawn.__name__}")
    (OWN_MODELS if issubclass(cls, HoldsCode) else MODELS)[cls.name] = cls
    return cls


def require_size(fields: Document, parameters: int) -> None:
    """Refuse a declaration of more than this many parameters before anything of that size is made.

    Every model has at least as many parameters as its ``dimension``; states and points stand in the file one by one.
    """
    dimension = fields.get("dimension")
    if isinstance(dimension, int) and dimension > parameters:
        raise CertificateError(f"dimension = {str(dimension)[:20]}: there is room for {parameters} parameters")


def model_from_dict(data: Document) -> Model:
    """Rebuild a model from `Model.to_dict`'s data."""
    fields = dict(data)
    known = MODELS | OWN_MODELS
    cls = known[choice("model", fields.pop("name", None), known)]
    return cls(**fields)
