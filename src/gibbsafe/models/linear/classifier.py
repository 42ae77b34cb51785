"""Linear models of two declared labels, whose losses are functions of the margin."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gibbsafe._types import JSON, Floats, Values
from gibbsafe._validate import fail
from gibbsafe.domains.column import Column
from gibbsafe.domains.labels import Labels, check_labels
from gibbsafe.models.capabilities import Predicts
from gibbsafe.models.linear.predictor import LinearModel

__all__ = ["LinearClassifier", "labels_of"]


def labels_of(target: Column | None, model: str) -> tuple[object, object]:
    """Return the two labels of a study's target column, the positive one last."""
    if target is None or target.levels is None or len(target.levels) != 2:
        fail(
            "target",
            target and target.name,
            f"declared for {model}",
            "write [target] with name and labels = [negative, positive]",
        )
    return target.levels[0], target.levels[1]


@dataclass(frozen=True, kw_only=True)
class LinearClassifier(LinearModel, Predicts):
    """Binary outcomes: ``labels=(a, b)`` are declared, not read from the data, and b is the positive class."""

    labels: tuple[object, object] = (0, 1)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "labels", check_labels(self.labels))

    @classmethod
    def _of_target(cls, target: Column) -> JSON:
        return {"labels": labels_of(target, cls.name)}

    def _encode_response(self, response: object, on_invalid: str) -> Floats:
        return Labels(*self.labels).encode(response, on_invalid)

    def _extreme_responses(self) -> tuple[object, ...]:
        return self.labels

    def predict(self, features: object, draws: Floats) -> Values:
        """Return the label on whose side of 0 the predictor lies, averaged over draws in the user's units."""
        mean = np.asarray(self.encode_features(features) @ self.from_original(draws).mean(axis=0))
        return Labels(*self.labels).decode(mean > 0)

    def to_dict(self) -> JSON:
        """Return the declaration as plain data."""
        return self._declaration(labels=list(self.labels))
