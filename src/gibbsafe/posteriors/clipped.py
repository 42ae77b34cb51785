"""Sums of clipped gradients of records: whatever a function answers, one record moves the sum by at most its bound.

Clipping is total: a gradient with an entry that is no finite number counts as 0, one that is longer than the bound is shortened,
and all entries are rounded to multiples of a public grid. Sums of multiples of the grid are exact in double precision, in
whatever order blocks are added, by whatever number of threads: no rounding is left that could depend on the other records.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Protocol

import numpy as np

from gibbsafe._types import Floats
from gibbsafe.data.blocks import RowBlocks, weights_of
from gibbsafe.theorems.noisy_scores import MOST_ROWS

__all__ = ["ClippedSum", "RecordGradients", "clip_gradients", "clipped_sums", "grid_of_terms"]

#: The grid of entries as a share of the bound, 2 to this power: MOST_ROWS of them add up exactly below 2⁵³.
FINENESS = -24
assert MOST_ROWS * 2.0 ** (1 - FINENESS) < 2.0**53
#: Numbers that a block's gradients may take.
CELLS = 1 << 21


class RecordGradients(Protocol):
    """Gradients of the log-likelihood of single records."""

    def __call__(self, rows: Floats, thetas: Floats) -> Floats:
        """Return (chains, rows, parameters): row i of each depends on row i of the records alone."""


def grid_of_terms(bound: float) -> float:
    """Return the public grid of the entries of clipped gradients."""
    return 2.0 ** (math.floor(math.log2(bound)) + FINENESS)


def clip_gradients(gradients: Floats, bound: float) -> Floats:
    """Return gradients (…, d) of norm at most ``bound``, entries multiples of the grid; those that are no numbers become 0.

    Rounding adds at most half the grid times √d to a norm, and computing it a few roundings: both are taken off beforehand.

    >>> clip_gradients(np.array([[3e300, 4e300], [np.nan, 1.0], [0.5, 0.0]]), 1.0).round(4).tolist()
    [[0.6, 0.8], [0.0, 0.0], [0.5, 0.0]]
    """
    gradients = np.asarray(gradients, dtype=np.float64)  # norms and sums of fewer digits would not keep to the bound
    d, grid = gradients.shape[-1], grid_of_terms(bound)
    slack = max(2.0**-40, d * 2.0**-50)  # what computing a norm may err by, and more
    room = max(0.0, bound * (1 - slack) - 0.5 * grid * math.sqrt(d) * (1 + slack))
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        lengths = np.sqrt(np.einsum("...d,...d->...", gradients, gradients))
        kept = gradients * np.minimum(1.0, room / lengths)[..., None]
    odd = ~np.isfinite(lengths)
    if odd.any():
        kept[odd] = _shortened(gradients[odd], room)
    kept *= 1 / grid  # a power of two
    np.rint(kept, out=kept)
    kept *= grid
    return np.asarray(np.nan_to_num(kept, copy=False) if (lengths == 0).any() else kept)


def _shortened(gradients: Floats, room: float) -> Floats:
    """Return gradients whose square is no finite number: 0 for those with entries that are none, others at the bound."""
    whole = np.where(np.isfinite(gradients).all(axis=-1, keepdims=True), gradients, 0.0)
    shape = whole / np.maximum(np.abs(whole).max(axis=-1, keepdims=True), 1e-300)  # entries of at most 1: no square overflows
    return np.asarray(room * shape / np.maximum(np.sqrt(np.square(shape).sum(axis=-1, keepdims=True)), 1.0))


@dataclass(frozen=True, eq=False)
class ClippedSum:
    """What a block adds: the clipped gradients of its records, summed, for every point. Pure, and as small as its points."""

    gradients: RecordGradients
    thetas: Floats
    bound: float

    def __call__(self, rows: Floats, beside: Floats | None) -> tuple[Floats]:
        """Return (chains, parameters), merged records counted as often as they are there."""
        if not len(rows):
            return (np.zeros_like(self.thetas),)
        terms = clip_gradients(self.gradients(rows, self.thetas), self.bound)
        weights = weights_of(beside)
        return (terms.sum(axis=1) if isinstance(weights, float) else np.asarray(np.einsum("r,krd->kd", weights, terms)),)


def clipped_sums(data: RowBlocks, gradients: RecordGradients, thetas: Floats, bound: float) -> Floats:
    """Return the sums (chains, parameters) over all records."""
    block = max(16, min(8192, 1 << int(math.log2(max(CELLS // max(1, thetas.size), 16)))))
    return np.asarray(data.reduce(ClippedSum(gradients, thetas, bound), block)[0])
