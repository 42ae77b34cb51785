"""The pseudo-Huber loss of a residual."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gibbsafe import _validate
from gibbsafe._types import AnyFloats
from gibbsafe.losses.base import Loss, residual

__all__ = ["PseudoHuberLoss"]


@dataclass(frozen=True)
class PseudoHuberLoss(Loss):
    """f(u, y) = δ²(√(1 + x²/δ²) − 1) of the residual x = y − u: quadratic within the width δ, linear beyond."""

    width: float = 1.0
    margin = False
    of_residual = True
    smoothness = 1.0

    def __post_init__(self) -> None:
        _validate.positive("width", self.width)

    @property
    def lipschitz(self) -> float:
        """δ."""
        return self.width

    @property
    def self_concordance(self) -> float:
        """1.5/δ: |f'''|/f'' = 3r/(δ(1 + r²)) at r = x/δ, largest at r = 1."""
        return 1.5 / self.width

    @property
    def quartic_deficit(self) -> float:
        """3/δ²."""
        return 3 / self.width**2

    @property
    def quartic_excess(self) -> float:
        """2.4/δ²."""
        return 2.4 / self.width**2

    @property
    def quintic_ratio(self) -> float:
        """9.322/δ³."""
        return 9.322 / self.width**3

    @property
    def granularity(self) -> float:
        """δ²: δ|x| is at most |f| + δ²."""
        return self.width**2

    def _scaled(self, u: AnyFloats, y: AnyFloats | None) -> tuple[AnyFloats, AnyFloats]:
        with np.errstate(over="ignore"):
            ratio = np.asarray(residual(u, y) / self.width)
            return ratio, np.hypot(1, ratio)

    def value(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:  # noqa: D102
        ratio, root = self._scaled(u, y)
        with np.errstate(over="ignore"):
            size = np.abs(ratio)
            # size/(1+root) lies in [0, 1]; where the ratio overflowed it is its limit 1.
            share = np.divide(size, 1 + root, where=~np.isinf(root), out=np.ones_like(size))
            return np.asarray(self.width**2 * size * share)

    def slope(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:  # noqa: D102
        ratio, root = self._scaled(u, y)
        finite = ~np.isinf(root)
        return -self.width * np.divide(ratio, root, where=finite, out=np.sign(ratio))

    def curvature(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:  # noqa: D102
        return np.asarray((1 / self._scaled(u, y)[1]) ** 3)

    def third(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:  # noqa: D102
        ratio, root = self._scaled(u, y)
        finite = ~np.isinf(root)
        direction = np.divide(ratio, root, where=finite, out=np.sign(ratio))
        return np.asarray(3 / self.width * direction * (1 / root) ** 4)

    def fourth(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:
        """3(4r² − 1)(1 + r²)^{−7/2}/δ² at r = x/δ."""
        ratio, root = self._scaled(u, y)
        finite = ~np.isinf(root)
        direction = np.divide(ratio, root, where=finite, out=np.sign(ratio))  # r/√(1 + r²)
        return np.asarray(3 / self.width**2 * (5 * np.square(direction) - 1) * (1 / root) ** 5)
