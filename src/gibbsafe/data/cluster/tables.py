"""What the workers of a cluster read: partitions of Dask collections, files of a directory, row groups of a Parquet file."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from gibbsafe.data.cluster.crews import Crew, crew_of
from gibbsafe.data.cluster.tasks import Asked, count
from gibbsafe.data.declared import DeclaredTable
from gibbsafe.data.directories import DirectoryTable
from gibbsafe.data.files import FileTable
from gibbsafe.data.options import Encoder, EncodingOptions
from gibbsafe.errors import DomainError

__all__ = ["ClusterTable", "is_dask", "on_cluster"]


def is_dask(data: object) -> bool:
    """Whether the data are a Dask collection, also one that a study declares, or a pair with one in it."""
    source = data.source if isinstance(data, DeclaredTable) else data
    parts = source if isinstance(source, tuple | list) else (source,)
    return any(hasattr(part, "__dask_graph__") for part in parts)


@contextmanager
def on_cluster(data: object, cluster: object = None, *, insecure: bool = False, shown: bool = False) -> Iterator[object]:
    """Yield the data as what workers of a cluster read, if a cluster is named or they are Dask's; anything else as it is."""
    if cluster is None and not is_dask(data):
        yield data
        return
    with crew_of(cluster, insecure=insecure, shown=shown) as crew:
        yield ClusterTable(data, crew)


@dataclass(frozen=True, eq=False)
class ClusterTable:
    """Records that workers read: how they are split, and who the workers are."""

    data: object
    crew: Crew

    def count_rows(self) -> int:
        """Return the number of records; workers count them, and encode none."""
        source = self.data.source if isinstance(self.data, DeclaredTable) else self.data
        if isinstance(source, FileTable | DirectoryTable):
            return source.count_rows()
        asked = replace(self.asked(None, EncodingOptions()))  # type: ignore[arg-type]
        calls = [(asked, *each) for each in self.partitions(None)]
        return sum(self.crew.results(self.crew.compute("data: cannot be counted", count, calls)))

    def asked(self, model: Encoder, options: EncodingOptions, persons: object = None, of_persons: bool = False) -> Asked:
        """Return how workers are to read the records."""
        declared = replace(self.data, source={}) if isinstance(self.data, DeclaredTable) else None
        return Asked(model, options, of_persons, persons if isinstance(persons, str) else None, declared)

    def partitions(self, persons: object) -> list[tuple[Any, ...]]:
        """Return (name for messages, partition, identifiers) of each: what `encode` and `count` take."""
        declared = isinstance(self.data, DeclaredTable)
        source: Any = self.data.source if isinstance(self.data, DeclaredTable) else self.data
        if isinstance(source, FileTable):
            return [("", part) for part in _anywhere(source).split()]
        if isinstance(source, DirectoryTable):
            return [("", replace(part, file=_anywhere(part.file))) for part in source.parts]
        if hasattr(source, "__dask_graph__") and hasattr(source, "columns"):
            if declared:
                source = _projected(source, self.data.wanted)  # type: ignore[attr-defined]
            parts = [(part,) for part in source.to_delayed()]
        else:
            parts = _array_parts(source)
        named = [(f"partition {k}: ", part[0] if len(part) == 1 else part) for k, part in enumerate(parts)]
        if persons is None or isinstance(persons, str):
            return named
        beside = _array_parts(persons)
        if len(beside) != len(named):
            raise DomainError("persons: not in as many partitions as the records; give both the same chunks")
        return [(*each, identifiers[0]) for each, identifiers in zip(named, beside, strict=True)]


def _anywhere(file: FileTable) -> FileTable:
    """Return a file by a path that does not depend on where a worker was started."""
    return replace(file, path=file.path.absolute()) if isinstance(file.path, Path) else file


def _projected(frame: Any, wanted: Any) -> Any:
    """Return a frame's declared columns: others are never read."""
    present = list(frame.columns)
    for name in wanted:
        if present.count(name) != 1:
            raise DomainError(f"column {name!r}: found {present.count(name)} times in the table, must be there once")
    return frame[list(wanted)]


def _array_parts(data: Any) -> list[tuple[Any, ...]]:
    """Return the row blocks of an array, or of arrays side by side, as what is computed for them."""
    arrays = list(data) if isinstance(data, tuple | list) else [data]
    for array in arrays:
        if not hasattr(array, "__dask_graph__") or not hasattr(array, "chunks"):
            what = "Dask arrays or frames, or a file or directory that its workers see"
            raise DomainError(f"data: a cluster takes {what}, not {type(array).__name__}")
    rows = arrays[0].chunks[0]
    blocks = []
    for array in arrays:
        whole = array.rechunk(dict.fromkeys(range(1, array.ndim), -1)) if array.ndim > 1 else array
        if len(array.chunks[0]) != len(rows) or (array.chunks[0] != rows and rows == rows):  # noqa: PLR0124 - unknown ones are NaN
            try:
                whole = whole.rechunk({0: rows})
            except ValueError:
                raise DomainError("data: arrays have chunks of other rows; give all the same") from None
        blocks.append(whole.to_delayed().reshape(-1))
    return list(zip(*blocks, strict=True))
