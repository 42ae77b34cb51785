"""Encoded records that need not fit in memory: kept as blocks, or beyond a limit in a file without a name.

The file is unlinked when it is made: when the process ends, however it ends, the operating system frees it, and nothing that
depends on the data is left on disk.
"""

from __future__ import annotations

import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gibbsafe._types import Values
from gibbsafe.data.blocks import DEFAULT_BLOCK_ROWS, BlockFunction, Blocks, RowBlocks
from gibbsafe.data.sums import CHUNK_ROWS, sum_of_chunks
from gibbsafe.errors import GibbsafeError

__all__ = ["DEFAULT_MEMORY", "SpilledBlocks", "Spool", "room_in_memory"]

#: The memory limit, in bytes, of whoever names none, so that nothing fills a machine's memory by itself.
DEFAULT_MEMORY = 2**32
#: Share of the memory limit that encoded rows may take before they go to the file.
IN_MEMORY = 0.25


#: One reader at a time where a place in a file must be sought before it is read.
_SEEKING = threading.Lock()


class NamelessFile:
    """A temporary file that was unlinked when it was made, and is closed when nobody holds it any more."""

    def __init__(self) -> None:
        with tempfile.TemporaryFile() as file:
            self._descriptor = os.dup(file.fileno())

    def append(self, values: Values) -> None:
        """Write an array at the end."""
        rest = memoryview(values.tobytes())
        while rest:
            rest = rest[os.write(self._descriptor, rest) :]

    def read(self, dtype: np.dtype[Any], first: int, count: int) -> Values:
        """Return ``count`` numbers from the ``first`` one on."""
        values = np.empty(count, dtype=dtype)
        room, start = values.view(np.uint8).data, first * dtype.itemsize
        while room:
            done = _read_at(self._descriptor, room, start)
            if done == 0:
                raise GibbsafeError("temporary file: shorter than what was written to it; the disk may be faulty")
            room, start = room[done:], start + done
        return values

    def __del__(self) -> None:
        if hasattr(self, "_descriptor"):
            os.close(self._descriptor)


def _read_at(descriptor: int, room: memoryview, start: int) -> int:
    """Fill ``room`` from a place of a file; return how many bytes came. Windows cannot say place and read in one call."""
    if hasattr(os, "preadv"):
        return os.preadv(descriptor, [room], start)
    with _SEEKING:
        os.lseek(descriptor, start, os.SEEK_SET)
        content = os.read(descriptor, len(room))
    room[: len(content)] = content
    return len(content)


@dataclass(frozen=True, eq=False)
class SpilledBlocks:
    """Encoded records in a file without a name; reductions see the same blocks, in the same order, as those of `Blocks`."""

    rows: NamelessFile
    targets: NamelessFile | None
    n_rows: int
    width: int
    dtype: np.dtype[Any]

    @property
    def has_targets(self) -> bool:
        """Whether there is a file of targets."""
        return self.targets is not None

    @property
    def weights(self) -> None:
        """Every row stands for itself."""

    def reduce(self, function: BlockFunction, block_rows: int = DEFAULT_BLOCK_ROWS) -> tuple[Any, ...]:
        """Sum of ``function(rows, targets)`` over consecutive blocks of at most ``block_rows`` rows."""
        return sum_of_chunks(function, self._chunk, self.n_rows, block_rows)

    def take(self, records: npt.NDArray[np.int64]) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64] | None]:
        """Return rows and targets of these records, each read by itself."""
        rows = np.empty((len(records), self.width), dtype=self.dtype)
        targets = None if self.targets is None else np.empty(len(records))
        for k, record in enumerate(records.tolist()):
            rows[k] = self.rows.read(self.dtype, record * self.width, self.width)
            if targets is not None and self.targets is not None:
                targets[k] = self.targets.read(np.dtype(np.float64), record, 1)[0]
        return rows.astype(np.float64, copy=False), targets

    def _chunk(self, first: int) -> tuple[Values, Any]:
        """Read the rows of one chunk, and their targets."""
        held = min(CHUNK_ROWS, self.n_rows - first)
        rows = self.rows.read(self.dtype, first * self.width, held * self.width).reshape(held, self.width)
        return rows, None if self.targets is None else self.targets.read(np.dtype(np.float64), first, held)


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
    """Collects encoded blocks: in memory up to the limit (bytes), beyond it in a file without a name."""

    def __init__(self, memory: int | None = None) -> None:
        self._limit = room_in_memory(memory)
        self._kept: list[Blocks] = []
        self._bytes = self._rows = 0
        self._files: tuple[NamelessFile, NamelessFile | None] | None = None
        self._form: tuple[int, np.dtype[Any]] | None = None

    def add(self, block: Blocks) -> None:
        """Append encoded records."""
        self._form = self._form or (block.width, block.rows.dtype)
        self._rows += block.n_rows
        self._bytes += block.rows.nbytes + (0 if block.targets is None else block.targets.nbytes)
        self._kept.append(block)
        if self._bytes > self._limit:
            self._spill()

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
        if self._files is None and len(self._kept) == 1:
            return self._kept[0]
        if self._files is None:
            targets = [block.targets for block in self._kept if block.targets is not None]
            rows = np.concatenate([block.rows for block in self._kept])
            return Blocks(rows, np.concatenate(targets) if targets else None)
        self._spill()
        rows_file, targets_file = self._files
        assert self._form is not None
        return SpilledBlocks(rows_file, targets_file, self._rows, *self._form)
