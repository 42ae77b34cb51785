"""The Gibbs posterior and its one fused row-block kernel.

Density ∝ exp(−U(θ)), U(θ) = β Σ_i f(z_iᵀθ, y_i) + ½ Σ_j m_j (θ_j − c_j)².

Each method is one pass over memory: forward product, loss and backward product run on a block of rows while it is in cache.
Many chains are matrix products on blocks small enough that rows × chains stay in cache too.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from gibbsafe import _validate
from gibbsafe._types import AnyFloats, Floats
from gibbsafe.data.blocks import RowBlocks
from gibbsafe.errors import DomainError, ParameterError
from gibbsafe.losses.base import Loss
from gibbsafe.losses.weighted import WeightedLoss
from gibbsafe.posteriors.protocols import SmoothPosterior

__all__ = ["ROWS_FOR_ONE_CHAIN", "GibbsPosterior", "Gradient", "total_and_gradient"]


#: A block's predictor, slopes and scratch fit in a core's own cache, its rows in the shared one.
ROWS_FOR_ONE_CHAIN = 16384
CELLS_FOR_MANY_CHAINS = 1 << 14


def _rows_for(chains: int) -> int:
    return max(128, min(4096, CELLS_FOR_MANY_CHAINS // max(chains, 1)))


def _per_parameter(name: str, values: npt.ArrayLike, width: int) -> Floats:
    array = np.array(values, dtype=np.float64)
    if array.ndim == 0:
        array = np.full(width, float(array))
    if array.shape != (width,) or not np.isfinite(array).all():
        raise ParameterError(f"{name}: must be {width} finite numbers, one per column, not shape {array.shape}")
    array.setflags(write=False)
    return array


@dataclass(frozen=True, eq=False)
class GibbsPosterior(SmoothPosterior):
    """Density ∝ exp(−β Σ loss − ½ Σ m_j (θ_j − c_j)²) over the p columns of the data (scaled units, intercept included).

    ``inverse_temperature`` is β ≥ 0; ``prior_precision`` m > 0 and ``prior_centre`` c are (p,) arrays (a scalar is repeated).
    Where identical records were merged, ``loss`` becomes a `WeightedLoss`, so that every pass counts them.
    With ``ball`` the density is restricted to |θ| ≤ ball; only samplers that project know how to draw from it.
    """

    data: RowBlocks
    loss: Loss
    inverse_temperature: float
    prior_precision: Floats
    prior_centre: Floats
    ball: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "inverse_temperature", _validate.non_negative("inverse_temperature", self.inverse_temperature))
        for name in ("prior_precision", "prior_centre"):
            object.__setattr__(self, name, _per_parameter(name, getattr(self, name), self.dimension))
        if not (self.prior_precision > 0).all():
            raise ParameterError("prior_precision: must be above 0 for every parameter, or the posterior may be improper")
        if self.data.n_rows and self.data.has_targets == self.loss.margin:
            needed = "no targets: labels are folded into the rows" if self.loss.margin else "targets"
            raise DomainError(f"data: {type(self.loss).__name__} needs {needed}")
        if self.data.weights is not None and self.loss.predictors == 1 and not isinstance(self.loss, WeightedLoss):
            object.__setattr__(self, "loss", WeightedLoss(self.loss))

    @property
    def dimension(self) -> int:
        """Number of parameters p."""
        return self.data.width

    @property
    def support(self) -> tuple[Floats, Floats]:
        """The box around the ball, or all of space."""
        end = np.full(self.dimension, math.inf if self.ball is None else self.ball)
        return -end, end

    @property
    def outlook(self) -> tuple[Floats, Floats]:
        """The prior's centre and deviations, on all of space."""
        return (self.prior_centre, 1 / np.sqrt(self.prior_precision)) if self.ball is None else super().outlook

    @property
    def rows_per_pass(self) -> int:
        """Rows that a pass visits: the records, identical ones once where they were merged."""
        return self.data.n_rows if self.data.weights is None else len(self.data.weights)

    def prior_values(self, thetas: Floats) -> Floats:
        """½ Σ_j m_j (θ_j − c_j)² for each row of ``thetas``."""
        return np.asarray(0.5 * np.square(thetas - self.prior_centre) @ self.prior_precision)

    def prior_rises(self, centre: Floats, steps: Floats) -> Floats:
        """½ Σ_j m_j [(t_j + δ_j − c_j)² − (t_j − c_j)²] for each row δ of ``steps`` from t = ``centre``.

        Summed as m_j δ_j(t_j − c_j + ½δ_j) nothing cancels: the error is a few roundings of the sum of the terms' sizes, however
        far the prior's centre is.
        """
        offset = centre - self.prior_centre
        return np.asarray(((self.prior_precision * steps) * (offset + 0.5 * steps)).sum(axis=1))

    def values(self, thetas: Floats) -> Floats:
        """Potential U at each row of ``thetas`` (k, p), as one matrix product per block."""
        return np.asarray(self.inverse_temperature * self.loss_totals(thetas) + self.prior_values(thetas))

    def loss_totals(self, thetas: Floats) -> Floats:
        """Σ_i f(z_iᵀθ, y_i) for each row of ``thetas``, in double precision; `rounding` bounds the error."""
        thetas = np.ascontiguousarray(thetas, dtype=np.float64)
        if len(thetas) == 1:
            (total,) = self.data.reduce(partial(_totals, self.loss, thetas[0]), ROWS_FOR_ONE_CHAIN)
        else:
            columns = np.ascontiguousarray(thetas.T)
            (total,) = self.data.reduce(partial(_totals, self.loss, columns), _rows_for(len(thetas)))
        return np.atleast_1d(total)

    def rough_loss_totals(self, thetas: Floats) -> Floats:
        """Σ_i f(z_iᵀθ, y_i) for each row of ``thetas`` in single precision: an estimate at a third of the cost of `values`."""
        columns = np.ascontiguousarray(thetas.T, dtype=np.float32)
        # Short blocks: a single-precision sum of b terms may err by b units, and `screen.rough_error` counts on b ≤ 256.
        (total,) = self.data.reduce(partial(_rough_totals, self.loss, columns), min(256, _rows_for(len(thetas))))
        return np.asarray(total)

    def gradient(self, theta: Floats) -> Floats:
        """∇U(θ)."""
        (total,) = self.data.reduce(Gradient(self.loss, theta), ROWS_FOR_ONE_CHAIN)
        return np.asarray(self.inverse_temperature * total + self.prior_precision * (theta - self.prior_centre))

    def gradients(self, thetas: Floats) -> Floats:
        """∇U at each row of ``thetas`` (k, p): many chains, two matrix products per block."""
        if len(thetas) == 1:
            return self.gradient(thetas[0])[None]
        columns = np.ascontiguousarray(thetas.T)
        (total,) = self.data.reduce(partial(_gradients, self.loss, columns), _rows_for(len(thetas)))
        return np.asarray(self.inverse_temperature * total + self.prior_precision * (thetas - self.prior_centre))

    def value_and_gradient(self, theta: Floats) -> tuple[float, Floats]:
        """U(θ) and ∇U(θ) in one pass."""
        total, gradient = self.data.reduce(partial(total_and_gradient, self.loss, theta), ROWS_FOR_ONE_CHAIN)
        prior_slope = self.prior_precision * (theta - self.prior_centre)
        value = self.inverse_temperature * float(total) + float(self.prior_values(theta[None])[0])
        return value, self.inverse_temperature * gradient + prior_slope

    def value_gradient_hessian(self, theta: Floats) -> tuple[float, Floats, Floats]:
        """U(θ), ∇U(θ) and ∇²U(θ) in one pass."""
        total, gradient, hessian = self.data.reduce(partial(_total_gradient_hessian, self.loss, theta), ROWS_FOR_ONE_CHAIN)
        prior_slope = self.prior_precision * (theta - self.prior_centre)
        value = self.inverse_temperature * float(total) + float(self.prior_values(theta[None])[0])
        hessian = self.inverse_temperature * hessian
        hessian[np.diag_indices_from(hessian)] += self.prior_precision
        return value, self.inverse_temperature * gradient + prior_slope, hessian


# What a block contributes to each pass. Products with a small result are `np.dot`, which lets other threads work; `@` does not.


def _totals(loss: Loss, columns: Floats, rows: Floats, y: Floats | None) -> tuple[Floats]:
    return (loss.total(rows @ columns, y),)


def _rough_totals(loss: Loss, columns: AnyFloats, rows: Floats, y: Floats | None) -> tuple[Floats]:
    single = None if y is None else y.astype(np.float32)
    return (loss.total(rows.astype(np.float32) @ columns, single).astype(np.float64),)


@dataclass(frozen=True, eq=False)
class Gradient:
    """The gradient of the losses of a block, or of chunks of rows, at one point."""

    loss: Loss
    theta: Floats

    def __call__(self, rows: Floats, y: Floats | None) -> tuple[Floats]:
        """Return that of a block."""
        return (np.asarray(self.loss.gradient(rows, self.theta, y)),)

    def of_chunks(self, rows: AnyFloats, y: Floats | None, block_rows: int, chunk_rows: int) -> Floats | None:
        """Return those of chunks, where the loss has a compiled way."""
        return self.loss.gradient_sums(rows, self.theta, y, block_rows, chunk_rows)


def _gradients(loss: Loss, columns: Floats, rows: Floats, y: Floats | None) -> tuple[Floats]:
    return (np.dot(loss.slope(rows @ columns, y).T, rows),)


def total_and_gradient(loss: Loss, theta: Floats, rows: Floats, y: Floats | None) -> tuple[Floats, Floats]:
    """Return the losses of a block at one point and their gradient."""
    total, slope = loss.total_and_slope(rows @ theta, y)
    return total, np.dot(slope, rows)


def _total_gradient_hessian(loss: Loss, theta: Floats, rows: Floats, y: Floats | None) -> tuple[Floats, Floats, Floats]:
    predictor = rows @ theta
    total, slope = loss.total_and_slope(predictor, y)
    shrunk = rows * np.sqrt(loss.curvature(predictor, y))[:, None]
    return total, np.dot(slope, rows), np.dot(shrunk.T, shrunk)  # a symmetric product, at half the price of a general one
