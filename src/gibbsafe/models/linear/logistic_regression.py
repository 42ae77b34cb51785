"""Logistic regression."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import expit

from gibbsafe._types import Floats, Values
from gibbsafe.domains.labels import Labels
from gibbsafe.losses.base import Loss
from gibbsafe.losses.logistic import LogisticLoss
from gibbsafe.models.base import register
from gibbsafe.models.capabilities import IsLikelihood, PredictsOutcomes, PredictsProbabilities, Simulates
from gibbsafe.models.linear.classifier import LinearClassifier

__all__ = ["LogisticRegression"]


#: The supremum 1.05163398… of σ(x) + cσ(−cx) over x > 0, 0 ≤ c ≤ 1, rounded up.
ONE_FEATURE = 1.0516340


@register
@dataclass(frozen=True, kw_only=True)
class LogisticRegression(LinearClassifier, IsLikelihood, PredictsOutcomes, PredictsProbabilities, Simulates):
    """Binary outcomes with loss log(1 + exp(−y xᵀθ)): 1-Lipschitz, 1/4-smooth, |f'''| ≤ f'' on rows of norm at most 1.

    ``labels=(a, b)`` are declared, not read from the data; b is the positive class. See `LinearModel` for the rest.

    >>> model = LogisticRegression(dimension=2, radius=1.0)
    >>> model.parameter_names, round(model.row_scale, 6)
    (('x0', 'x1', 'intercept'), 0.707107)
    """

    name = "LogisticRegression"
    simulates_responses = True

    @property
    def loss(self) -> Loss:
        """Logistic loss of the margin."""
        return LogisticLoss()

    def _difference_blocks(self, precisions: list[float]) -> tuple[float, ...] | None:
        """One feature and no intercept: `ONE_FEATURE` instead of 2; otherwise 2L, which two opposite rows reach together.

        **Proof.** A record is v = ±z with |v| ≤ 1; its loss log(1 + e^{−vθ}) has the slope −h(v), h(v) = vσ(−vθ). By the
        symmetry (v, θ) → (−v, −θ) let θ = x > 0. For v < 0, −h(v) = |v|σ(|v|x) grows with |v| up to σ(x); for v = c > 0,
        0 ≤ h(c) = cσ(−cx). Equal signs: |h(v) − h(v′)| is at most the larger of them, below 1. Opposite signs: at most
        F = σ(x) + cσ(−cx). With u = cx, cσ(−cx) = (1/x)·u/(1 + e^u), which is largest at u* = 1 + W(1/e) = 1.27846… with the
        value κ/x, κ = W(1/e) = 0.27846…. For x ≤ u* the best c is 1 and F = 1. For x > u* the best F is G(x) := σ(x) + κ/x, and
        x²G′(x) = x²σ(x)σ(−x) − κ, where x²σ(x)σ(−x) = ((x/2)/cosh(x/2))² equals κ at u*, rises until x tanh(x/2) = 2 and falls
        from there on, so G has one maximum: G(4.10…) = 1.05163398…. A person's k rows replaced by k rows change the slope by at
        most k times that, and a row that is added or removed instead by at most 1.
        """
        if self.intercept or self.dimension != 1:
            return None
        return (ONE_FEATURE * self.domain.radius * self.row_scale,)

    def expected_outcomes(self, predictors: Floats) -> Floats:
        """Return the probability of the positive class."""
        return np.asarray(expit(predictors))

    def predict_proba(self, features: object, draws: Floats) -> Floats:
        """Return the probability of (negative, positive) per row, averaged over draws in the user's units."""
        rows = self.encode_features(features)
        positive = self.expected_outcomes(rows @ self.from_original(draws).T).mean(axis=1)
        return np.column_stack([1 - positive, positive])

    def simulate(self, draw: Floats, rows: int, generator: np.random.Generator, features: object = None) -> Values:
        """Return a synthetic label for each row of features."""
        chances = self.predict_proba(features, np.atleast_2d(draw))[:, 1]
        return Labels(*self.labels).decode(generator.random(rows) < chances)

    def predict(self, features: object, draws: Floats) -> Values:
        """Return the more probable label per row."""
        return Labels(*self.labels).decode(self.predict_proba(features, draws)[:, 1] > 0.5)
