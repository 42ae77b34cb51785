"""Support vector classification with the hinge loss smoothed over a public width."""

from __future__ import annotations

from dataclasses import dataclass

from gibbsafe._types import JSON
from gibbsafe._validate import positive
from gibbsafe.losses.base import Loss
from gibbsafe.losses.soft_step import SoftHingeLoss
from gibbsafe.models.base import register
from gibbsafe.models.linear.classifier import LinearClassifier

__all__ = ["SoftHinge"]


@register
@dataclass(frozen=True, kw_only=True)
class SoftHinge(LinearClassifier):
    """Binary outcomes with loss h log(1 + exp((1 − y xᵀθ)/h)): 1-Lipschitz, 1/(4h)-smooth, |f‴| ≤ f″/h.

    ``width`` is h, public: the loss exceeds the hinge loss max(0, 1 − y xᵀθ) by at most h log 2. On rows of norm at most 1 the
    gradient of a loss difference is at most 2 under replacement (approached far on the wrong side of both records) and 1 under
    addition or removal. See `LinearClassifier` and `LinearModel` for the rest.

    >>> SoftHinge(dimension=2, width=0.1).loss.smoothness
    2.5
    """

    name = "SoftHinge"
    width: float = 0.5

    def __post_init__(self) -> None:
        super().__post_init__()
        object.__setattr__(self, "width", positive("width", self.width))

    @property
    def loss(self) -> Loss:
        """Smoothed hinge loss of the margin."""
        return SoftHingeLoss(self.width)

    def to_dict(self) -> JSON:
        """Return the declaration as plain data."""
        return super().to_dict() | {"width": self.width}
