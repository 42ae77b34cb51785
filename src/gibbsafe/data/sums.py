"""How sums over records are taken: the one place that knows the order of additions, and who works.

Records are cut, in their order, into chunks of `CHUNK_ROWS`; a chunk into blocks, which a block function sees one at a time, and
whose parts are added from left to right; the chunks' sums are added along a binary tree (`add_in_tree`). None of it depends on
who computes a chunk, so results are the same bit by bit for any number of workers; and whoever holds 2^k chunks from a multiple
of 2^k on may send one sum in place of theirs.

A block function is pure: it sees rows and what stands beside them, keeps nothing, and whatever else it needs was given to it
(`functools.partial`): a few kilobytes that can be sent elsewhere. One that is compiled may take many chunks at once, rows of
float32 as they are (`ChunkFunction`), and gives what it would have given block by block.
"""

from __future__ import annotations

import contextvars
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache, partial
from itertools import chain, count, islice
from typing import Any, Protocol, TypeAlias, TypeVar, runtime_checkable

import numpy as np
from threadpoolctl import ThreadpoolController

from gibbsafe import _validate
from gibbsafe._types import Floats, Values

__all__ = [
    "CHUNK_ROWS",
    "BlockFunction",
    "ChunkFunction",
    "Collected",
    "Largest",
    "RowFunction",
    "add_aligned",
    "add_in_tree",
    "added",
    "aligned_runs",
    "alone",
    "available_workers",
    "each_row",
    "in_order",
    "shared",
    "sum_of_blocks",
    "sum_of_chunks",
    "sum_of_run",
    "working",
]

#: Records of a chunk, whatever the block size: small enough for two to be read at once, large enough to be worth a task.
CHUNK_ROWS = 1 << 15
#: Tasks of each worker in a pass, more wait less for the slowest; and the most chunks of a task.
TASKS_EACH, LONGEST_TASK = 4, 64
#: Names a number of workers for whoever names none.
VARIABLE = "GIBBSAFE_WORKERS"


@dataclass(frozen=True, eq=False)
class Largest:
    """Maxima where others are sums: adding takes the larger one, number by number.

    >>> (Largest(np.array([1.0, 5.0])) + Largest(np.array([2.0, 3.0]))).values
    array([2., 5.])
    """

    values: Floats

    def __add__(self, other: Largest) -> Largest:
        return Largest(np.maximum(self.values, other.values))

    def __rmul__(self, times: int) -> Largest:
        return self


@dataclass(frozen=True, eq=False)
class Collected:
    """Arrays kept one after another: of few records, chosen by the function that returns them."""

    arrays: tuple[Values, ...]

    def __add__(self, other: Collected) -> Collected:
        return Collected(self.arrays + other.arrays)

    def __rmul__(self, times: int) -> Collected:
        return Collected(times * self.arrays)

    @property
    def all(self) -> Values:
        """All of them in one array."""
        return np.concatenate(self.arrays)


#: What one block contributes: anything that can be added, and taken a number of times.
Part: TypeAlias = Any
#: Rows (float64, or codes) of a block and what stands beside them (`beside_of`) in, parts out.
BlockFunction: TypeAlias = Callable[[Any, Floats | None], tuple[Part, ...]]
RowFunction: TypeAlias = Callable[[Any, Floats | None], Floats]
#: Some rows from one on, and what stands beside them.
Rows: TypeAlias = Callable[[int, int], tuple[Values, Floats | None]]
Given = TypeVar("Given")
Made = TypeVar("Made")


@runtime_checkable
class ChunkFunction(Protocol):
    """A block function that can take many chunks at once."""

    def __call__(self, rows: Any, beside: Floats | None, /) -> tuple[Part, ...]:
        """Return the parts of one block."""

    def of_chunks(self, rows: Values, beside: Floats | None, block_rows: int, chunk_rows: int) -> Floats | None:
        """Return the sum of every chunk (chunks, ...), its blocks added from left to right; None where that is not compiled."""


def sum_of_chunks(function: BlockFunction, rows_from: Rows, rows: int, block_rows: int) -> tuple[Part, ...]:
    """Return the sum of ``function(rows, beside)`` over all blocks of all chunks."""
    _validate.count("block_rows", block_rows)
    task = partial(_sum_of_task, function, rows_from, block_rows)
    return add_in_tree(shared(task, _tasks(range(0, max(rows, 1), CHUNK_ROWS))))


def _tasks(chunks: range) -> list[range]:
    """Return chunks in runs of 2^k, a few for every worker."""
    crew = _CREW.get()
    each = len(chunks) if crew is None else max(1, len(chunks) // (TASKS_EACH * crew.workers))
    length = min(LONGEST_TASK, 1 << each.bit_length() - 1)
    return [chunks[start : start + length] for start in range(0, len(chunks), length)]


def _sum_of_task(function: BlockFunction, rows_from: Rows, block_rows: int, chunks: range) -> tuple[Part, ...]:
    return sum_of_run(function, *rows_from(chunks.start, len(chunks) * CHUNK_ROWS), block_rows)


def sum_of_run(function: BlockFunction, rows: Values, beside: Floats | None, block_rows: int) -> tuple[Part, ...]:
    """Return the sum over chunks whose first has a number that is a multiple of 2^k, at most 2^k of them."""
    if isinstance(function, ChunkFunction):
        sums = function.of_chunks(rows, beside, block_rows, CHUNK_ROWS)
        if sums is not None:
            return (_down_the_tree(sums),)
    parts = (slice(first, first + CHUNK_ROWS) for first in range(0, max(len(rows), 1), CHUNK_ROWS))
    return add_in_tree(
        sum_of_blocks(function, rows[part], None if beside is None else beside[part], block_rows) for part in parts
    )


def _down_the_tree(sums: Floats) -> Floats:
    """Return what `add_in_tree` would of the sums of chunks, a level at a time: those left over at a level wait for the end."""
    rest = None
    while len(sums) > 1:
        if len(sums) % 2:
            rest = sums[-1] if rest is None else sums[-1] + rest
            sums = sums[:-1]
        sums = sums[::2] + sums[1::2]
    return np.asarray(sums[0] if rest is None else sums[0] + rest)


def sum_of_blocks(function: BlockFunction, rows: Values, beside: Floats | None, block_rows: int) -> tuple[Part, ...]:
    """Sum ``function`` over the blocks of one chunk from left to right, each widened to float64 first unless it holds codes.

    The function's own arrays are never written to: the first block's are copied and the others added to the copies.
    """
    totals: list[Part] = []
    for start in range(0, max(len(rows), 1), block_rows):
        block = rows[start : start + block_rows]
        wide = block if block.dtype.kind == "i" else block.astype(np.float64, copy=False)
        parts = function(wide, None if beside is None else beside[start : start + block_rows])
        if start == 0:
            totals = [np.array(part) if isinstance(part, np.ndarray) else part for part in parts]
        else:
            for index, part in enumerate(parts):
                totals[index] += part  # in place for arrays
    return tuple(totals)


def add_in_tree(sums: Iterable[tuple[Part, ...]]) -> tuple[Part, ...]:
    """Add in order: neighbours first, then their sums, and so on, where 2^k of them begin at a multiple of 2^k.

    >>> add_in_tree((letter,) for letter in "abcde")
    ('abcde',)
    """
    return add_aligned((1, each) for each in sums)


def add_aligned(nodes: Iterable[tuple[int, tuple[Part, ...]]]) -> tuple[Part, ...]:
    """Go on with `add_in_tree` from (size, sum) of subtrees in their order, as `aligned_runs` cuts them: the same sum.

    >>> add_aligned([(2, ("ab",)), (1, ("c",)), (1, ("d",)), (1, ("e",))])
    ('abcde',)
    """
    waiting: list[tuple[int, tuple[Part, ...]]] = []
    for each in nodes:
        size, total = each
        while waiting and waiting[-1][0] == size:
            size, total = 2 * size, added(waiting.pop()[1], total)
        waiting.append((size, total))
    total = waiting.pop()[1]
    while waiting:
        total = added(waiting.pop()[1], total)
    return total


def aligned_runs(first: int, stop: int) -> Iterator[tuple[int, int]]:
    """Yield (first, size) of the fewest subtrees of `add_in_tree` that hold these chunks and no other.

    >>> list(aligned_runs(3, 9))
    [(3, 1), (4, 4), (8, 1)]
    """
    while first < stop:
        size = first & -first or 1 << (stop - first).bit_length()
        while first + size > stop:
            size //= 2
        yield first, size
        first += size


def added(first: tuple[Part, ...], second: tuple[Part, ...]) -> tuple[Part, ...]:
    """Return two tuples' sums, part by part."""
    return tuple(a + b for a, b in zip(first, second, strict=True))


def each_row(function: RowFunction, rows_from: Rows, rows: int) -> Iterator[Floats]:
    """Yield one number per row, in their order; a function of each row alone gives the same ones whatever the chunks are."""
    return in_order(partial(_of_chunk, function, rows_from), range(0, max(rows, 1), CHUNK_ROWS))


def _of_chunk(function: RowFunction, rows_from: Rows, first: int) -> Floats:
    rows, beside = rows_from(first, CHUNK_ROWS)
    return function(rows if rows.dtype.kind == "i" else rows.astype(np.float64, copy=False), beside)


@dataclass(frozen=True)
class _Crew:
    """Threads that take chunks; NumPy and the compiled loops let go of the interpreter while they work."""

    workers: int
    pool: ThreadPoolExecutor


_CREW: contextvars.ContextVar[_Crew | None] = contextvars.ContextVar("crew", default=None)


def available_workers() -> int:
    """Return how many workers there are if nobody says: what GIBBSAFE_WORKERS names, or the cores this process may use."""
    named = os.environ.get(VARIABLE)
    if named is not None:
        if not named.strip().isdigit() or int(named) < 1:
            _validate.fail(VARIABLE, named, "a whole number of at least 1")
        return int(named)
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@cache
def _libraries() -> ThreadpoolController:
    """Whoever knows the loaded libraries for products of matrices: looked for once."""
    return ThreadpoolController()


class _Alone:
    """Whoever is within takes products of matrices by one core each; the last to leave gives the libraries their cores back."""

    def __init__(self) -> None:
        self._lock, self._within = threading.Lock(), 0
        self._limit: Any = None

    def __enter__(self) -> None:
        with self._lock:
            self._within += 1
            if self._within == 1:
                self._limit = _libraries().limit(limits=1, user_api="blas")

    def __exit__(self, *error: object) -> None:
        with self._lock:
            self._within -= 1
            if self._within == 0 and self._limit is not None:
                self._limit.restore_original_limits()


#: For `with`, by any number of threads at a time.
alone = _Alone()


@contextmanager
def working(workers: int | None = None) -> Iterator[None]:
    """Let this many threads share every pass within; each takes its products by itself, so none waits for another's cores."""
    crew = available_workers() if workers is None else _validate.count("workers", workers)
    with alone:
        if crew == 1:
            yield
            return
        with ThreadPoolExecutor(crew, thread_name_prefix="gibbsafe") as pool:
            token = _CREW.set(_Crew(crew, pool))
            try:
                yield
            finally:
                _CREW.reset(token)


def in_order(task: Callable[[Given], Made], items: Iterable[Given]) -> Iterator[Made]:
    """Yield ``task(item)`` in the order of the items; with workers, of the next few at the same time."""
    crew, waiting = _CREW.get(), iter(items)
    first = list(islice(waiting, 2))
    if crew is None or len(first) < 2:
        yield from map(task, chain(first, waiting))
        return
    running: deque[Future[Made]] = deque()
    for item in chain(first, waiting):
        running.append(crew.pool.submit(contextvars.copy_context().run, task, item))
        if len(running) > 2 * crew.workers:
            yield running.popleft().result()
    while running:
        yield running.popleft().result()


def shared(task: Callable[[Given], Made], items: Sequence[Given]) -> list[Made]:
    """Return ``task(item)`` of all items in their order; whoever works takes the next one, so that little is handed over."""
    crew = _CREW.get()
    if crew is None or len(items) < 2:
        return [task(item) for item in items]
    made: list[Any] = [None] * len(items)
    numbers = count()

    def take() -> None:
        try:
            while (number := next(numbers)) < len(items):
                made[number] = task(items[number])
        except BaseException:
            while next(numbers) < len(items):  # nobody goes on
                pass
            raise

    helpers = [crew.pool.submit(contextvars.copy_context().run, take) for _ in range(min(crew.workers, len(items)) - 1)]
    try:
        take()
    finally:
        wait(helpers)
    for helper in helpers:
        helper.result()
    return made
