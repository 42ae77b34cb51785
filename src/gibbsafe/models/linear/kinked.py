"""The hinge and pinball losses themselves: priced in any dimension, drawn exactly in one."""

from __future__ import annotations

from dataclasses import dataclass

from gibbsafe.losses.base import Loss
from gibbsafe.losses.kinked import HingeLoss, PinballLoss
from gibbsafe.models.base import register
from gibbsafe.models.linear.classifier import LinearClassifier
from gibbsafe.models.linear.soft_quantile_regression import LinearQuantileModel

__all__ = ["Hinge", "QuantileRegression"]


@register
@dataclass(frozen=True, kw_only=True)
class Hinge(LinearClassifier):
    """Binary outcomes with loss max(0, 1 − y xᵀθ), 1-Lipschitz with a kink. One feature and no intercept; else use `SoftHinge`.

    The gradient of a loss difference is at most 2 under replacement, 1 under addition or removal (rows of norm at most 1).
    """

    name = "Hinge"

    @property
    def loss(self) -> Loss:
        """Hinge loss of the margin."""
        return HingeLoss()


@register
@dataclass(frozen=True, kw_only=True)
class QuantileRegression(LinearQuantileModel):
    """Conditional quantiles with the pinball loss. One feature and no intercept; else use `SoftQuantileRegression`.

    Difference constants as for the smoothed loss: see `LinearQuantileModel`.
    """

    name = "QuantileRegression"

    @property
    def loss(self) -> Loss:
        """Pinball loss of the residual, measured from its value at 0."""
        return PinballLoss(self.quantile)
