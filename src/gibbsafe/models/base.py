"""What a model is: public knowledge about records, loss and parameters, and nothing else."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from gibbsafe._types import Floats
from gibbsafe._validate import choice
from gibbsafe.data.blocks import Blocks
from gibbsafe.data.options import EncodingOptions
from gibbsafe.errors import CertificateError, GibbsafeError
from gibbsafe.losses.base import Loss
from gibbsafe.posteriors.gibbs import GibbsPosterior
from gibbsafe.posteriors.normal import NormalPosterior
from gibbsafe.posteriors.stage import Stage
from gibbsafe.privacy import Adjacency
from gibbsafe.theorems import Constants

__all__ = ["MODELS", "GibbsModel", "Model", "model_from_dict", "register", "require_size"]


class Model(ABC):
    """What is public about records, likelihood and prior: the base of every model.

    `GibbsModel` adds a loss of a linear predictor with a Gaussian prior that the plan sets; `gibbsafe.models.families` have a
    likelihood whose prior is part of the declaration. Draws are made in *scaled* parameters; `to_original` and `from_original`
    are the public affine maps to and from the user's units (the identity unless a model says otherwise).
    """

    name: ClassVar[str]
    #: Theorems that price an exact draw from this model's posterior.
    theorems: ClassVar[tuple[str, ...]]
    #: Samplers that know this model's posterior, and what to say where none applies.
    samplers: ClassVar[tuple[str, ...]]
    sampler_remedy: ClassVar[str] = ""
    #: Whether its posterior counts weighted rows, so that identical records may be merged before the passes of a sampler.
    counts_weights: ClassVar[bool] = False
    #: Whether −loss is the log-likelihood of records, so that data noise follows from the curvature (`gibbsafe.population`).
    #: Every model declares it; what does not is treated as a mere loss, whose intervals are wider. `simulate` decides nothing.
    is_likelihood: ClassVar[bool] = False
    #: Whether the prior is part of the declaration, so that a plan sets the temperature alone.
    declares_prior: ClassVar[bool] = False
    #: When the standard deviation of `typical_sd` is to be expected.
    typical_case: ClassVar[str] = "if records are ordinary"

    @property
    @abstractmethod
    def parameter_names(self) -> tuple[str, ...]:
        """Names of the parameters, in the order of the draws."""

    @abstractmethod
    def constants(self, prior_precision: Floats, *, adjacency: Adjacency, n: int | None, rows_per_person: int) -> Constants:
        """Declared constants; of a `GibbsModel` under a Gaussian prior with these precisions (scaled, one per parameter)."""

    @abstractmethod
    def encode(self, data: Any, options: EncodingOptions) -> Blocks:
        """Return clipped, encoded and scaled records, one row each and in their order; refuse what has not the declared form."""

    @abstractmethod
    def posterior(self, data: Blocks, stage: Stage, centre: Floats) -> Any:
        """Return the posterior of one stage on encoded records, for the sampler."""

    @abstractmethod
    def grid(self, stages: tuple[Stage, ...]) -> float:
        """Return the public rounding grid of the draws: a power of two, fine against noise and coarse against float error."""

    @abstractmethod
    def describe_prior(self, stage: Stage) -> dict[str, Any]:
        """Return the prior as a certificate states it."""

    @abstractmethod
    def to_dict(self) -> dict[str, Any]:
        """Return the declaration as plain data."""

    @property
    def parameters(self) -> int:
        """Number of parameters."""
        return len(self.parameter_names)

    @property
    def trimmed(self) -> bool:
        """Whether the parameters keep to a public set, so that samplers have to respect it."""
        return False

    def default_radius(self) -> float | None:
        """Return the prior radius of a plan that names none; None for a model that has no use for one."""
        return None

    def declared(self, constants: Constants, adjacency: Adjacency) -> dict[str, Any]:
        """Return the constants that a certificate states."""
        stated = {field: value for field, value in asdict(constants).items() if value is not None}
        stated |= {field: list(value) for field, value in stated.items() if isinstance(value, tuple)}
        return stated | {"units": "the user's"}

    def typical_sd(self, n: int, stage: Stage) -> float | None:
        """Return the standard deviation of a draw to be expected (scaled units) with n records; None if nobody can say."""
        return None

    # -- the user's units ----------------------------------------------------------------------------------------

    def to_original(self, scaled: Floats) -> Floats:
        """Return draws (rows) in the user's units."""
        return np.array(np.atleast_2d(scaled), dtype=np.float64)

    def from_original(self, original: Floats) -> Floats:
        """Return the inverse of `to_original`."""
        return np.array(np.atleast_2d(np.asarray(original, dtype=np.float64)))

    def reach(self, draws: Floats) -> Floats:
        """Return, term by term, how large the sums in `from_original` grow: a bound for its rounding."""
        return np.abs(draws)

    def outside(self, draws: Floats, grid: float) -> str | None:
        """Return why some of these draws (user's units, rounded to the grid) cannot be of this model; None if all can."""
        return None

    # -- what some models can do besides -------------------------------------------------------------------------

    def corners(self) -> list[Any]:
        """Return extreme records of the declared domain, each a data set of one record in the form that the model reads."""
        raise GibbsafeError(f"corners: {self.name} does not list extreme records")

    def simulate(self, draw: Floats, rows: int, generator: np.random.Generator, features: Any = None) -> npt.NDArray[Any]:
        """Return synthetic records from one draw (user's units)."""
        raise GibbsafeError(f"simulate: {self.name} is not a distribution of records")

    @classmethod
    def from_columns(cls, features: Sequence[Any], target: Any, options: Mapping[str, Any]) -> Model:
        """Return the model that a study's columns and options declare."""
        raise GibbsafeError(f"model {cls.name}: cannot be declared by columns")


class GibbsModel(Model):
    """A family of Gibbs posteriors exp(−β Σ f(xᵢᵀθ, yᵢ)) π(θ) in *scaled* parameters θ, π Gaussian.

    In scaled units every encoded row, intercept included, has norm at most 1.
    """

    theorems: ClassVar[tuple[str, ...]] = ("gaussian-dp", "log-sobolev", "log-sobolev-simple")
    samplers: ClassVar[tuple[str, ...]] = ("inverse-cdf", "shell", "proximal", "langevin")
    counts_weights = True
    typical_case = "if rows spread evenly over all directions"

    @property
    @abstractmethod
    def loss(self) -> Loss:
        """The loss of one record as a function of the linear predictor."""

    def precision_to_original(self, scaled: Floats) -> Floats:
        """Return prior precisions per parameter in the user's units."""
        return np.asarray(scaled)

    def precision_from_original(self, original: Floats) -> Floats:
        """Return the inverse of `precision_to_original`."""
        return np.asarray(original)

    @property
    def parameter_scale(self) -> float:
        """Size of a typical scaled parameter, public: the unit of the default prior radius 3√d."""
        return 1.0

    @property
    def ball(self) -> float | None:
        """Radius of the parameter ball in scaled units, or None where parameters are unbounded."""
        return None

    def row_reach(self, prior_precision: Floats) -> float:
        """Return the largest Σ_j z_j²/m_j of an encoded row (scaled): how far rows reach in units of the prior."""
        metric = prior_precision if self.ball is None else prior_precision.min()
        return 1 / float(np.min(metric))

    def default_radius(self) -> float:
        """Return D = 3√d in units of `parameter_scale`."""
        return 3 * math.sqrt(self.parameters) * self.parameter_scale

    def default_precision(self) -> Floats | None:
        """Return the prior precision (scaled) of a plan that names no prior; None leaves it to the rule for linear models."""
        return None

    def typical_curvature(self, n: int) -> float | None:
        """Curvature of n losses per direction if rows spread evenly and each has half its largest one; None for kinks."""
        smoothness = self.loss.smoothness
        return n * smoothness / 2 / self.parameters if math.isfinite(smoothness) else None

    def typical_sd(self, n: int, stage: Stage) -> float | None:
        """Return 1/√(β curvature + prior precision)."""
        curvature = self.typical_curvature(n)
        if curvature is None:
            return None
        return 1 / math.sqrt(stage.inverse_temperature * curvature + max(stage.prior_precision))

    def posterior(self, data: Blocks, stage: Stage, centre: Floats) -> GibbsPosterior | NormalPosterior:
        """Return the posterior of one stage on encoded records."""
        precision = np.array(stage.prior_precision)
        return GibbsPosterior(data, self.loss, stage.inverse_temperature, precision, centre, self.ball)

    def grid(self, stages: tuple[Stage, ...]) -> float:
        """Return the power of two below 2⁻³⁰ standard deviations of the tightest prior (scaled units)."""
        return 2.0 ** math.floor(-30 - 0.5 * math.log2(max(max(stage.prior_precision) for stage in stages)))

    def describe_prior(self, stage: Stage) -> dict[str, Any]:
        """Return the normal prior, its precision in the user's units."""
        precision = self.precision_to_original(np.array(stage.prior_precision))
        equal = np.allclose(precision, precision[0], rtol=1e-12)
        return {"family": "normal", "precision": precision[:1].tolist() if equal else precision.tolist()}

    def declared(self, constants: Constants, adjacency: Adjacency) -> dict[str, Any]:
        """Return Lipschitz constants, smoothness and self-concordance."""
        ratio = self.loss.self_concordance
        return {
            "lipschitz": list(constants.lipschitz or ()),  # type: ignore[arg-type]
            "difference_lipschitz": list(constants.gap_blocks(adjacency)) if constants.lipschitz else [],
            "record_radius": constants.record_radius,
            "parameter_ball": self.ball,
            "smoothness": constants.smoothness,
            "self_concordance": ratio if math.isfinite(ratio) else None,
            "units": "scaled: encoded rows, intercept included, have norm at most 1",
        }

    def reach(self, draws: Floats) -> Floats:
        """Return Σ_j |terms| of the affine map from the user's units, here one factor per parameter and a constant."""
        base = self.from_original(np.zeros((1, draws.shape[1])))
        return np.asarray(np.abs(self.from_original(draws) - base) + np.abs(base))

    def outside(self, draws: Floats, grid: float) -> str | None:
        """Return that a draw lies outside the parameter ball, if there is one."""
        if self.ball is None:
            return None
        norms = np.linalg.norm(self.from_original(draws), axis=1)
        room = self.ball * 1e-9 + grid * math.sqrt(self.parameters)
        return "a draw is outside the parameter ball" if (norms > self.ball + room).any() else None


#: Every model by the name under which plans and studies know it.
MODELS: dict[str, type[Model]] = {}


def register(cls: type[Model]) -> type[Model]:
    """Add a model to the registry."""
    MODELS[cls.name] = cls
    return cls


def require_size(fields: Mapping[str, Any], parameters: int) -> None:
    """Refuse a declaration of more than this many parameters before anything of that size is made.

    Every model has at least as many parameters as its ``dimension``; states and points stand in the file one by one.
    """
    dimension = fields.get("dimension")
    if isinstance(dimension, int) and dimension > parameters:
        raise CertificateError(f"dimension = {str(dimension)[:20]}: there is room for {parameters} parameters")


def model_from_dict(data: Mapping[str, Any]) -> Model:
    """Rebuild a model from `Model.to_dict`'s data."""
    fields = dict(data)
    cls = MODELS[choice("model", fields.pop("name", None), MODELS)]
    return cls(**fields)
