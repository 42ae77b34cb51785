"""Losses with a kink: covered by the theorems of exact draws, which need no smoothness, but not by the smooth samplers.

Their curvature is 0 wherever it exists, and no |f‴| ≤ κf″ holds: `smoothness` and `self_concordance` are infinite. `slope` is a
subgradient, which is all that inversion in one dimension needs.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from gibbsafe._types import AnyFloats
from gibbsafe._validate import open_probability
from gibbsafe.losses.base import Loss
from gibbsafe.losses.centred import SumOfValues, like_predictor, pinball_shift

__all__ = ["HingeLoss", "PinballLoss"]


class KinkedLoss(Loss):
    """A convex, piecewise linear loss."""

    #: The model with the smoothed form of this loss, which other samplers draw, and how far its loss is at most, in widths.
    smoothed: ClassVar[str]
    smoothing_gap: ClassVar[float] = math.log(2)

    smoothness = math.inf
    self_concordance = math.inf
    quartic_deficit = math.inf
    quartic_excess = math.inf
    quintic_ratio = math.inf

    def curvature(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:
        """0, its value on every piece."""
        return np.zeros_like(u)

    def third(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:
        """0."""
        return np.zeros_like(u)

    def fourth(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:
        """0."""
        return np.zeros_like(u)


@dataclass(frozen=True)
class HingeLoss(KinkedLoss):
    """f(u) = max(0, 1 − u), u = y zᵀθ with labels y = ±1 folded into the row."""

    margin = True
    smoothed = "SoftHinge"
    lipschitz = 1.0

    def value(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:  # noqa: D102
        return np.asarray(np.maximum(0, 1 - u))

    def slope(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:  # noqa: D102
        return np.asarray(np.where(u < 1, -1.0, 0.0).astype(u.dtype, copy=False))


@dataclass(frozen=True)
class PinballLoss(SumOfValues, KinkedLoss):
    """f(u, y) = ρ(y − u) − ρ(y), ρ(x) = max(τx, (τ−1)x): the pinball loss, measured from u = 0 (see `centred_losses`)."""

    quantile: float = 0.5
    margin = False
    of_residual = True
    smoothed = "SoftQuantileRegression"

    def __post_init__(self) -> None:
        open_probability("quantile", self.quantile)

    @property
    def lipschitz(self) -> float:
        """max(τ, 1 − τ)."""
        return max(self.quantile, 1 - self.quantile)

    def value(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:  # noqa: D102
        return pinball_shift(self.quantile, u, like_predictor(u, y))

    def slope(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:  # noqa: D102
        return np.asarray((u > like_predictor(u, y)) - self.quantile).astype(u.dtype, copy=False)
