"""Long simulations in pieces: every piece is written when it is done, and a run that was stopped goes on where it was.

A file of results has one JSON document per line, ``{"key": …, "values": […]}``. The key holds everything that the values depend
on, the seed included, so one file may serve several figures, sizes and numbers of repeats.
"""

from __future__ import annotations

import json
import multiprocessing
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from itertools import count as counted
from pathlib import Path
from typing import Any

from gibbsafe._files import write_whole
from gibbsafe._types import JSON
from gibbsafe._validate import count
from gibbsafe.errors import GibbsafeError
from gibbsafe.progress import counting_bar

__all__ = ["Results"]


def _name(key: JSON) -> str:
    return json.dumps(key, sort_keys=True, ensure_ascii=False)


def _line(key: JSON, values: list[Any]) -> str:
    return json.dumps({"key": key, "values": values}) + "\n"


class Results:
    """Values of pieces by their keys, in memory and, with a ``path``, in a file that grows as they come."""

    def __init__(self, path: Path | None = None) -> None:
        self.path = path
        self.values: dict[str, list[Any]] = {}
        self._torn = False
        if path is not None and path.exists():
            self._read(path)

    def _read(self, path: Path) -> None:
        *lines, last = path.read_text(encoding="utf-8").split("\n")
        try:
            for row in map(json.loads, lines):
                self.values[_name(row["key"])] = row["values"]
            if last and not last.startswith('{"key": '):
                raise ValueError(last)
        except (ValueError, KeyError, TypeError) as error:
            raise GibbsafeError(f"{path}: no file of results (one JSON document per line); choose another name") from error
        self._torn = bool(last)  # a run was stopped while it wrote a line: that piece is computed again

    def _keep(self, key: JSON, values: list[Any]) -> None:
        if self.path is not None:
            if self._torn:
                kept = (_line(json.loads(name), old) for name, old in self.values.items())
                write_whole(self.path, "".join(kept).encode(), force=True)
                self._torn = False
            try:
                with self.path.open("a", encoding="utf-8") as file:
                    file.write(_line(key, values))
            except OSError as error:
                raise GibbsafeError(f"{self.path}: cannot be written ({error.strerror}); choose another path") from error
        self.values[_name(key)] = values

    def complete(
        self,
        settings: Sequence[JSON],
        repeats: int,
        work: Callable[[JSON], list[Any]],
        *,
        size: int = 20,
        workers: int = 1,
        progress: bool | None = None,
    ) -> list[list[Any]]:
        """Return ``repeats`` values at least for each of the settings, computing the pieces of ``size`` that are missing.

        ``work`` gets the settings with ``first`` and ``count``, the repeats of the piece, and is a function of a module: with
        more than one worker it runs in other processes. What the file has beyond ``repeats`` is returned as well.
        """
        total = count("repeats", repeats)
        keys = [
            each | {"first": first, "count": min(size, total - first)} for each in settings for first in range(0, total, size)
        ]
        missing = [key for key in keys if _name(key) not in self.values]
        with counting_bar(progress, len(missing), "pieces") as advance:
            for key, values in _computed(work, missing, count("workers", workers)):
                self._keep(key, values)
                advance(1)
        return [self._all(each, total, size) for each in settings]

    def _all(self, settings: JSON, total: int, size: int) -> list[Any]:
        found: list[Any] = []
        for first in counted(0, size):
            last = settings | {"first": first, "count": min(size, total - first)} if first < total else None
            whole = self.values.get(_name(settings | {"first": first, "count": size}))
            piece = whole if whole is not None or last is None else self.values[_name(last)]
            if piece is None:
                return found
            found += piece
            if len(piece) < size:
                return found
        raise AssertionError


def _computed(work: Callable[[JSON], list[Any]], keys: Sequence[JSON], workers: int) -> Iterable[tuple[JSON, list[Any]]]:
    if workers == 1 or len(keys) <= 1:
        for key in keys:
            yield key, work(key)
        return
    # A fresh interpreter per worker: forking a process that holds threads may hang.
    with ProcessPoolExecutor(workers, mp_context=multiprocessing.get_context("spawn")) as pool:
        futures = {pool.submit(work, key): key for key in keys}
        try:
            for future in as_completed(futures):
                yield futures[future], future.result()
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            raise
