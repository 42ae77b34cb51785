"""Skeleton of a loss of a linear predictor with a Gaussian prior: here a median regression, the absolute residual smoothed.

Copy the loss to a file of src/gibbsafe/losses and the model to a file of src/gibbsafe/models/linear; CONTRIBUTING.md names the
rest. Beside every constant stands why it holds.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gibbsafe._types import JSON, AnyFloats
from gibbsafe._validate import positive
from gibbsafe.losses.base import Loss, residual
from gibbsafe.losses.bregman import bregman
from gibbsafe.losses.kernels import logistic_slope
from gibbsafe.losses.logistic import LogisticLoss
from gibbsafe.losses.soft_step import SoftStep
from gibbsafe.losses.softplus import softplus
from gibbsafe.models.base import register
from gibbsafe.models.linear.regressor import LinearRegressor


@dataclass(frozen=True)
class MedianLoss(SoftStep):
    """f(u, y) = x/2 + h log(1 + e^{−x/h}) of the residual x = y − u.

    f′ = σ(−x/h) − ½ lies in [−½, ½]; f″, f‴ and the rest are those of a softplus of width h (`SoftStep`).
    """

    width: float = 0.5
    margin = False
    of_residual = True
    sign = 1.0
    lipschitz = 0.5

    def _scaled(self, u: AnyFloats, y: AnyFloats | None) -> AnyFloats:
        with np.errstate(over="ignore"):
            return np.asarray(-residual(u, y) / self.width)

    def value(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:
        """h(log(1 + e^{−x/h}) + log(1 + e^{x/h}))/2: both terms are positive, so nothing cancels."""
        x = self._scaled(u, y)
        return np.asarray(0.5 * self.width * (softplus(x) + softplus(-x)))

    def slope(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:
        """½ − σ(x/h)."""
        return np.asarray(0.5 + logistic_slope(self._scaled(u, y)))


@bregman.register
def _(loss: MedianLoss, u: AnyFloats, step: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:
    """The line drops out: h times the logistic difference. The proximal sampler needs it."""
    return loss.width * bregman(LogisticLoss(), loss._scaled(u, y), step / loss.width)


@register
@dataclass(frozen=True, kw_only=True)
class MedianRegression(LinearRegressor):
    """A numeric response with the absolute residual smoothed over ``width``: ½-Lipschitz, so no bound on it is needed."""

    name = "MedianRegression"
    width: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "width", positive("width", self.width))

    @property
    def loss(self) -> Loss:
        """The loss of one record."""
        return MedianLoss(self.width)

    @property
    def parameter_scale(self) -> float:
        """The width: the only public unit of the response."""
        return self.width

    def to_dict(self) -> JSON:
        """Return the declaration as plain data."""
        return self._declaration(width=self.width)
