"""Robust linear regression with the pseudo-Huber loss."""

from __future__ import annotations

from dataclasses import dataclass

from gibbsafe._types import JSON
from gibbsafe._validate import positive
from gibbsafe.losses.base import Loss
from gibbsafe.losses.centred import CentredPseudoHuberLoss
from gibbsafe.models.base import register
from gibbsafe.models.linear.regressor import LinearRegressor

__all__ = ["PseudoHuberRegression"]


@register
@dataclass(frozen=True, kw_only=True)
class PseudoHuberRegression(LinearRegressor):
    """A numeric response with loss δ²(√(1 + r²/δ²) − 1) of the residual r = y − xᵀθ: δ-Lipschitz, 1-smooth, |f‴| ≤ 1.5 f″/δ.

    ``width`` is δ, public and in the response's units: residuals within it count as squares, larger ones by their size.

    **No bound on the response is needed**: the gradient in θ is −ψ(r)x with |ψ| < δ whatever y is, so one record moves the
    gradient by at most 2δ under replacement and δ under addition or removal (rows of norm at most 1; both are approached by
    far responses). Any finite y is admitted. See `LinearModel` for the rest.

    >>> PseudoHuberRegression(dimension=2, width=3.0).loss.lipschitz
    3.0
    """

    name = "PseudoHuberRegression"
    width: float = 1.0

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "width", positive("width", self.width))

    @property
    def loss(self) -> Loss:
        """Pseudo-Huber loss of the residual, measured from its value at 0."""
        return CentredPseudoHuberLoss(self.width)

    @property
    def parameter_scale(self) -> float:
        """The width: the only public unit of the response."""
        return self.width

    def to_dict(self) -> JSON:
        """Return the declaration as plain data."""
        return self._declaration(width=self.width)
