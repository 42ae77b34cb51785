"""Encoded records on the workers of a cluster, as samplers see them: sums, and a record here and there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from gibbsafe import _validate
from gibbsafe._types import Floats, Values
from gibbsafe.data.blocks import DEFAULT_BLOCK_ROWS, Blocks, RowBlocks
from gibbsafe.data.cluster.crews import Crew
from gibbsafe.data.cluster.tasks import beside_run, different, rows_of, sample, sum_of_run
from gibbsafe.data.compression import FEWEST, LARGEST_SHARE, merged_rows, sampling
from gibbsafe.data.sums import CHUNK_ROWS, BlockFunction, RowFunction, add_aligned

__all__ = ["ClusterBlocks"]

FAILED = "cluster: a task failed"


@dataclass(frozen=True, eq=False)
class ClusterBlocks:
    """Runs of chunks on workers, in the order of their records.

    A pass is one round trip: every worker sums over the chunks of its runs, in their order and along the tree of
    `gibbsafe.data.sums`, and sends the sums of the largest subtrees it holds; they are added here along the rest of the tree. So
    sums are those of `Blocks`, bit by bit, however runs are split, and whoever computes them again. ``in_room`` says that the
    records would fit into the memory limit here, ``beside`` what stands beside the rows of each run in the place of targets.
    """

    crew: Crew
    runs: tuple[Any, ...]
    firsts: tuple[int, ...]
    n_rows: int
    width: int
    dtype: np.dtype[Any]
    has_targets: bool
    in_room: bool = False
    beside: tuple[Any, ...] = ()

    @property
    def weights(self) -> None:
        """Every row stands for itself."""

    @property
    def nbytes(self) -> int:
        """Bytes of all encoded records, their responses included."""
        return self.n_rows * (self.width * self.dtype.itemsize + (8 if self.has_targets else 0))

    def reduce(self, function: BlockFunction, block_rows: int = DEFAULT_BLOCK_ROWS) -> tuple[Any, ...]:
        """Sum of ``function(rows, targets)`` over consecutive blocks of at most ``block_rows`` rows."""
        _validate.count("block_rows", block_rows)
        beside = (self.beside,) if self.beside else ()
        futures = self.crew.map(FAILED, sum_of_run, (function, block_rows), self.firsts, self.runs, *beside)
        return add_aligned(node for nodes in self.crew.results(futures) for node in nodes)

    def with_beside(self, function: RowFunction) -> ClusterBlocks:
        """Return the same rows, with what the function says of each kept beside it by whoever holds it."""
        return replace(self, beside=tuple(self.crew.map(FAILED, beside_run, (function,), self.runs)))

    def merged(self) -> RowBlocks:
        """Return identical records merged into weighted rows, here, where `merge_identical` would; otherwise these."""
        if not self.in_room or self.n_rows < FEWEST or self.dtype.kind != "f":
            return self
        threshold, most = sampling(self.n_rows)
        if len(np.unique(np.concatenate(self._of_runs(sample, threshold, most)))) > most:
            return self
        parts = self._of_runs(different)
        whole = None if any(part is None for part in parts) else merged_rows(parts)
        if whole is None or len(whole[0]) > LARGEST_SHARE * self.n_rows:
            return self
        return Blocks(whole[1], whole[2], whole[3].astype(np.float64))

    def _of_runs(self, task: Callable[..., Any], *told: object) -> list[Any]:
        return self.crew.results([self.crew.submit(FAILED, task, *told, run) for run in self.runs])

    @cached_property
    def _home(self) -> tuple[Values, Floats | None]:
        """All records, brought here once."""
        runs = self.crew.results(self.runs)
        targets = [run.targets for run in runs if run.targets is not None]
        return np.concatenate([run.rows for run in runs]), np.concatenate(targets) if targets else None

    def take(self, records: npt.NDArray[np.int64]) -> tuple[Floats, Floats | None]:
        """Return rows and targets of these records; whoever asks once asks thousands of times, so all come if they have room."""
        if self.in_room:
            rows, targets = self._home
            return rows[records].astype(np.float64, copy=False), None if targets is None else targets[records]
        return self._fetched(records)

    def _fetched(self, records: npt.NDArray[np.int64]) -> tuple[Floats, Floats | None]:
        """Return records from whoever holds them."""
        run = np.searchsorted(np.array(self.firsts) * CHUNK_ROWS, records, side="right") - 1
        holders = np.unique(run)
        futures = [
            self.crew.submit(FAILED, rows_of, records[run == k] - self.firsts[k] * CHUNK_ROWS, self.runs[k]) for k in holders
        ]
        rows = np.empty((len(records), self.width))
        targets = np.empty(len(records)) if self.has_targets else None
        for k, (found, beside) in zip(holders, self.crew.results(futures), strict=True):
            rows[run == k] = found
            if targets is not None:
                targets[run == k] = beside
        return rows, targets
