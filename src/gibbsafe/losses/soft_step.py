"""Kinks smoothed over a width: the soft hinge of a margin, the soft pinball of a residual."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from gibbsafe import _validate
from gibbsafe._types import AnyFloats, Floats
from gibbsafe.losses.base import Loss, residual
from gibbsafe.losses.kernels import exp, logistic_gradient, logistic_slope, logistic_sums
from gibbsafe.losses.softplus import bell, bell_bend, softplus, softplus_total

__all__ = ["SoftHingeLoss", "SoftPinballLoss", "SoftStep"]


class SoftStep(Loss):
    """A kink smoothed over a width h: h log(1 + e^x) and a line, where x = ±u/h and a constant (`_scaled`)."""

    width: float
    #: The sign of u in x.
    sign: float

    @abstractmethod
    def _scaled(self, u: AnyFloats, y: AnyFloats | None) -> AnyFloats:
        """The argument x."""

    @property
    def smoothness(self) -> float:
        """1/(4h)."""
        return 0.25 / self.width

    @property
    def self_concordance(self) -> float:
        """1/h."""
        return 1 / self.width

    @property
    def quartic_deficit(self) -> float:
        """1/(2h²)."""
        return 0.5 / self.width**2

    @property
    def quartic_excess(self) -> float:
        """1/h²."""
        return 1 / self.width**2

    @property
    def quintic_ratio(self) -> float:
        """1/h³."""
        return 1 / self.width**3

    @property
    def granularity(self) -> float:
        """1 + h: the place of the kink and the width."""
        return 1 + self.width

    def curvature(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:
        """The bell of log(1 + e^x) over h."""
        return bell(self._scaled(u, y))[0] / self.width

    def third(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:
        """Its first derivative over h², with the sign of u in x."""
        return self.sign * bell(self._scaled(u, y))[1] / self.width**2

    def fourth(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:
        """Its second derivative over h³."""
        return bell_bend(self._scaled(u, y)) / self.width**3


@dataclass(frozen=True)
class SoftHingeLoss(SoftStep):
    """f(u) = h log(1 + e^{(1−u)/h}): the hinge loss smoothed over a width h; labels ±1 folded into the row."""

    width: float = 0.5
    margin = True
    lipschitz = 1.0
    sign = -1.0

    def __post_init__(self) -> None:
        _validate.positive("width", self.width)

    def _scaled(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:
        with np.errstate(over="ignore"):
            return np.asarray((1 - u) / self.width)

    def value(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:  # noqa: D102
        with np.errstate(over="ignore"):
            return self.width * softplus(self._scaled(u))

    def slope(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:  # noqa: D102
        return logistic_slope(-self._scaled(u))

    def gradient(self, rows: AnyFloats, theta: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:  # noqa: D102
        return logistic_gradient(rows, theta, 1.0, self.width)

    def gradient_sums(  # noqa: D102
        self, rows: AnyFloats, theta: AnyFloats, y: AnyFloats | None, block: int, chunk: int
    ) -> Floats | None:
        return logistic_sums(rows, theta, block, chunk, 1.0, self.width)

    def total(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:  # noqa: D102
        return np.asarray(self.width * softplus_total(self._scaled(u)))


@dataclass(frozen=True)
class SoftPinballLoss(SoftStep):
    """f(u, y) = τx + h log(1 + e^{−x/h}) of the residual x = y − u: the pinball loss of the τ-quantile smoothed over h."""

    quantile: float = 0.5
    width: float = 0.5
    margin = False
    of_residual = True
    sign = 1.0

    def __post_init__(self) -> None:
        _validate.open_probability("quantile", self.quantile)
        _validate.positive("width", self.width)

    @property
    def lipschitz(self) -> float:
        """max(τ, 1 − τ)."""
        return max(self.quantile, 1 - self.quantile)

    def _scaled(self, u: AnyFloats, y: AnyFloats | None) -> AnyFloats:
        with np.errstate(over="ignore"):
            return np.asarray(-residual(u, y) / self.width)

    def value(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:
        """τx + h softplus(−x/h), written as max(τx, (τ−1)x) + h log(1 + e^{−|x|/h}) so that nothing cancels."""
        x = residual(u, y)
        with np.errstate(over="ignore"):
            kinked = np.maximum(self.quantile * x, (self.quantile - 1) * x)
            return np.asarray(kinked + self.width * np.log1p(exp(-np.abs(x / self.width))))

    def slope(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:  # noqa: D102
        return np.asarray(1 - self.quantile + logistic_slope(self._scaled(u, y)))
