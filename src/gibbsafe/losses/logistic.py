"""The logistic loss of a margin."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gibbsafe._types import AnyFloats, Floats
from gibbsafe.losses.base import Loss
from gibbsafe.losses.kernels import exp, logistic_gradient, logistic_slope, logistic_sums
from gibbsafe.losses.softplus import bell, bell_bend, log_of_product, softplus, softplus_total

__all__ = ["LogisticLoss"]


@dataclass(frozen=True)
class LogisticLoss(Loss):
    """f(u) = log(1 + e^{−u}), u = y zᵀθ with labels y = ±1 folded into the row."""

    margin = True
    lipschitz = 1.0
    smoothness = 0.25
    self_concordance = 1.0
    quartic_deficit = 0.5
    quartic_excess = 1.0
    quintic_ratio = 1.0

    def value(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:  # noqa: D102
        return softplus(-u)

    def slope(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:
        """f′ = −1/(1 + e^u)."""
        return logistic_slope(u)

    def gradient(self, rows: AnyFloats, theta: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:  # noqa: D102
        return logistic_gradient(rows, theta)

    def gradient_sums(  # noqa: D102
        self, rows: AnyFloats, theta: AnyFloats, y: AnyFloats | None, block: int, chunk: int
    ) -> Floats | None:
        return logistic_sums(rows, theta, block, chunk)

    def curvature(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:  # noqa: D102
        return bell(u)[0]

    def third(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:  # noqa: D102
        return bell(u)[1]

    def fourth(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:  # noqa: D102
        return bell_bend(u)

    def total(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:  # noqa: D102
        return softplus_total(-u)

    def total_and_slope(self, u: AnyFloats, y: AnyFloats | None = None) -> tuple[AnyFloats, AnyFloats]:
        """One exponential for both: with d = e^{−|u|}/(1 + e^{−|u|}), f' = −d for u ≥ 0 and d − 1 for u < 0."""
        negative = np.minimum(u, 0)
        decay = np.abs(u)
        np.negative(decay, out=decay)
        exp(decay, out=decay)
        factors = decay + 1
        total = log_of_product(factors) - negative.sum(axis=0)
        np.divide(decay, factors, out=decay)
        np.subtract(0.5, decay, out=decay)
        np.copysign(decay, u, out=decay)
        return np.asarray(total), np.subtract(decay, 0.5, out=decay)
