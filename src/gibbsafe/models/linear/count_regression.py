"""Regression of counts: negative binomial with a known dispersion."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gibbsafe._types import JSON, Floats
from gibbsafe._validate import count, positive
from gibbsafe.domains.column import Column
from gibbsafe.losses.base import Loss
from gibbsafe.losses.negative_binomial import NegativeBinomialLoss
from gibbsafe.models.base import register
from gibbsafe.models.capabilities import IsLikelihood, Predicts, PredictsOutcomes, Simulates
from gibbsafe.models.linear.predictor import LinearModel
from gibbsafe.models.linear.regressor import read_response

__all__ = ["CountRegression"]

#: Predictors beyond this are moved there before they are exponentiated: e^700 is a number.
LARGEST_PREDICTOR = 700.0
#: Means above this are simulated as this: no count of the cap's size is so large.
LARGEST_MEAN = 1e12


@register
@dataclass(frozen=True, kw_only=True)
class CountRegression(LinearModel, IsLikelihood, Predicts, PredictsOutcomes, Simulates):
    """Counts y in 0..``cap``, negative binomial with mean e^{xᵀθ} and size ``dispersion`` r (variance μ + μ²/r), both public.

    The loss is max(cap, r)-Lipschitz and (cap + r)/4-smooth in xᵀθ, with |f‴| ≤ f″ (`gibbsafe.losses.negative_binomial`). Every
    unit of the cap costs privacy: choose it near the largest count that matters. Counts above it are clipped, as are negative
    ones to 0; NaN and infinities are refused, or read as 0. See `LinearModel` for the rest.

    >>> model = CountRegression(dimension=2, cap=20, dispersion=4.0)
    >>> model.loss.lipschitz, model.loss.smoothness
    (20, 6.0)
    """

    name = "CountRegression"
    simulates_responses = True
    cap: int
    dispersion: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "cap", count("cap", self.cap))
        object.__setattr__(self, "dispersion", positive("dispersion", self.dispersion))

    @classmethod
    def _of_target(cls, target: Column) -> JSON:
        return {**super()._of_target(target), "cap": math.floor(target.interval.high)}

    @property
    def loss(self) -> Loss:
        """Negative binomial loss of the log mean."""
        return NegativeBinomialLoss(self.cap, self.dispersion)

    def _encode_response(self, response: object, on_invalid: str) -> Floats:
        return np.clip(read_response(response, 0.0 if on_invalid == "replace" else None), 0.0, float(self.cap))

    def _extreme_responses(self) -> tuple[object, ...]:
        return 0.0, float(self.cap)

    def expected_outcomes(self, predictors: Floats) -> Floats:
        """Return the mean count."""
        return np.asarray(np.exp(np.minimum(predictors, LARGEST_PREDICTOR)))

    def predict(self, features: object, draws: Floats) -> Floats:
        """Return the mean count of each row, averaged over draws in the user's units."""
        predictors = self.encode_features(features) @ self.from_original(draws).T
        return np.asarray(self.expected_outcomes(predictors).mean(axis=1))

    def simulate(self, draw: Floats, rows: int, generator: np.random.Generator, features: object = None) -> Floats:
        """Return a synthetic count for each row of features, at most the cap."""
        means = np.minimum(self.predict(features, np.atleast_2d(draw)), LARGEST_MEAN)
        counts = generator.negative_binomial(self.dispersion, self.dispersion / (self.dispersion + means), rows)
        return np.minimum(counts, self.cap).astype(np.float64)

    def to_dict(self) -> JSON:
        """Return the declaration as plain data."""
        return self._declaration(cap=self.cap, dispersion=self.dispersion)
