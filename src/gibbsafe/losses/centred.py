"""Losses of an unbounded response, measured from their value at u = 0 so that no response is too large for the arithmetic.

A posterior sees differences of losses only, so f(u, y) − f(0, y) defines the same one as f(u, y). It is at most Lip·|u| however
large y is: with one response of 1e300 the sum of f itself would be 1e300, its rounding error 1e284, and nothing of the other
records would be left in it. Both differences below are taken in closed form, with an error of a few roundings of Lip·|u| + h.
Derivatives are those of the parent class.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gibbsafe._types import AnyFloats
from gibbsafe.losses.base import Loss
from gibbsafe.losses.pseudo_huber import PseudoHuberLoss
from gibbsafe.losses.soft_step import SoftPinballLoss

__all__ = ["CentredPseudoHuberLoss", "CentredSoftPinballLoss", "SumOfValues", "like_predictor", "pinball_shift"]


def like_predictor(u: AnyFloats, y: AnyFloats | None) -> AnyFloats:
    """Targets in the precision of the predictor, as a column where it has many chains."""
    assert y is not None
    return (y[:, None] if u.ndim == 2 else y).astype(u.dtype, copy=False)


def pinball_shift(quantile: float, u: AnyFloats, y: AnyFloats) -> AnyFloats:
    """ρ(y − u) − ρ(y) for ρ(x) = τx + max(−x, 0): −τu + max(u − y, 0) − max(−y, 0), without cancellation."""
    return np.asarray(np.where(y >= 0, np.maximum(u - y, 0), np.maximum(u, y)) - quantile * u)


class SumOfValues(Loss):
    """Sums of `value` whose terms may have either sign: added in double precision, answered in the precision asked in."""

    def total(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:
        """Sum of the losses over rows; values of mixed sign do not bound the error of a single-precision sum."""
        return np.asarray(self.value(u, y).sum(axis=0, dtype=np.float64)).astype(u.dtype, copy=False)

    def total_and_slope(self, u: AnyFloats, y: AnyFloats | None = None) -> tuple[AnyFloats, AnyFloats]:
        """`total` and `slope`."""
        return self.total(u, y), self.slope(u, y)


@dataclass(frozen=True)
class CentredPseudoHuberLoss(SumOfValues, PseudoHuberLoss):
    """δ²(√(1 + x²/δ²) − √(1 + y²/δ²)), x = y − u, as −δu (x + y)/(√(δ² + x²) + √(δ² + y²)): the fraction lies in [−1, 1]."""

    def value(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:  # noqa: D102
        start = like_predictor(u, y) / self.width
        end = start - u / self.width
        roots = np.hypot(1, start) + np.hypot(1, end)
        return np.asarray(-self.width * u * ((start + end) / roots))


@dataclass(frozen=True)
class CentredSoftPinballLoss(SumOfValues, SoftPinballLoss):
    """The shift of the pinball loss itself, and that of its smoothing h log(1 + e^{−|x|/h}), which stays within h log 2."""

    def value(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:  # noqa: D102
        start = like_predictor(u, y)
        ends = (np.log1p(np.exp(-np.abs(x / self.width))) for x in (start - u, start))
        return np.asarray(pinball_shift(self.quantile, u, start) + self.width * (next(ends) - next(ends)))
