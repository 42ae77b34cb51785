"""Records that repeat, counted instead of stored: neighbouring data sets built to be extreme have few different ones."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np

from gibbsafe.data.blocks import DEFAULT_BLOCK_ROWS, BlockFunction, Blocks, RowBlocks
from gibbsafe.data.sums import added

__all__ = ["RepeatedRecords", "count_repeats"]


@dataclass(frozen=True, eq=False)
class RepeatedRecords:
    """Row blocks in which record k stands ``counts[k]`` times: every reduction is a sum over records, so each is counted."""

    records: tuple[Blocks, ...]
    counts: tuple[int, ...]

    @property
    def n_rows(self) -> int:
        """Number of records, repetitions included."""
        return sum(self.counts)

    @property
    def width(self) -> int:
        """Number of columns of a row."""
        return self.records[0].width

    @property
    def has_targets(self) -> bool:
        """Whether the first record has a target, as all others then."""
        return self.records[0].has_targets

    @property
    def weights(self) -> None:
        """A block is a record, counted when blocks are added up."""

    def reduce(self, function: BlockFunction, block_rows: int = DEFAULT_BLOCK_ROWS) -> tuple[Any, ...]:
        """Sum of ``function(rows, targets)`` over all records."""
        parts = [record.reduce(function, block_rows) for record in self.records]
        return reduce(added, (tuple(times * part for part in each) for times, each in zip(self.counts, parts, strict=True)))


def count_repeats(blocks: RowBlocks) -> RowBlocks:
    """Return the same records counted, where at least three of four are repetitions; otherwise the blocks themselves."""
    if not isinstance(blocks, Blocks) or blocks.n_rows < 8:
        return blocks
    rows = blocks.rows if blocks.targets is None else np.column_stack([blocks.rows.astype(np.float64), blocks.targets])
    _, first, counts = np.unique(rows, axis=0, return_index=True, return_counts=True)
    if len(first) > blocks.n_rows // 4:
        return blocks
    records = tuple(
        Blocks(np.ascontiguousarray(blocks.rows[k : k + 1]), None if blocks.targets is None else blocks.targets[k : k + 1])
        for k in first
    )
    return RepeatedRecords(records, tuple(int(times) for times in counts))
