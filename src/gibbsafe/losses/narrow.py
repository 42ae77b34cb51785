"""The pseudo-Huber loss of a narrower width, as steep as a wider one far out: more curvature for the same price per record.

A score's price is its bound, and the noise in a parameter falls with the score's mean slope E ψ′. Of all scores of bound L that
of the sign has the largest, 2L·g(0) for symmetric unimodal errors of density g; the pseudo-Huber score of width w has nearly that
where w is small beside the errors. For symmetric errors every width has the same minimiser. For others it moves from the mean
towards the median as w falls, so where data rule and not noise, a score has the width that was declared.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gibbsafe._numerics import down
from gibbsafe._types import AnyFloats
from gibbsafe.losses.base import Loss
from gibbsafe.losses.pseudo_huber import PseudoHuberLoss
from gibbsafe.losses.weighted import WeightedLoss

__all__ = ["NarrowPseudoHuberLoss", "loss_of_scores"]


@dataclass(frozen=True)
class NarrowPseudoHuberLoss(PseudoHuberLoss):
    """(L/w) times the pseudo-Huber loss of width w: slopes within ±L, roundings included.

    >>> loss = NarrowPseudoHuberLoss(width=0.25, bound=1.0)
    >>> loss.lipschitz, loss.smoothness
    (1.0, 4.0)
    """

    bound: float = 1.0

    @property
    def lipschitz(self) -> float:
        """L."""
        return self.bound

    @property
    def smoothness(self) -> float:  # type: ignore[override]
        """L/w."""
        return self.bound / self.width

    @property
    def granularity(self) -> float:
        """L·w."""
        return self.bound * self.width

    def value(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:  # noqa: D102
        return np.asarray(self.smoothness * super().value(u, y))

    def slope(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:
        """Return f′: the product of two numbers, each rounded, is kept below L by a factor rounded down thrice."""
        return np.asarray(down(down(down(self.smoothness))) * super().slope(u, y))

    def curvature(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:  # noqa: D102
        return np.asarray(self.smoothness * super().curvature(u, y))

    def third(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:  # noqa: D102
        return np.asarray(self.smoothness * super().third(u, y))

    def fourth(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:  # noqa: D102
        return np.asarray(self.smoothness * super().fourth(u, y))


def loss_of_scores(loss: Loss, width: float | None) -> Loss:
    """Return the loss whose scores are asked: the model's own, or of this width."""
    if width is None:
        return loss
    if isinstance(loss, WeightedLoss):
        return WeightedLoss(loss_of_scores(loss.loss, width))
    return NarrowPseudoHuberLoss(width, loss.lipschitz)
