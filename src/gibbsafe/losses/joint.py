"""Losses of several linear predictors at once: a record's row z meets a matrix Θ, and the loss is a function of the vector zᵀΘ.

Θ (row width × predictors) is a linear function of the parameters θ (`matrix`, whose transpose is `vector`), so the loss is convex
in θ where it is in zᵀΘ. Predictors are the last axis of every array: ``u`` is (rows, …, predictors), values are (rows, …), slopes
have the shape of ``u``, and curvatures are matrices, (rows, …, predictors, predictors). **Lipschitz constant and smoothness are
those in θ, for rows of norm at most 1**: what theorems ask for.

What stands beside rows is their targets, or weights and targets where identical records were merged
(`gibbsafe.data.blocks.beside_of`); sums over rows count them here, and no `WeightedLoss` is put around such a loss.
"""

from __future__ import annotations

import math
from abc import abstractmethod

import numpy as np

from gibbsafe._types import AnyFloats, Floats
from gibbsafe.errors import PremiseError
from gibbsafe.losses.base import Loss

__all__ = ["JointLoss", "apart"]


class JointLoss(Loss):
    """A convex function of the vector zᵀΘ of a record's predictors, and of its target."""

    margin = False
    self_concordance = math.inf  # constants of one predictor, which samplers of one go by
    quartic_deficit = math.inf
    quartic_excess = math.inf
    quintic_ratio = math.inf

    @property
    @abstractmethod
    def predictors(self) -> int:  # type: ignore[override]
        """Columns of Θ."""

    @property
    @abstractmethod
    def size_form(self) -> Floats:
        """Q for which gᵀQg, g the slope in the predictors, lies in [0, 1] and says how large slopes are."""

    @abstractmethod
    def parameters(self, width: int) -> int:
        """Number of parameters of rows of this width."""

    @abstractmethod
    def matrix(self, thetas: Floats, width: int) -> Floats:
        """Return Θ (…, width, predictors) of parameters (…, parameters): a linear map."""

    @abstractmethod
    def vector(self, matrices: Floats) -> Floats:
        """Return the transpose of `matrix`, from (…, width, predictors) to (…, parameters)."""

    @abstractmethod
    def steepness(self, u: Floats, y: Floats) -> Floats:
        """A number in [0, 1] that says how steep slopes are at a record."""

    def third(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:
        """Not known: a tensor."""
        raise PremiseError(f"{type(self).__name__}: derivatives beyond the second are those of one predictor")

    def fourth(self, u: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:
        """Not known: a tensor."""
        return self.third(u, y)

    # -- sums over rows ------------------------------------------------------------------------------------------------

    def predicted(self, rows: Floats, thetas: Floats) -> Floats:
        """Return zᵀΘ (rows, k, predictors) of k parameters (k, parameters), by one product."""
        columns = np.swapaxes(self.matrix(thetas, rows.shape[1]), 1, 2)  # (k, predictors, width)
        flat = columns.reshape(-1, rows.shape[1]) @ rows.T  # rows last: sums over predictors then run along memory
        return np.moveaxis(flat.reshape(len(thetas), self.predictors, len(rows)), -1, 0)

    def totals(self, rows: Floats, thetas: Floats, beside: Floats) -> Floats:
        """Return the sum of the losses at each of k parameters."""
        weights, targets = apart(beside)
        return np.asarray(weights @ self.value(self.predicted(rows, thetas), targets))

    def gradients(self, rows: Floats, thetas: Floats, beside: Floats) -> Floats:
        """Return the sum of gradients (k, parameters) at each of k parameters, by one product each way."""
        weights, targets = apart(beside)
        return self._gathered(rows, self.slope(self.predicted(rows, thetas), targets) * weights[:, None, None])

    def _gathered(self, rows: Floats, slopes: AnyFloats) -> Floats:
        """Return Σ z ⊗ slope as parameters (k, parameters), of slopes (rows, k, predictors)."""
        number, chains = slopes.shape[:2]
        flat = np.dot(np.moveaxis(slopes, 0, -1).reshape(chains * self.predictors, number), rows)
        return self.vector(np.swapaxes(flat.reshape(chains, self.predictors, rows.shape[1]), 1, 2))

    def gradient(self, rows: AnyFloats, theta: AnyFloats, y: AnyFloats | None = None) -> AnyFloats:
        """Sum of gradients in θ over the rows of a block."""
        assert y is not None
        return np.asarray(self.gradients(rows, theta[None], y)[0])

    def hessian(self, rows: Floats, theta: Floats, beside: Floats) -> Floats:
        """Return the sum of second derivatives in θ."""
        weights, targets = apart(beside)
        bends = self.curvature(self.predicted(rows, theta[None])[:, 0], targets) * weights[:, None, None]
        return self.second(np.einsum("ri,rkl,rj->ikjl", rows, bends, rows, optimize=True))

    def second(self, blocks: Floats) -> Floats:
        """Return a form (…, width, predictors, width, predictors) of two matrices as one of two parameters."""
        half = self.vector(blocks)  # (…, width, predictors, parameters)
        return np.swapaxes(self.vector(np.moveaxis(half, -1, -3)), -1, -2)

    def of_moment(self, moment: Floats) -> Floats:
        """Return what a second moment of rows, Σ zzᵀ, bounds of the curvature in θ: Σ over predictors of it."""
        spread = moment[:, None, :, None] * np.eye(self.predictors)[None, :, None, :]
        return self.second(spread)

    def of_columns(self, share: Floats) -> Floats:
        """Return what is said of each column of rows, said of each parameter: the mean over the columns that it meets."""
        meets = np.abs(self.matrix(np.eye(self.parameters(len(share))), len(share))).max(axis=-1)
        return np.asarray(meets @ share / meets.sum(axis=1))

    def facts(self, rows: Floats, theta: Floats, targets: Floats) -> tuple[Floats, Floats]:
        """Return how large slopes are (`size_form`), and `steepness`; each row's from that row alone."""
        columns = self.matrix(theta, rows.shape[1])
        u = np.stack([(rows * column).sum(axis=1) for column in columns.T], axis=-1)
        slopes = self.slope(u, targets)
        turned = np.stack([(slopes * column).sum(axis=-1) for column in self.size_form], axis=-1)
        return np.asarray((turned * slopes).sum(axis=-1)), self.steepness(u, targets)


def apart(beside: Floats) -> tuple[Floats, Floats]:
    """Return weights and targets of what stands beside rows."""
    if beside.ndim == 1:
        return np.ones(len(beside)), beside
    return beside[:, 0], beside[:, 1]
