"""Linear models of a numeric response, whose losses are functions of the residual."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gibbsafe._types import Floats
from gibbsafe.domains.numbers import as_column, require_finite
from gibbsafe.errors import DomainError
from gibbsafe.models.capabilities import Predicts, PredictsOutcomes
from gibbsafe.models.linear.predictor import LinearModel

__all__ = ["LinearRegressor", "admitted", "read_response"]

#: Responses beyond this many units are moved there. Slopes are at their limit long before (to double precision), so only
#: predictors as large would notice, and products in single precision stay finite.
FARTHEST = 2.0**80


@dataclass(frozen=True, kw_only=True)
class LinearRegressor(LinearModel, Predicts, PredictsOutcomes):
    """A loss of the residual y − xᵀθ that is Lipschitz in the residual.

    The gradient in θ is ψ(y − xᵀθ)x with bounded ψ, whatever y is: **no bound on the response is needed**. Any finite number is
    a response; NaN and infinities are outside the domain, refused or replaced by 0. Rows are scaled, responses are not, so scaled
    parameters are in the response's units.
    """

    def _encode_response(self, response: object, on_invalid: str) -> Floats:
        farthest = FARTHEST * self.parameter_scale
        return np.clip(read_response(response, 0.0 if on_invalid == "replace" else None), -farthest, farthest)

    def _extreme_responses(self) -> tuple[object, ...]:
        far = 1e6 * self.parameter_scale
        return -far, far

    def expected_outcomes(self, predictors: Floats) -> Floats:
        """Return the predictors: responses are not scaled."""
        return predictors

    def predict(self, features: object, draws: Floats) -> Floats:
        """Return the predictor of each row, averaged over draws in the user's units."""
        return np.asarray(self.encode_features(features) @ self.from_original(draws).mean(axis=0))


def read_response(response: object, replacement: float | None) -> Floats:
    """Return the response as one column of finite numbers; invalid entries are refused, or replaced by a public value."""
    column = as_column(response, "y", "error" if replacement is None else "replace")
    return require_finite(column[:, None], replacement, "y")[:, 0]


def admitted(values: Floats, valid: npt.NDArray[np.bool_], replacement: float | None, refusal: str) -> Floats:
    """Return values that are valid; others are refused with these words, or replaced by a public value."""
    if replacement is None and not valid.all():
        row = int(np.argmin(valid))
        raise DomainError(f"{refusal}; clean it or use on_invalid='replace'", private=f"row {row} is {values[row]:g}")
    return values if replacement is None else np.where(valid, values, replacement)
