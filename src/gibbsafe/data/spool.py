"""Encoded records that need not fit in memory: kept as blocks, or beyond a limit in a file without a name.

The file is unlinked when it is made: when the process ends, however it ends, the operating system frees it, and nothing that
depends on the data is left on disk.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from gibbsafe.data.blocks import DEFAULT_BLOCK_ROWS, BlockFunction, Blocks, RowBlocks, add_up
from gibbsafe.errors import GibbsafeError

__all__ = ["SpilledBlocks", "Spool"]

#: How much is read at a time, in bytes: several blocks of a reduction.
READ_BYTES = 2**22
#: Share of the memory limit that encoded rows may take before they go to the file.
IN_MEMORY = 0.25


@dataclass(frozen=True, eq=False)
class SpilledBlocks:
    """Encoded records in a file without a name; reductions see the same blocks, in the same order, as those of `Blocks`."""

    rows: IO[bytes]
    targets: IO[bytes] | None
    n_rows: int
    width: int
    dtype: np.dtype[Any]

    def reduce(self, function: BlockFunction, block_rows: int = DEFAULT_BLOCK_ROWS) -> tuple[Any, ...]:
        """Sum of ``function(rows, targets)`` over consecutive blocks of at most ``block_rows`` rows."""
        return add_up(function, self._blocks(block_rows), block_rows)

    def _blocks(self, block_rows: int) -> Any:
        """Yield (rows, targets) of every block; several blocks are read at once."""
        per_read = max(1, READ_BYTES // (self.dtype.itemsize * self.width * block_rows)) * block_rows
        for first in range(0, max(self.n_rows, 1), per_read):
            held = min(per_read, self.n_rows - first)
            rows = self._read(self.rows, self.dtype, first * self.width, held * self.width).reshape(held, self.width)
            targets = None if self.targets is None else self._read(self.targets, np.dtype(np.float64), first, held)
            for start in range(0, max(held, 1), block_rows):
                part = slice(start, start + block_rows)
                yield rows[part], None if targets is None else targets[part]

    @staticmethod
    def _read(file: IO[bytes], dtype: np.dtype[Any], first: int, count: int) -> npt.NDArray[Any]:
        values = np.empty(count, dtype=dtype)
        file.seek(first * dtype.itemsize)
        if file.readinto(values.data.cast("B")) != values.nbytes:  # type: ignore[attr-defined]
            raise GibbsafeError("temporary file: shorter than what was written to it; the disk may be faulty")
        return values


def _nameless() -> IO[bytes]:
    return tempfile.TemporaryFile()


@contextmanager
def _disk_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        raise GibbsafeError(f"temporary file in {tempfile.gettempdir()}: {reason}; set TMPDIR to a disk with room") from error


class Spool:
    """Collects encoded blocks: in memory up to the limit (bytes), beyond it in a file without a name."""

    def __init__(self, memory: int | None = None) -> None:
        self._limit = None if memory is None else int(memory * IN_MEMORY)
        self._kept: list[Blocks] = []
        self._bytes = self._rows = 0
        self._files: tuple[IO[bytes], IO[bytes] | None] | None = None
        self._form: tuple[int, np.dtype[Any]] | None = None

    def add(self, block: Blocks) -> None:
        """Append encoded records."""
        self._form = self._form or (block.width, block.rows.dtype)
        self._rows += block.n_rows
        self._bytes += block.rows.nbytes + (0 if block.targets is None else block.targets.nbytes)
        self._kept.append(block)
        if self._limit is not None and self._bytes > self._limit:
            self._spill()

    def _spill(self) -> None:
        """Move what is held in memory to the file."""
        with _disk_errors():
            if self._files is None:
                with_targets = self._kept[0].targets is not None
                self._files = (_nameless(), _nameless() if with_targets else None)
            rows_file, targets_file = self._files
            for block in self._kept:
                rows_file.write(block.rows.tobytes())
                if targets_file is not None and block.targets is not None:
                    targets_file.write(block.targets.tobytes())
        self._kept = []
        self._bytes = self._limit or 0  # every further block goes to the file at once

    def finish(self) -> RowBlocks:
        """Return all records."""
        if self._files is None:
            targets = [block.targets for block in self._kept if block.targets is not None]
            rows = np.concatenate([block.rows for block in self._kept])
            return Blocks(rows, np.concatenate(targets) if targets else None)
        self._spill()
        rows_file, targets_file = self._files
        with _disk_errors():
            for file in self._files:
                if file is not None:
                    file.flush()
        assert self._form is not None
        return SpilledBlocks(rows_file, targets_file, self._rows, *self._form)
