"""Regression of times that may be censored: log-logistic with a known scale."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gibbsafe._types import JSON, Floats
from gibbsafe._validate import open_probability, positive
from gibbsafe.domains.column import Column
from gibbsafe.domains.labels import Labels, check_labels
from gibbsafe.losses.base import Loss
from gibbsafe.losses.log_logistic import LogLogisticLoss, packed_times
from gibbsafe.models.base import register
from gibbsafe.models.capabilities import IsLikelihood, Predicts, PredictsOutcomes, PredictsSurvival, Simulates
from gibbsafe.models.linear.predictor import LinearModel
from gibbsafe.models.linear.regressor import admitted, read_response

__all__ = ["SurvivalRegression"]

#: Log times beyond this are moved there before they are exponentiated: e^700 is a number.
LARGEST_LOG = 700.0


@register
@dataclass(frozen=True, kw_only=True)
class SurvivalRegression(LinearModel, IsLikelihood, Predicts, PredictsOutcomes, PredictsSurvival, Simulates):
    """Times until an event, right-censored: log t = xᵀθ + s·(logistic noise), ``scale`` s public. The median time is e^{xᵀθ}.

    The loss is 1/s-Lipschitz and 1/(2s²)-smooth in xᵀθ whatever the time is (`gibbsafe.losses.log_logistic`): **no bound on times
    is needed**. Records are ``(X, y)`` with y of two columns, times and flags, or a table with the columns ``target`` and
    ``event``. ``event_labels`` = (censored, event) are the two values of a flag. Censoring must not tell of the time beyond what
    the features tell. Times that are not above 0 and flags of other values are refused, or read as a time censored at 1. A unit
    of a parameter multiplies times by e; a wrong scale costs sharpness and honest widths, not privacy. See `LinearModel` for the
    rest.

    >>> model = SurvivalRegression(dimension=2, scale=0.5)
    >>> model.loss.lipschitz, model.loss.smoothness
    (2.0, 2.0)
    """

    name = "SurvivalRegression"
    simulates_responses = True
    scale: float = 1.0
    event: str = "event"
    event_labels: tuple[Any, Any] = (0, 1)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "scale", positive("scale", self.scale))
        object.__setattr__(self, "event_labels", check_labels(self.event_labels))
        self._check_companion("event", self.event)

    @property
    def companion(self) -> Column:
        """The flags of events."""
        return Column(self.event, kind="label", levels=self.event_labels)

    @property
    def loss(self) -> Loss:
        """Log-logistic loss of the log median time, measured from its value at 0."""
        return LogLogisticLoss(self.scale)

    def _encode_response(self, response: Any, on_invalid: str) -> Floats:
        replace = on_invalid == "replace"
        times = read_response(response[0], 0.0 if replace else None)
        events = Labels(*self.event_labels).encode(response[1], on_invalid)
        valid = times > 0
        if replace:  # a record that is no time is one that was censored at 1, whatever its flag
            return packed_times(np.where(valid, times, 1.0), np.where(valid, events, -1.0))
        return packed_times(admitted(times, valid, None, f"{self.target}: a time is not above 0"), events)

    def _extreme_responses(self) -> tuple[object, ...]:
        return tuple((time, flag) for time in (1e-6, 1e6) for flag in self.event_labels)

    def expected_outcomes(self, predictors: Floats) -> Floats:
        """Return the median time."""
        return np.asarray(np.exp(np.clip(predictors, -LARGEST_LOG, LARGEST_LOG)))

    def survival_at(self, predictors: Floats, times: Floats) -> Floats:
        """Return P(T > t) = 1/(1 + e^{(log t − u)/s}) for every predictor (last axis: times)."""
        with np.errstate(divide="ignore", over="ignore"):
            odds = np.exp((np.log(times) - np.asarray(predictors)[..., None]) / self.scale)
        return np.asarray(1 / (1 + odds))

    def predict(self, features: object, draws: Floats) -> Floats:
        """Return the median time of each row at the mean of the draws in the user's units."""
        return self.expected_outcomes(self.encode_features(features) @ self.from_original(draws).mean(axis=0))

    def predict_quantile(self, features: object, draws: Floats, share: float) -> Floats:
        """Return the time by which a share of rows like each has had its event: the median for 0.5."""
        p = open_probability("share", share)
        return np.asarray(self.predict(features, draws) * (p / (1 - p)) ** self.scale)

    def simulate(self, draw: Floats, rows: int, generator: np.random.Generator, features: object = None) -> npt.NDArray[Any]:
        """Return a synthetic time for each row of features, none of them censored, beside its flag."""
        u = generator.random(rows)
        with np.errstate(divide="ignore", over="ignore"):
            times = self.predict(features, np.atleast_2d(draw)) * (u / (1 - u)) ** self.scale
        kept = np.clip(times, np.exp(-LARGEST_LOG), np.exp(LARGEST_LOG))
        flags = [self.event_labels[1]] * rows
        return np.column_stack([kept, flags]) if not isinstance(flags[0], str) else np.array([kept, flags], dtype=object).T

    def to_dict(self) -> JSON:
        """Return the declaration as plain data."""
        return self._declaration(scale=self.scale, event=self.event, event_labels=list(self.event_labels))
