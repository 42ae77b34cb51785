"""Encoded records that need not fit in memory: kept as blocks, or beyond a limit in a file without a name.

The file is unlinked when it is made: when the process ends, however it ends, the operating system frees it, and nothing that
depends on the data is left on disk.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gibbsafe._types import Floats, Values
from gibbsafe.data.blocks import DEFAULT_BLOCK_ROWS, BlockFunction, Blocks, RowBlocks
from gibbsafe.data.sums import RowFunction, each_row, sum_of_chunks
from gibbsafe.errors import GibbsafeError

__all__ = ["DEFAULT_MEMORY", "SpilledBlocks", "Spool", "room_in_memory"]

#: The memory limit, in bytes, of whoever names none, so that nothing fills a machine's memory by itself.
DEFAULT_MEMORY = 2**32
#: Share of the memory limit that encoded rows may take before they go to the file.
IN_MEMORY = 0.25


class NamelessFile:
    """A temporary file that was unlinked when it was made, and is closed when nobody holds it any more."""

    def __init__(self) -> None:
        with tempfile.TemporaryFile() as file:
            self._descriptor = os.dup(file.fileno())

    def append(self, values: Values) -> None:
        """Write an array at the end."""
        rest = np.ascontiguousarray(values).reshape(-1).view(np.uint8).data
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]

    def numbers(self, dtype: np.dtype[Any]) -> Values:
        """Return what was written, as the operating system maps it: its own cache of the file, no memory of the process."""
        size = os.fstat(self._descriptor).st_size
        if not size:
            return np.empty(0, dtype=dtype)
        return np.frombuffer(mmap.mmap(self._descriptor, size, access=mmap.ACCESS_READ), dtype=dtype)

    def __del__(self) -> None:
        if hasattr(self, "_descriptor"):
            os.close(self._descriptor)


@dataclass(frozen=True, eq=False)
class SpilledBlocks:
    """Encoded records in a file without a name; reductions see the same blocks, in the same order, as those of `Blocks`.

    Rows and targets are views of the file: it stays open as long as they do.
    """

    rows: Values
    targets: Floats | None = None

    @property
    def n_rows(self) -> int:
        """Number of records."""
        return len(self.rows)

    @property
    def width(self) -> int:
        """Number of columns of a row."""
        return int(self.rows.shape[1])

    @property
    def has_targets(self) -> bool:
        """Whether there is a file of targets."""
        return self.targets is not None

    @property
    def weights(self) -> None:
        """Every row stands for itself."""

    def reduce(self, function: BlockFunction, block_rows: int = DEFAULT_BLOCK_ROWS) -> tuple[Any, ...]:
        """Sum of ``function(rows, targets)`` over consecutive blocks of at most ``block_rows`` rows."""
        return sum_of_chunks(function, self._from, self.n_rows, block_rows)

    def take(self, records: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64] | None]:
        """Return rows and targets of these records, each read by itself."""
        rows = self.rows[records].astype(np.float64, copy=False)
        return rows, None if self.targets is None else self.targets[records]

    def with_beside(self, function: RowFunction) -> SpilledBlocks:
        """Return the same rows, with what the function says of each in a file of its own."""
        with _disk_errors():
            file = NamelessFile()
            for numbers in each_row(function, self._from, self.n_rows):
                file.append(numbers)
        return SpilledBlocks(self.rows, file.numbers(np.dtype(np.float64)))

    def _from(self, first: int, rows: int) -> tuple[Values, Floats | None]:
        part = slice(first, first + rows)
        return self.rows[part], None if self.targets is None else self.targets[part]


@contextmanager
def _disk_errors() -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or error
        raise GibbsafeError(f"temporary file in {tempfile.gettempdir()}: {reason}; set TMPDIR to a disk with room") from error


def room_in_memory(memory: int | None) -> int:
    """Return how many bytes encoded rows may take before they are kept elsewhere."""
    return int((DEFAULT_MEMORY if memory is None else memory) * IN_MEMORY)


class Spool:
    """Collects encoded blocks: in memory up to the limit (bytes), beyond it in a file without a name.

    Where the number of records is known (``expected``), room for all is taken with the first block, and others are put in place
    as they come.
    """

    def __init__(self, memory: int | None = None, expected: int | None = None) -> None:
        self._limit, self._expected = room_in_memory(memory), expected
        self._kept: list[Blocks] = []
        self._bytes = self._rows = 0
        self._room: Blocks | None = None
        self._files: tuple[NamelessFile, NamelessFile | None] | None = None
        self._form: tuple[int, np.dtype[Any]] | None = None

    def add(self, block: Blocks) -> None:
        """Append encoded records."""
        self._form = self._form or (block.width, block.rows.dtype)
        if self._expected is not None:
            self._put(block, self._expected)
            return
        self._rows += block.n_rows
        self._bytes += block.rows.nbytes + (0 if block.targets is None else block.targets.nbytes)
        self._kept.append(block)
        if self._bytes > self._limit:
            self._spill()

    def _put(self, block: Blocks, expected: int) -> None:
        """Copy a block to its place."""
        if self._room is None and block.n_rows == expected:
            self._room, self._rows = block, expected
            return
        if self._room is None:
            rows = np.empty((expected, block.width), dtype=block.rows.dtype)
            self._room = Blocks(rows, None if block.targets is None else np.empty(expected))
        part = slice(self._rows, self._rows + block.n_rows)
        self._room.rows[part] = block.rows
        if self._room.targets is not None:
            self._room.targets[part] = block.targets
        self._rows = part.stop

    def _spill(self) -> None:
        """Move what is held in memory to the file."""
        with _disk_errors():
            if self._files is None:
                with_targets = self._kept[0].targets is not None
                self._files = (NamelessFile(), NamelessFile() if with_targets else None)
            rows_file, targets_file = self._files
            for block in self._kept:
                rows_file.append(block.rows)
                if targets_file is not None and block.targets is not None:
                    targets_file.append(block.targets)
        self._kept = []
        self._bytes = self._limit  # every further block goes to the file at once

    def finish(self) -> RowBlocks:
        """Return all records."""
        if self._room is not None:
            whole = slice(0, self._rows)  # fewer than expected where persons are capped
            return Blocks(self._room.rows[whole], None if self._room.targets is None else self._room.targets[whole])
        if self._files is None and len(self._kept) == 1:
            return self._kept[0]
        if self._files is None:
            targets = [block.targets for block in self._kept if block.targets is not None]
            rows = np.concatenate([block.rows for block in self._kept])
            return Blocks(rows, np.concatenate(targets) if targets else None)
        self._spill()
        rows_file, targets_file = self._files
        assert self._form is not None
        width, dtype = self._form
        targets_read = None if targets_file is None else targets_file.numbers(np.dtype(np.float64))
        return SpilledBlocks(rows_file.numbers(dtype).reshape(-1, width), targets_read)
