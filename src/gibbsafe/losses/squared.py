"""Half the squared residual, Lipschitz only where residuals are bounded."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from gibbsafe._types import AnyFloats
from gibbsafe.losses.base import Loss
from gibbsafe.losses.centred import like_predictor

__all__ = ["SquaredLoss"]


@dataclass(frozen=True)
class SquaredLoss(Loss):
    """f(u, y) = ½(y − u)², 1-smooth, with f‴ = 0; Lipschitz with the largest residual, a bound that the model must declare."""

    largest_residual: float = math.inf
    margin = False
    of_residual = True
    smoothness = 1.0
    self_concordance = 0.0
    quartic_deficit = 0.0
    quartic_excess = 0.0
    quintic_ratio = 0.0

    @property
    def lipschitz(self) -> float:
        """The largest residual."""
        return self.largest_residual

    def value(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:  # noqa: D102
        return np.asarray(0.5 * np.square(like_predictor(u, y) - u))

    def slope(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:  # noqa: D102
        return np.asarray(u - like_predictor(u, y))

    def curvature(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:  # noqa: D102
        return np.ones_like(u)

    def third(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:  # noqa: D102
        return np.zeros_like(u)

    def fourth(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:  # noqa: D102
        return np.zeros_like(u)
