"""Linear models of two declared labels, whose losses are functions of the margin."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gibbsafe._validate import fail
from gibbsafe.domains import Labels
from gibbsafe.models.linear import LinearModel
from gibbsafe.models.model import Array

__all__ = ["LinearClassifier", "check_labels"]


def check_labels(labels: Any) -> tuple[Any, Any]:
    """Return the labels as a pair, or refuse them."""
    if not isinstance(labels, tuple | list) or len(labels) != 2:
        fail("labels", labels, "a pair (negative, positive)")
    Labels(*labels)
    return labels[0], labels[1]


@dataclass(frozen=True, kw_only=True)
class LinearClassifier(LinearModel):
    """Binary outcomes: ``labels=(a, b)`` are declared, not read from the data, and b is the positive class."""

    labels: tuple[Any, Any] = (0, 1)

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "labels", check_labels(self.labels))

    def _encode_response(self, response: Any, on_invalid: str) -> Array:
        return Labels(*self.labels).encode(response, on_invalid)

    def predict(self, features: Any, draws: Array) -> npt.NDArray[Any]:
        """Return the label on whose side of 0 the predictor lies, averaged over draws in the user's units."""
        mean = np.asarray(self.encode_features(features) @ self.from_original(draws).mean(axis=0))
        return Labels(*self.labels).decode(mean > 0)

    def to_dict(self) -> dict[str, Any]:
        """Return the declaration as plain data."""
        return self._declaration(labels=list(self.labels))
