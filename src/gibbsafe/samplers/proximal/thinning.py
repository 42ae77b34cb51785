"""Events of probability exp(−Σ_i D_i), decided by looking at a few records instead of summing over all.

If 0 ≤ D_i ≤ b for every one of N records, let a Poisson number of mean N·b of records be drawn, uniformly and with replacement,
and reject if one of them has U·b < D_i for a fresh uniform U. Rejections are then a Poisson process of rate Σ D_i (thinning), so
none happens with probability exp(−Σ D_i), exactly. What it takes is random access to records; merged ones are drawn as often as
they stand there, by whole numbers, so that no probability is rounded.
"""

from __future__ import annotations

from typing import Protocol, TypeAlias, runtime_checkable

import numpy as np
import numpy.typing as npt

from gibbsafe._types import Floats, Values
from gibbsafe.data.blocks import Blocks, RowBlocks

__all__ = ["RandomAccess", "random_access"]

Indices: TypeAlias = npt.NDArray[np.int64]


@runtime_checkable
class RandomAccess(Protocol):
    """Records that can be looked up by their number."""

    @property
    def n_rows(self) -> int:
        """Number of records, merged ones included."""

    def take(self, records: Indices) -> tuple[Floats, Floats | None]:
        """Rows and targets of these records."""


class InMemory:
    """Random access to `Blocks`; record numbers count merged records as often as they stand there."""

    def __init__(self, blocks: Blocks) -> None:
        self._rows: Values = blocks.rows
        self._targets = blocks.targets
        self._last = None if blocks.weights is None else np.cumsum(blocks.weights.astype(np.int64))
        self.n_rows = blocks.n_rows

    def take(self, records: Indices) -> tuple[Floats, Floats | None]:
        """Rows and targets of these records."""
        index = records if self._last is None else np.searchsorted(self._last, records, side="right")
        rows = self._rows[index].astype(np.float64, copy=False)
        return rows, None if self._targets is None else self._targets[index]


def random_access(data: RowBlocks) -> RandomAccess | None:
    """Return random access to the records, or None where they are streamed and a pass has to do."""
    if isinstance(data, Blocks):
        return InMemory(data)
    return data if isinstance(data, RandomAccess) else None
