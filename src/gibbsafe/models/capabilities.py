"""What some models can do besides: each capability is a class that a model derives from, and deriving is the declaration.

Nobody looks whether a method exists or is overridden: `isinstance(model, Simulates)` asks what was declared. `register` refuses a
model that declares a capability without its methods, with methods of another form, or that has them undeclared.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from types import FunctionType
from typing import ClassVar, Self

import numpy as np

from gibbsafe._types import Document, Floats, Indices, Values
from gibbsafe.domains.column import Column
from gibbsafe.domains.row_shape import RowShape
from gibbsafe.errors import GibbsafeError

__all__ = [
    "BoundedScores",
    "Capability",
    "CountsRecords",
    "HasCorners",
    "HoldsCode",
    "IsLikelihood",
    "LipschitzParameters",
    "Predicts",
    "PredictsOutcomes",
    "PredictsProbabilities",
    "PredictsSurvival",
    "ReadsColumns",
    "Simulates",
    "StatesLean",
    "StatesRows",
    "StatesSpread",
    "check_capabilities",
]


class Capability(ABC):  # noqa: B024 - its subclasses have the methods
    """What a model may declare that it can do."""


class Predicts(Capability):
    """Predictions for new rows."""

    @abstractmethod
    def predict(self, features: object, draws: Floats) -> Values:
        """Return a prediction per row, averaged over draws in the user's units."""


class PredictsOutcomes(Capability):
    """What a linear predictor stands for: a number, or the probability of the positive class, that grows with it."""

    @abstractmethod
    def expected_outcomes(self, predictors: Floats) -> Floats:
        """Return the outcome of each scaled predictor, whatever the shape."""


class PredictsProbabilities(Capability):
    """Probabilities of classes for new rows."""

    @abstractmethod
    def predict_proba(self, features: object, draws: Floats) -> Floats:
        """Return the probability of each class per row, averaged over draws in the user's units."""


class PredictsSurvival(Capability):
    """The chance that something has not happened yet, by time."""

    @abstractmethod
    def survival_at(self, predictors: Floats, times: Floats) -> Floats:
        """Return the chance of lasting longer than each time (last axis) for every scaled predictor."""


class Simulates(Capability):
    """Synthetic records."""

    #: Whether a record is simulated for given features.
    simulates_responses: ClassVar[bool] = False

    @abstractmethod
    def simulate(self, draw: Floats, rows: int, generator: np.random.Generator, features: object = None) -> Values:
        """Return synthetic records from one draw (user's units)."""


class HasCorners(Capability):
    """Extreme records of the declared domain, for audits and as a public record."""

    @abstractmethod
    def corners(self) -> list[object]:
        """Return extreme records, each a data set of one record in the form that the model reads."""


class ReadsColumns(Capability):
    """A declaration by the columns of a study file."""

    @classmethod
    @abstractmethod
    def from_columns(cls, features: Sequence[Column], target: Column | None, options: Document) -> Self:
        """Return the model that a study's columns and options declare."""


class IsLikelihood(Capability):
    """−loss is the log-likelihood of records, so that data noise follows from the curvature (`gibbsafe.population`)."""

    @property
    def largest_dispersion(self) -> float:
        """How many times as noisy as the likelihood says records can be, by the declared bounds; 1 where it says it all."""
        return 1.0

    def follows(self, dispersion: float | None) -> str:
        """Return what is assumed of records, with a dispersion of the user's or the declared one."""
        extra = "" if dispersion in (None, 1.0) else f", with {dispersion:g} times its variance"
        return f"records are independent and follow the declared likelihood{extra}"


class CountsRecords(Capability):
    """What is drawn are counts of records in cells, each with noise of the law e^{−β|e|}, whatever the data."""

    @property
    @abstractmethod
    def states_of_columns(self) -> Mapping[str, tuple[object, ...]]:
        """The states of every column, whose combinations are the cells, the last column running fastest."""

    @abstractmethod
    def select_cells(self, where: Mapping[str, object]) -> Indices:
        """Return the cells of a mapping from column to a state or several."""


class BoundedScores(Capability):
    """The gradient of one record's loss is bounded, whatever the record and the parameter."""

    @property
    @abstractmethod
    def largest_score(self) -> float:
        """The largest norm (scaled units): of the whole gradient of a `GibbsModel`, in each coordinate of a family's."""


class HoldsCode(Capability):
    """Code of the user's, whose constants the user declares. Files hold the declaration; prices need no more."""

    @abstractmethod
    def require_code(self) -> None:
        """Refuse, in one line, to be carried out where the code is not there: before anything is charged."""

    @property
    @abstractmethod
    def declared_by_user(self) -> tuple[str, ...]:
        """What the user asserts, sentence by sentence, and how much effort did not refute it."""


class StatesRows(Capability):
    """What is public about encoded rows, from which rows like the data's can be made (`gibbsafe.samplers.pseudo_rows`)."""

    @property
    @abstractmethod
    def row_shape(self) -> RowShape:
        """Bounds, categories and the constant column, in scaled units."""


class StatesSpread(Capability):
    """How far draws spread for ordinary records."""

    #: Which records are ordinary.
    typical_case: ClassVar[str]

    @abstractmethod
    def typical_sd(self, n: int, inverse_temperature: float) -> float:
        """Return the standard deviation of a draw (scaled units) to be expected with n records under the declared prior."""


class StatesLean(Capability):
    """How far the posterior mean of a skewed likelihood leans from its maximum."""

    @abstractmethod
    def lean(self, draws: Floats) -> Floats:
        """Return J at each draw, with which the covariance of draws and J is that lean (`gibbsafe.population.family`)."""


class LipschitzParameters(Capability):
    """The parameters at which the likelihood is Lipschitz in the data, and their prior mass (Dimitrakakis et al. 2017)."""

    @abstractmethod
    def lipschitz_at(self, thetas: Floats) -> Floats:
        """Return ℓ(θ), the Lipschitz constant of x ↦ log p_θ(x) under the metric, for each row of ``thetas``."""

    @abstractmethod
    def prior_mass_below(self, lipschitz: float) -> float:
        """Return ξ(Θ_L), the prior mass of the parameters with ℓ(θ) ≤ L (a lower bound)."""


# -- checked when a model registers ------------------------------------------------------------------------------------


def check_capabilities(cls: type[ABC]) -> None:
    """Refuse a class that cannot do what it declares, or does not declare what it can do."""
    for capability in Capability.__subclasses__():
        for name in (*capability.__annotations__, *vars(capability)):
            if name.startswith("_"):
                continue
            if not issubclass(cls, capability) and name in dir(cls):
                raise GibbsafeError(f"{cls.__name__}: has {name}, but does not declare {capability.__name__}")
            if issubclass(cls, capability):
                _check_member(cls, capability, name)
    if cls.__abstractmethods__:
        raise GibbsafeError(f"{cls.__name__}: is a model without {', '.join(sorted(cls.__abstractmethods__))}")


def _check_member(cls: type[ABC], capability: type[Capability], name: str) -> None:
    """Refuse a member that is missing, or that is not called as the capability calls it."""
    if name in cls.__abstractmethods__ or name not in dir(cls):
        raise GibbsafeError(f"{cls.__name__}: declares {capability.__name__} without {name}")
    found, declared = getattr(cls, name), vars(capability).get(name)
    if callable(found) != isinstance(declared, FunctionType | classmethod):
        raise GibbsafeError(f"{cls.__name__}.{name}: a method where {capability.__name__} has a value, or the other way round")
    if callable(found):
        ours, asked = list(inspect.signature(found).parameters.values()), inspect.signature(getattr(capability, name)).parameters
        more = ours[len(asked) :]
        if [each.name for each in ours[: len(asked)]] != list(asked) or any(each.default is each.empty for each in more):
            arguments = ", ".join(asked)
            raise GibbsafeError(f"{cls.__name__}.{name}: not called as {capability.__name__} calls it, {name}({arguments})")
