"""The Gibbs posterior of a loss of several predictors: the passes of `GibbsPosterior`, by matrices in place of vectors."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from gibbsafe._types import Floats
from gibbsafe.losses.joint import JointLoss
from gibbsafe.posteriors.gibbs import GibbsPosterior

__all__ = ["JointPosterior"]

#: Numbers that stay in cache: rows times chains times predictors of a block.
CELLS = 1 << 16


@dataclass(frozen=True, eq=False)
class JointPosterior(GibbsPosterior):
    """Density ∝ exp(−β Σ f(z_iᵀΘ, y_i) − ½ Σ_j m_j (θ_j − c_j)²), Θ the matrix of the parameters θ (`JointLoss.matrix`)."""

    loss: JointLoss

    @property
    def dimension(self) -> int:
        """Number of parameters, of all predictors together."""
        return self.loss.parameters(self.data.width)

    def _rows(self, chains: int) -> int:
        return max(128, min(4096, CELLS // (chains * self.loss.predictors)))

    def loss_totals(self, thetas: Floats) -> Floats:
        """Σ_i f(z_iᵀΘ, y_i) for each row of ``thetas``."""
        points = np.ascontiguousarray(thetas, dtype=np.float64)
        (total,) = self.data.reduce(partial(_part, self.loss.totals, points), self._rows(len(points)))
        return np.asarray(total)

    def gradients(self, thetas: Floats) -> Floats:
        """∇U at each row of ``thetas`` (k, p)."""
        (total,) = self.data.reduce(partial(_part, self.loss.gradients, thetas), self._rows(len(thetas)))
        return np.asarray(self.inverse_temperature * total + self.prior_precision * (thetas - self.prior_centre))

    def value_and_gradient(self, theta: Floats) -> tuple[float, Floats]:
        """U(θ) and ∇U(θ)."""
        return float(self.values(theta[None])[0]), self.gradients(theta[None])[0]

    def value_gradient_hessian(self, theta: Floats) -> tuple[float, Floats, Floats]:
        """U(θ), ∇U(θ) and ∇²U(θ)."""
        (bent,) = self.data.reduce(partial(_part, self.loss.hessian, theta), self._rows(1))
        value, gradient = self.value_and_gradient(theta)
        return value, gradient, np.asarray(self.inverse_temperature * bent + np.diag(self.prior_precision))


def _part(
    method: Callable[[Floats, Floats, Floats], Floats], points: Floats, rows: Floats, beside: Floats | None
) -> tuple[Floats]:
    """What a block contributes by one of the loss's methods; there are targets, but of no records."""
    return (method(rows, points, np.empty(0) if beside is None else beside),)
