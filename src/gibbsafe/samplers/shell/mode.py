"""The posterior seen from its mode: residuals in place of responses, so that no digit is lost to a far centre.

A loss of the residual y − u satisfies f(zᵀ(t + δ), y) = f(zᵀδ, y − zᵀt) up to a constant. With responses y_i − z_iᵀt and prior
centre c − t the posterior of δ has its mode near 0, and sums of `centred_losses` are sums of what the losses *change* by: their
rounding is relative to Σ|z_iᵀδ|, not to Σ|z_iᵀt|, which hostile responses and far prior centres make as large as they like.
The residuals are rounded once, here: draws are those of responses that agree with the given ones to within a few roundings of
|y| + |z||t|, and the sampler is exact for these. Losses that are not of the residual (`Loss.of_residual`: margins, which have no
response, and counts) stay as they are.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from gibbsafe._types import Floats
from gibbsafe.data.blocks import BlockFunction, Blocks, RowBlocks, targets_of
from gibbsafe.posteriors.gibbs import ROWS_FOR_ONE_CHAIN, GibbsPosterior
from gibbsafe.samplers.newton import Mode, find_mode

__all__ = ["Recentred", "recentre", "recentred_mode"]


@dataclass(frozen=True, eq=False)
class Recentred:
    """Records that are read elsewhere, with their residuals as responses: y_i − z_iᵀt, taken whenever they are seen."""

    data: RowBlocks
    centre: Floats

    @property
    def n_rows(self) -> int:
        """Number of records."""
        return self.data.n_rows

    @property
    def width(self) -> int:
        """Number of columns of a row."""
        return self.data.width

    @property
    def weights(self) -> Floats | None:
        """How many records each row stands for, if some were merged."""
        return self.data.weights

    @property
    def has_targets(self) -> bool:
        """There are: the other responses."""
        return True

    def reduce(self, function: BlockFunction, block_rows: int = ROWS_FOR_ONE_CHAIN) -> tuple[Any, ...]:
        """Sum over row blocks, as `RowBlocks.reduce`."""
        return self.data.reduce(partial(_with_residuals, function, self.centre), block_rows)


def _with_residuals(function: BlockFunction, centre: Floats, rows: Floats, beside: Floats | None) -> tuple[Any, ...]:
    moved = _residuals(centre, rows, beside)
    return function(rows, moved if beside is None or beside.ndim == 1 else np.column_stack([beside[:, 0], moved]))


def _residuals(centre: Floats, rows: Floats, beside: Floats | None) -> Floats:
    """Return y − zᵀt, row by row: a record has the same residual in whichever block it stands."""
    targets = targets_of(beside)
    with np.errstate(over="ignore"):
        return np.zeros(0) if targets is None else np.asarray(targets - (rows * centre).sum(axis=1))


def recentre(posterior: GibbsPosterior, centre: Floats) -> GibbsPosterior:
    """The posterior of θ − ``centre``, for a loss of the residual."""
    data = posterior.data
    moved: RowBlocks = Recentred(data, centre)
    if isinstance(data, Blocks):
        moved = replace(data, targets=data.each_row(partial(_residuals, centre)))
    return replace(posterior, data=moved, prior_centre=posterior.prior_centre - centre)


def recentred_mode(posterior: GibbsPosterior) -> tuple[GibbsPosterior, Mode, Floats]:
    """A posterior of θ − origin whose sums are small at its mode, that mode, and the origin (0 where no loss moves)."""
    mode = find_mode(posterior)
    origin = np.zeros(posterior.dimension)
    if not posterior.loss.of_residual or not posterior.data.n_rows or not mode.centre.any():
        return posterior, mode, origin
    moved = recentre(posterior, mode.centre)
    again = find_mode(moved, origin)
    return moved, replace(again, passes=mode.passes + 1 + again.passes), mode.centre
