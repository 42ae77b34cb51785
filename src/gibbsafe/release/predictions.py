"""Predictions with intervals: what each draw of the true parameter predicts for a row, and between which ends they lie."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gibbsafe._types import Floats
from gibbsafe._validate import fail, open_probability
from gibbsafe.errors import GibbsafeError
from gibbsafe.models.base import Model
from gibbsafe.models.capabilities import PredictsOutcomes, PredictsProbabilities, PredictsSurvival
from gibbsafe.models.linear.joint import JointModel
from gibbsafe.models.linear.predictor import LinearModel

__all__ = ["PredictionIntervals", "predicted", "survival_curves"]

#: Numbers held at once: rows are taken in pieces.
AT_ONCE = 2**22


@dataclass(frozen=True, eq=False)
class PredictionIntervals:
    """Predictions for new rows, averaged over draws of the true parameter, and the central interval of each.

    The interval is about the expected response (or the probability of a class), not about a single new response.

    Attributes:
        level: the share of draws between the ends.
        prediction: per row, or per row and class.
        lower, upper: the ends, of the same shape; the prediction lies between them.
    """

    level: float
    prediction: Floats
    lower: Floats
    upper: Floats

    @property
    def probability(self) -> Floats:
        """The predictions by their name where they are probabilities: one column per class."""
        return self.prediction


def survival_curves(
    model: Model, features: object, times: object, draws: Floats, level: float | None
) -> Floats | PredictionIntervals:
    """Return the chance of lasting longer than each time (columns) per row, averaged over draws; with a level, intervals too."""
    if not isinstance(model, LinearModel) or not isinstance(model, PredictsSurvival):
        raise GibbsafeError(f"predict_survival: not defined for the model {model.name}")
    share = None if level is None else open_probability("interval", level)
    when = np.atleast_1d(np.asarray(times, dtype=np.float64))
    if when.ndim != 1 or not (np.isfinite(when) & (when >= 0)).all():
        fail("times", "given", "a list of finite numbers, 0 or above")
    rows, scaled = model.encode_features(features), model.from_original(draws).T
    found = np.empty((3, len(rows), len(when)))
    for place, row in enumerate(rows):
        chances = model.survival_at(row @ scaled, when)
        mean = chances.mean(axis=0)
        ends = (mean, mean) if share is None else np.quantile(chances, [(1 - share) / 2, (1 + share) / 2], axis=0)
        found[:, place] = mean, np.minimum(ends[0], mean), np.maximum(ends[1], mean)
    return found[0] if share is None else PredictionIntervals(share, found[0], found[1], found[2])


def predicted(model: Model, features: object, draws: Floats, level: float, what: str) -> PredictionIntervals:
    """Return predictions of a linear model by draws in the user's units, with intervals of the given level."""
    share = open_probability("interval", level)
    if isinstance(model, JointModel) and what == "predict_proba":
        return _of_outcomes(model, features, draws, share)
    classes = isinstance(model, PredictsProbabilities)
    if not isinstance(model, LinearModel) or not isinstance(model, PredictsOutcomes) or classes != (what == "predict_proba"):
        use = "ask predict_proba(rows, interval=...)" if classes else "ask without interval="
        raise GibbsafeError(f"{what}: intervals are not defined for the model {model.name}; {use}")
    rows, scaled = model.encode_features(features), model.from_original(draws).T
    found = np.empty((3, len(rows)))
    step = max(1, AT_ONCE // scaled.shape[1])
    for first in range(0, len(rows), step):
        outcomes = model.expected_outcomes(rows[first : first + step] @ scaled)
        ends = np.quantile(outcomes, [(1 - share) / 2, (1 + share) / 2], axis=1)
        mean = outcomes.mean(axis=1)
        found[:, first : first + step] = mean, np.minimum(ends[0], mean), np.maximum(ends[1], mean)
    middle, lower, upper = found
    if not classes:
        return PredictionIntervals(share, middle, lower, upper)
    columns = ((1 - middle, middle), (1 - upper, lower), (1 - lower, upper))
    return PredictionIntervals(share, *(np.column_stack(pair) for pair in columns))


def _of_outcomes(model: JointModel, features: object, draws: Floats, share: float) -> PredictionIntervals:
    """Return the probability of every outcome, each with its own interval."""
    rows, scaled = model.encode_features(features), model.from_original(draws)
    found = np.empty((3, len(rows), len(model.outcomes)))
    step = max(1, AT_ONCE // (len(scaled) * len(model.outcomes)))
    for first in range(0, len(rows), step):
        chances = model.chances(rows[first : first + step], scaled)
        ends, mean = np.quantile(chances, [(1 - share) / 2, (1 + share) / 2], axis=1), chances.mean(axis=1)
        found[:, first : first + step] = mean, np.minimum(ends[0], mean), np.maximum(ends[1], mean)
    return PredictionIntervals(share, *found)
