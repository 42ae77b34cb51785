"""Probabilities of events about parameters, and of outcomes not yet seen."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gibbsafe._types import Floats
from gibbsafe._validate import fail
from gibbsafe.errors import GibbsafeError
from gibbsafe.models.capabilities import PredictsProbabilities
from gibbsafe.queries.query import Answer, ErrorBound, Query, Sample

__all__ = ["Event", "PredictiveProbability", "Probability", "indicator", "predictive", "probability", "unit_values"]

Event = Callable[[Sample], npt.ArrayLike] | str
COMPARE = {"<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge}
COMPARISON = re.compile(r"\s*(.+?)\s*(<=|>=|<|>)\s*([-+.\deE]+)\s*")


def indicator(event: Event, sample: Sample) -> npt.NDArray[np.bool_]:
    """Return for every draw whether the event holds; an event is a function of the draws or a text like ``"x0 > 0.5"``."""
    if isinstance(event, str):
        return _compare(event, sample)
    if not callable(event):
        fail("event", event, "a function of the draws, or a text like 'x0 > 0.5'")
    holds = np.asarray(event(sample))
    if holds.dtype != np.bool_ or holds.shape != (sample.draws,):
        fail("event", f"{holds.dtype} of shape {holds.shape}", f"one True or False per draw ({sample.draws})")
    return holds


def _compare(text: str, sample: Sample) -> npt.NDArray[np.bool_]:
    match, form = COMPARISON.fullmatch(text), "a parameter, one of < <= > >=, and a number, like 'x0 > 0.5'"
    if match is None:
        fail("event", text, form)
    name, sign, limit = match.groups()
    try:
        number = float(limit)
    except ValueError:
        fail("event", text, form)
    return np.asarray(COMPARE[sign](sample[name], number))


def unit_values(name: str, values: npt.ArrayLike, shape: tuple[int, ...]) -> Floats:
    """Return values in [0, 1] of the given shape, or refuse them."""
    array = np.asarray(values, dtype=np.float64)
    if array.shape != shape:
        fail(name, f"shape {array.shape}", f"of shape {shape}")
    if not np.isfinite(array).all():
        fail(name, "not finite", "finite numbers in [0, 1]")
    if array.min() < 0 or array.max() > 1:
        fail(name, f"values from {array.min():g} to {array.max():g}", "in [0, 1]", "rescale it")
    return array


@dataclass(frozen=True)
class Probability(Query):
    """The posterior probability of an event about the parameters: the share of draws in it."""

    event: Event

    @property
    def title(self) -> str:
        """The question in words."""
        named = self.event if isinstance(self.event, str) else getattr(self.event, "__name__", "the event")
        return f"posterior probability of {'the event' if named == '<lambda>' else named}"

    def respond(self, sample: Sample, failure: float, questions: int) -> Answer:
        """Return the share of draws, and Hoeffding's bound on its error."""
        share = float(indicator(self.event, sample).mean())
        error = ErrorBound.of_average(sample.draws, failure, questions, "probability off by")
        return Answer(self.title, share, sample.draws, error=error)


@dataclass(frozen=True, eq=False)
class PredictiveProbability(Query):
    """The probability of an outcome not yet seen, averaged over the draws."""

    features: object = None
    chance: Callable[[Sample], npt.ArrayLike] | None = None

    def __post_init__(self) -> None:
        if (self.features is None) == (self.chance is None):
            fail("predictive", "both" if self.features is not None else "neither", "given features or a chance, one of them")

    @property
    def title(self) -> str:
        """The question in words."""
        return "predictive probability"

    def respond(self, sample: Sample, failure: float, questions: int) -> Answer:
        """Return class probabilities per row of features, or the average chance."""
        if self.chance is not None:
            value: object = float(unit_values("chance", self.chance(sample), (sample.draws,)).mean())
            rows = 1
        else:
            if not isinstance(sample.model, PredictsProbabilities):
                raise GibbsafeError(f"predictive: {sample.model.name} has no classes; give chance, a function of the draws")
            value = sample.model.predict_proba(self.features, sample.array)
            rows = len(value)
        error = ErrorBound.of_average(sample.draws, failure, questions * rows, "every probability off by")
        return Answer(self.title, value, sample.draws, error=error)


def probability(event: Event, *, of: str | None = None) -> Probability:
    """Ask for the posterior probability of an event.

    ``event`` is a text like ``"x0 > 0.5"``, or a function of the draws: a mapping from parameter to its column, to one True or
    False per draw, such as ``lambda theta: theta["x0"] > theta["x1"]``.
    """
    return Probability(event, of=of)


def predictive(
    features: object = None, *, chance: Callable[[Sample], npt.ArrayLike] | None = None, of: str | None = None
) -> PredictiveProbability:
    """Ask for the probability of an outcome not yet seen.

    Args:
        features: new rows of a classifier; the answer has one row of class probabilities for each.
        chance: for any model, a function of the draws to the outcome's probability under each, in [0, 1].
        of: ``"draws"`` or ``"population"``; see `Release.answer`.
    """
    return PredictiveProbability(features, chance, of=of)
