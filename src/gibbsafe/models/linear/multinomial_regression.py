"""Multinomial logistic regression of declared classes."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from gibbsafe._types import JSON, Floats
from gibbsafe.domains.column import Column
from gibbsafe.losses.softmax import SoftmaxLoss
from gibbsafe.models.base import register
from gibbsafe.models.linear.joint import JointModel
from gibbsafe.models.units import Units

__all__ = ["ClassUnits", "MultinomialRegression"]


@dataclass(frozen=True, eq=False)
class ClassUnits(Units):
    """The units of one class's coefficients, for each class but the first: log odds against the first in the user's units.

    Scaled parameters are those of `SoftmaxLoss`: predictors v, of which log odds against class 0 are v_k + aΣv with
    a = (√K − 1)/(K − 1). A precision is per predictor: that of scores which sum to 0, not of their differences.
    """

    one: Units = field(default_factory=Units)
    classes: int = 3

    @property
    def _mixed(self) -> float:
        return (math.sqrt(self.classes) - 1) / (self.classes - 1)

    def _apart(self, draws: Floats) -> Floats:
        """Return (draws × classes, width)."""
        return np.asarray(draws.reshape(-1, draws.shape[1] // (self.classes - 1)))

    def to_original(self, scaled: Floats) -> Floats:
        """Return draws (rows) in the user's units."""
        draws = np.array(np.atleast_2d(scaled), dtype=np.float64)
        by_class = self.one.to_original(self._apart(draws)).reshape(len(draws), self.classes - 1, -1)
        return np.asarray((by_class + self._mixed * by_class.sum(axis=1, keepdims=True)).reshape(draws.shape))

    def from_original(self, original: Floats) -> Floats:
        """Return the inverse of `to_original`: (I + a11ᵀ)⁻¹ = I − (a/√K)11ᵀ."""
        draws = np.array(np.atleast_2d(original), dtype=np.float64)
        by_class = draws.reshape(len(draws), self.classes - 1, -1)
        alone = by_class - self._mixed / math.sqrt(self.classes) * by_class.sum(axis=1, keepdims=True)
        return np.asarray(self.one.from_original(self._apart(alone.reshape(draws.shape))).reshape(draws.shape))

    def reach(self, draws: Floats) -> Floats:
        """Return, term by term, how large the sums in `from_original` grow."""
        size = np.abs(draws).reshape(len(draws), self.classes - 1, -1)
        grown = size + self._mixed / math.sqrt(self.classes) * size.sum(axis=1, keepdims=True)
        return np.asarray(self.one.reach(self._apart(grown.reshape(draws.shape))).reshape(draws.shape))

    def precision_to_original(self, scaled: Floats) -> Floats:
        """Return prior precisions in the user's units, class by class."""
        return np.asarray(np.concatenate([self.one.precision_to_original(each) for each in self._split(scaled)]))

    def precision_from_original(self, original: Floats) -> Floats:
        """Return the inverse of `precision_to_original`."""
        return np.asarray(np.concatenate([self.one.precision_from_original(each) for each in self._split(original)]))

    def _split(self, values: Floats) -> list[Floats]:
        return np.split(values, self.classes - 1)


@register
@dataclass(frozen=True, kw_only=True)
class MultinomialRegression(JointModel):
    """One of K ≥ 3 declared ``classes`` with probabilities that are the softmax of K linear scores.

    Parameters are the log odds of each class but the first against the first, class after class: features in order, then the
    intercept. Inside, scores sum to 0 and no class is preferred (`gibbsafe.losses.softmax`): with rows of norm at most 1 the loss
    is √2-Lipschitz and ½-smooth in all parameters together. A class that is not declared is refused, or read as the first. For
    two classes use `LogisticRegression`. See `JointModel` for how it is drawn, and `LinearModel` for the rest.

    >>> model = MultinomialRegression(dimension=1, classes=("bus", "car", "train"))
    >>> model.parameter_names
    ('car: x0', 'car: intercept', 'train: x0', 'train: intercept')
    """

    name = "MultinomialRegression"
    classes: tuple[object, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        instead = "use LogisticRegression for two"
        object.__setattr__(self, "classes", self._check_outcomes("classes", self.classes, instead))

    @classmethod
    def _of_target(cls, target: Column) -> JSON:
        return {"classes": cls._levels_of(target, instead="for two use LogisticRegression")}

    @property
    def outcomes(self) -> tuple[object, ...]:
        """The classes."""
        return self.classes

    @property
    def loss(self) -> SoftmaxLoss:
        """Softmax loss."""
        return SoftmaxLoss(len(self.classes))

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """Class after class, the first left out: features in order, the intercept last."""
        one = super().parameter_names
        return tuple(f"{each}: {name}" for each in self.classes[1:] for name in one)

    @property
    def units(self) -> ClassUnits:
        """Those of a linear model, for differences from the first class."""
        return ClassUnits(one=super().units, classes=len(self.classes))

    def _of_parameters(self, of_features: Floats) -> Floats:
        return np.tile(super()._of_parameters(of_features), len(self.classes) - 1)

    def chances(self, rows: Floats, draws: Floats) -> Floats:
        """Return the softmax of the scores."""
        return np.asarray(self.loss.probabilities(self.loss.predicted(rows, draws)))

    def to_dict(self) -> JSON:
        """Return the declaration as plain data."""
        return self._declaration(classes=list(self.classes))
