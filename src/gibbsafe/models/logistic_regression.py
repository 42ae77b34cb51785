"""Logistic regression."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from gibbsafe.domains import Labels
from gibbsafe.models.classifier import LinearClassifier
from gibbsafe.models.losses import LogisticLoss, Loss
from gibbsafe.models.model import Array, register

__all__ = ["LogisticRegression"]


@register
@dataclass(frozen=True, kw_only=True)
class LogisticRegression(LinearClassifier):
    """Binary outcomes with loss log(1 + exp(−y xᵀθ)): 1-Lipschitz, 1/4-smooth, |f'''| ≤ f'' on rows of norm at most 1.

    ``labels=(a, b)`` are declared, not read from the data; b is the positive class. See `LinearModel` for the rest.

    >>> model = LogisticRegression(dimension=2, radius=1.0)
    >>> model.parameter_names, round(model.row_scale, 6)
    (('x0', 'x1', 'intercept'), 0.707107)
    """

    name = "LogisticRegression"

    @property
    def loss(self) -> Loss:
        """Logistic loss of the margin."""
        return LogisticLoss()

    def predict_proba(self, features: Any, draws: Array) -> Array:
        """Return the probability of (negative, positive) per row, averaged over draws in the user's units."""
        rows = self.encode_features(features)
        positive = expit(rows @ self.from_original(draws).T).mean(axis=1)
        return np.column_stack([1 - positive, positive])

    def simulate(self, draw: Array, rows: int, generator: np.random.Generator, features: Any = None) -> npt.NDArray[Any]:
        """Return a synthetic label for each row of features."""
        chances = self.predict_proba(features, np.atleast_2d(draw))[:, 1]
        return Labels(*self.labels).decode(generator.random(rows) < chances)

    def predict(self, features: Any, draws: Array) -> npt.NDArray[Any]:
        """Return the more probable label per row."""
        return Labels(*self.labels).decode(self.predict_proba(features, draws)[:, 1] > 0.5)
