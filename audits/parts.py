"""Named parts of `make audit` that continue where they stopped.

A part is a list of units and a function that carries out one. What a unit gave is kept at once in ``.audit/<part>``, beside the
arguments and a digest of the sources it belongs to: the same part started again does only what is missing, and a part that is
complete does nothing. Other arguments, or other sources, begin anew; so does ``FRESH=1``.
"""

from __future__ import annotations

import hashlib
import math
import multiprocessing
import os
import pickle
import sys
import time
from collections.abc import Callable, Hashable, Iterator, Sequence
from pathlib import Path
from typing import Any, BinaryIO, TypeVar

ROOT = Path(__file__).parents[1]
STATE = ROOT / ".audit"
#: What outcomes depend on, besides the script that runs.
SOURCES = ("src/gibbsafe", "tests/oracles", "tests/examples.py")

Unit = TypeVar("Unit", bound=Hashable)


def digest() -> str:
    """Return a digest of everything an outcome depends on."""
    made = hashlib.sha256(Path(sys.argv[0]).read_bytes() if Path(sys.argv[0]).is_file() else b"")
    for source in SOURCES:
        for file in [ROOT / source] if source.endswith(".py") else sorted((ROOT / source).rglob("*")):
            if file.suffix in (".py", ".c", ".json") and file.is_file():
                made.update(file.name.encode() + b"\0" + file.read_bytes())
    return made.hexdigest()


def _entries(file: BinaryIO) -> Iterator[Any]:
    """Yield what was kept; a last entry cut short by an interruption is dropped, and the file ends before it."""
    while True:
        place = file.tell()
        try:
            yield pickle.load(file)
        except (EOFError, pickle.UnpicklingError, AttributeError, IndexError):
            file.seek(place)
            file.truncate()
            return


class Part:
    """One named part: `run` does what is missing of it."""

    def __init__(self, name: str, arguments: Any, *, watched: Callable[[], str] = digest) -> None:
        self.name, self.header = name, (repr(arguments), watched())
        self.path = STATE / f"{name}-{hashlib.sha256(self.header[0].encode()).hexdigest()[:8]}"  # QUICK leaves the long one alone

    def _open(self) -> tuple[BinaryIO, dict[Any, Any], float]:
        STATE.mkdir(exist_ok=True)
        done: dict[Any, Any] = {}
        if self.path.exists() and not os.environ.get("FRESH"):
            file = self.path.open("r+b")
            entries = _entries(file)
            if next(entries, None) == self.header:
                spent = 0.0
                for unit, outcome, seconds in entries:
                    done[unit] = outcome
                    spent += seconds
                return file, done, spent
            file.close()
        file = self.path.open("w+b")
        pickle.dump(self.header, file)
        file.flush()
        return file, done, 0.0

    def run(
        self, units: Sequence[Unit], work: Callable[[Unit], Any], *, workers: int = 2, minutes: float = math.inf
    ) -> tuple[list[Any], float]:
        """Return the outcome of every unit, in order, and the processor seconds they took; carry out those that are missing.

        After so many minutes the rest is left for another time: None stands for it.
        """
        started = time.monotonic()
        file, done, spent = self._open()
        missing = [unit for unit in units if unit not in done]
        if len(missing) < len(units):
            sys.stderr.write(f"{self.name}: {len(units) - len(missing)} of {len(units)} units were done before\n")
        with file:
            for unit, outcome, seconds in carried_out(missing, work, workers):
                pickle.dump((unit, outcome, seconds), file)
                file.flush()
                done[unit], spent = outcome, spent + seconds
                sys.stderr.write(f"{self.name}: {len(done)} of {len(units)} units, {spent:.0f} s\n")
                if time.monotonic() - started > 60 * minutes:
                    break
        return [done.get(unit) for unit in units], spent


def _timed(job: tuple[Callable[[Any], Any], Any]) -> tuple[Any, Any, float]:
    work, unit = job
    started = _processor()
    outcome = work(unit)
    return unit, outcome, _processor() - started


def _processor() -> float:
    """Processor seconds of this process and of those it waited for."""
    times = os.times()
    return times.user + times.system + times.children_user + times.children_system


def carried_out(units: Sequence[Any], work: Callable[[Any], Any], workers: int) -> Iterator[tuple[Any, Any, float]]:
    """Yield every unit with what it gave and the processor seconds it took, as they come."""
    jobs = [(work, unit) for unit in units]
    if workers == 1 or len(jobs) < 2:
        yield from map(_timed, jobs)
        return
    with multiprocessing.get_context("fork").Pool(workers) as pool:
        yield from pool.imap_unordered(_timed, jobs)


def chunks(total: int, each: int) -> list[tuple[int, int]]:
    """Return (number, size) of the chunks into which ``total`` falls."""
    return [(k, min(each, total - k * each)) for k in range(-(-total // each))]
