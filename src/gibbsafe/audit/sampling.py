"""Running a mechanism many times on two data sets: in batches, in parallel, within a time budget."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gibbsafe._types import Floats
from gibbsafe.errors import GibbsafeError
from gibbsafe.progress import Progress

__all__ = ["Mechanism", "Sample", "run"]

#: A callable of a data set, or with ``vectorised=True`` of a data set and a number of runs.
Mechanism: TypeAlias = Callable[..., Any]

BATCHES = 64
#: Runs on each data set that are made whatever the clock says: fewer bound nothing.
FEWEST = 8
#: A vectorised mechanism sets up once per batch, so batches are large.
RUNS_AT_ONCE = 4000


@dataclass(frozen=True, eq=False)
class Sample:
    """Outputs of independent runs, (runs, width); runs that ended in an exception are marked, and their outputs are 0."""

    outputs: Floats
    refused: npt.NDArray[np.bool_]

    def __len__(self) -> int:
        return len(self.outputs)

    def __getitem__(self, part: slice) -> Sample:
        return Sample(self.outputs[part], self.refused[part])


def _batch(mechanism: Mechanism, data: object, runs: int, vectorised: bool) -> list[Floats | None]:
    """Return one flat output per run, None for a refusal: refusing is an output too, and may reveal a record."""
    if vectorised:
        try:
            outputs = np.asarray(mechanism(data, runs), dtype=np.float64).reshape(runs, -1)
        except GibbsafeError:
            return [None] * runs
        return list(outputs)
    found: list[Floats | None] = []
    for _ in range(runs):
        try:
            found.append(np.atleast_1d(np.asarray(mechanism(data), dtype=np.float64)).ravel())
        except (GibbsafeError, ArithmeticError, ValueError):
            found.append(None)
    return found


def _batches(tasks: list[tuple[Any, ...]], workers: int) -> Iterator[list[Floats | None]]:
    if workers == 1:
        yield from (_batch(*task) for task in tasks)
        return
    from joblib import Parallel, delayed

    results: Iterable[list[Floats | None]] = Parallel(n_jobs=workers, return_as="generator")(
        delayed(_batch)(*task) for task in tasks
    )
    yield from results


def _sizes(draws: int, batches: int, *, hurried: bool) -> list[int]:
    """Return how many runs each batch makes; where a clock is looked at between them the first are small.

    >>> _sizes(10, 3, hurried=False), _sizes(1000, 20, hurried=True)[:5]
    ([4, 3, 3], [8, 16, 32, 56, 56])
    """
    first: list[int] = []
    while hurried and (size := FEWEST * 2 ** len(first)) < draws // batches:
        first.append(size)
    rest = draws - sum(first)
    return first + [part.size for part in np.array_split(np.arange(rest), min(batches - len(first), rest))]


def run(
    mechanism: Mechanism,
    data: tuple[Any, Any],
    draws: int,
    *,
    vectorised: bool,
    workers: int,
    seconds: float | None,
    report: Progress | None,
) -> tuple[Sample, Sample]:
    """Return samples of equal size on both data sets: ``draws`` each, or what the time allowed, decided by the clock alone."""
    batches = max(2 * workers, draws // RUNS_AT_ONCE) if vectorised else BATCHES
    sizes = _sizes(draws, batches if seconds is None else max(batches, BATCHES), hurried=seconds is not None)
    tasks = [(mechanism, each, size, vectorised) for size in sizes for each in data]
    outputs: tuple[list[Floats | None], list[Floats | None]] = ([], [])
    started = time.perf_counter()
    seen: tuple[set[bytes], set[bytes]] = (set(), set())
    for k, found in enumerate(_batches(tasks, workers)):
        outputs[k % 2].extend(found)
        _require_fresh(found, seen[k % 2])
        spent = time.perf_counter() - started
        if report is not None:
            done = len(outputs[0]) + len(outputs[1])
            report(done, 2 * draws, done, spent)
        if seconds is not None and spent > seconds and k % 2 == 1 and len(outputs[1]) >= FEWEST:
            break
    width = max((each.size for side in outputs for each in side if each is not None), default=1)
    return _sample(outputs[0], width), _sample(outputs[1], width)


def _require_fresh(found: list[Floats | None], seen: set[bytes]) -> None:
    """Refuse a batch that repeats an earlier one number for number: a generator was copied into several processes."""
    outputs = [each for each in found if each is not None]
    if len({each.tobytes() for each in outputs}) < 2:  # one output over and over is the mechanism's own doing
        return
    content = b"".join(each.tobytes() for each in outputs)
    if content in seen:
        raise GibbsafeError("mechanism: two batches of runs are identical; let it make its own generator in every call")
    seen.add(content)


def _sample(outputs: list[Floats | None], width: int) -> Sample:
    filled = np.zeros((len(outputs), width))
    for k, output in enumerate(outputs):
        if output is not None:
            filled[k, : output.size] = output
    return Sample(filled, np.array([output is None for output in outputs]))
