"""Directories of tables as one table: Parquet, Arrow or CSV files in the order of their paths, here or in an object store.

Directories named ``column=value`` give every file beneath them that column, as Hive and Spark write it. Each file is read as a
table of its own (`gibbsafe.data.files`), so that one huge row group does not fill the memory and a refusal names its file.

**What is public.** The names of files are as public as the directory's path, and refusals quote them. A value in a directory's
name is a value of records, which no refusal shows. A file without rows is a table like others: refusals depend on the names and
types of columns and on the kinds of files.
"""

from __future__ import annotations

import os
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gibbsafe._types import Document
from gibbsafe.data.csv_text import CsvFormat, parsed
from gibbsafe.data.files import BATCH_ROWS, FileTable, format_name
from gibbsafe.data.places import Place, RemoteFile, locate, one_line_errors, shown, size_of
from gibbsafe.data.prefetch import prefetched
from gibbsafe.errors import DomainError

__all__ = ["DirectoryPart", "DirectoryTable", "column_names", "comparable", "open_table"]

#: Directories of formats that keep rows of the past beside those of today: which count is written elsewhere.
VERSIONED = {"_delta_log": "Delta", ".hoodie": "Hudi"}


def open_table(source: str | Path, wanted: Mapping[str, str], csv_format: CsvFormat | None = None) -> FileTable | DirectoryTable:
    """Return the wanted columns of a file, or of all files of a directory, by path or URL."""
    place, written = locate(source), csv_format or CsvFormat()
    if isinstance(place, Path):
        return DirectoryTable(place, wanted, written) if place.is_dir() else FileTable(place, wanted, written)
    from pyarrow import fs

    with one_line_errors(place):
        kind = place.system.get_file_info(place.inside).type
    if kind == fs.FileType.NotFound:
        raise DomainError(f"{place}: does not exist")
    return DirectoryTable(place, wanted, written) if kind == fs.FileType.Directory else FileTable(place, wanted, written)


def column_names(source: str | Path, csv_format: CsvFormat | None = None) -> list[str]:
    """Return the names of a table's columns, of a directory's first file and its partitions; not one value is looked at."""
    return open_table(source, {}, csv_format).names()


@dataclass(frozen=True)
class DirectoryPart:
    """One file of a directory, and the columns that its path gives, as texts; None for a missing value."""

    file: FileTable
    wanted: Mapping[str, str]
    fixed: Document

    def count_rows(self) -> int:
        """Return the file's number of rows."""
        return self.file.count_rows()

    def batches(self, on_invalid: str = "error") -> Iterator[Any]:
        """Yield record batches with the wanted columns, as `FileTable.batches` does."""
        return prefetched(self.read(on_invalid))

    def read(self, on_invalid: str) -> Generator[Any, None, None]:
        """Yield batches of the wanted columns, those of the path put in their places."""
        import pyarrow as pa

        wanted = self.wanted
        fixed = {name: self._value(name, wanted[name], on_invalid) for name in self.fixed}
        if not self.file.wanted:  # the path says it all: rows are counted
            for rows in (0, *_in_batches(self.file.count_rows())):
                yield pa.RecordBatch.from_pydict({name: pa.repeat(fixed[name], rows) for name in wanted})
            return
        for batch in self.file.read(on_invalid):
            columns = {name: pa.repeat(fixed[name], batch.num_rows) if name in fixed else batch.column(name) for name in wanted}
            yield pa.RecordBatch.from_pydict(columns)

    def _value(self, name: str, kind: str, on_invalid: str) -> Any:
        """Return a value of the path as the column's declared kind: what cannot be read as one is refused, or missing."""
        import pyarrow as pa

        types = {"number": pa.float64(), "text": pa.string(), "truth": pa.bool_()}
        text = self.fixed[name]
        value = None if text is None else parsed(text, kind, self.file.csv_format.decimal)
        if value is None and text is not None and on_invalid != "replace":
            raise DomainError(f"{self.file.shown}: column {name!r}: the directory's value cannot be read as what is declared")
        return pa.scalar(value, types[kind])


def _in_batches(rows: int) -> Iterator[int]:
    """Yield numbers of rows that add up, a batch's at a time."""
    for start in range(0, rows, BATCH_ROWS):
        yield min(BATCH_ROWS, rows - start)


@dataclass(frozen=True)
class DirectoryTable:
    """Columns of all tables of a directory, by name, in batches: file by file, in the order of their paths.

    Paths are sorted as texts, so part-10 comes before part-2. Names that begin with ``.`` or ``_`` are left out, as Spark and
    PyArrow do. Anything else must be a table, all of one kind: links, files of other kinds, and directories with versions of rows
    (Delta, Hudi) are refused.
    """

    place: Place
    wanted: Mapping[str, str]
    csv_format: CsvFormat = field(default_factory=CsvFormat)
    parts: tuple[DirectoryPart, ...] = field(init=False, repr=False)

    def __post_init__(self) -> None:
        with one_line_errors(self.place):
            found = sorted(_listed(self.place))
        if not found:
            raise DomainError(f"{self.place}: a directory without tables; name one that holds Parquet, Arrow or CSV files")
        object.__setattr__(self, "parts", tuple(self._part(inside) for inside in found))
        for part in self.parts:
            if format_name(part.file.path) != format_name(self.parts[0].file.path):
                other = self.parts[0].file.shown
                raise DomainError(f"{part.file.shown}: another kind of table than {other}; a directory holds one kind")

    def _part(self, inside: str) -> DirectoryPart:
        keys = _partition_of(inside)
        file = FileTable(_joined(self.place, inside), {k: v for k, v in self.wanted.items() if k not in keys}, self.csv_format)
        clash = set(keys) & set(self.wanted) & set(file.names() if set(keys) & set(self.wanted) else ())
        if clash:
            raise DomainError(f"{file.shown}: column {min(clash)!r} is there 2 times, in the file and in its directory's name")
        return DirectoryPart(file, self.wanted, {name: value for name, value in keys.items() if name in self.wanted})

    def count_rows(self) -> int:
        """Return the number of rows: from the files' own accounts of it, or by the line ends of CSV files."""
        return sum(part.file.count_rows() for part in self.parts)

    def expected_rows(self) -> int | None:
        """Return about how many rows there are, from the first file and the sizes of all, for a progress bar and nothing else."""
        first = self.parts[0].file
        rows = first.expected_rows()
        with one_line_errors(self.place):
            return None if not rows else int(rows / size_of(first.path) * sum(size_of(part.file.path) for part in self.parts))

    def names(self) -> list[str]:
        """Return the names of the first file's columns and of those that its path gives."""
        first = self.parts[0].file
        return [*first.names(), *_partition_of(str(first.path)[len(str(self.place)) :])]

    def batches(self, on_invalid: str = "error") -> Iterator[Any]:
        """Yield record batches with the wanted columns, as `FileTable.batches` does."""
        return prefetched(self._read(on_invalid))

    def _read(self, on_invalid: str) -> Generator[Any, None, None]:
        types: dict[str, tuple[Any, str]] = {}
        for part in self.parts:
            for k, batch in enumerate(part.read(on_invalid)):
                if k == 0:
                    self._compare(types, batch.schema, part.file.shown)
                yield batch

    def _compare(self, types: dict[str, tuple[Any, str]], schema: Any, where: str) -> None:
        """Refuse a file whose columns are of other types than those before: 1 and '1' would be two persons, or two levels."""
        import pyarrow as pa

        for name, kind in self.wanted.items():
            stored = comparable(schema.field(name).type, kind)
            if pa.types.is_null(stored):  # a column of missing entries, whatever they would be
                continue
            before, first = types.setdefault(name, (stored, where))
            if before != stored:
                raise DomainError(
                    f"{where}: column {name!r} is of type {stored}, but of {before} in {first}; write all as one type"
                )


def comparable(stored: Any, kind: str) -> Any:
    """Return the type that entries of a column compare by: of a dictionary its values', one for texts, one for numbers."""
    import pyarrow as pa

    if pa.types.is_dictionary(stored):
        stored = stored.value_type
    if pa.types.is_large_string(stored) or pa.types.is_string_view(stored):
        return pa.string()
    numeric = pa.types.is_integer(stored) or pa.types.is_floating(stored) or pa.types.is_decimal(stored)
    return pa.float64() if kind == "number" and numeric else stored


# -- what a directory holds -----------------------------------------------------------------------------------------------


def _joined(place: Place, inside: str) -> Place:
    if isinstance(place, Path):
        return place / inside
    return RemoteFile(place.system, f"{place.inside.rstrip('/')}/{inside}", f"{place.url.rstrip('/')}/{inside}")


def _partition_of(inside: str) -> dict[str, str | None]:
    """Return the columns that a path gives: its directories named ``column=value``, as Hive writes them.

    >>> _partition_of("year=2024/ward=a%20b/part-0.parquet")
    {'year': '2024', 'ward': 'a b'}
    """
    import pyarrow as pa
    from pyarrow import dataset

    folders = inside.replace("\\", "/").split("/")[:-1]
    names = [folder.split("=", 1)[0] for folder in folders if "=" in folder]
    for name in names:
        if names.count(name) > 1:
            raise DomainError(f"{shown(inside)}: column {name!r} is there {names.count(name)} times, must be there once")
    if not names:
        return {}
    found = dataset.partitioning(pa.schema([(name, pa.string()) for name in names]), flavor="hive").parse("/".join(folders) + "/")
    values = dataset.get_partition_keys(found)
    return {name: values.get(name) for name in names}


def _listed(place: Place) -> Iterator[str]:
    """Yield the paths of all tables inside, relative and with slashes; refuse what is none."""
    for inside, kind in _local(place) if isinstance(place, Path) else _remote(place):
        parts = inside.split("/")
        for part in parts:
            if part in VERSIONED:
                what = f"{VERSIONED[part]} keeps versions of rows in one directory"
                raise DomainError(f"{place}: {what}; write today's rows to a directory of their own")
        if any(part.startswith((".", "_")) for part in parts):
            continue
        if kind != "file":
            raise DomainError(f"{shown(_joined(place, inside))}: {kind}; a directory of tables holds files of its own only")
        format_name(_joined(place, inside))
        yield inside


def _local(place: Path) -> Iterator[tuple[str, str]]:
    """Yield (path inside, kind) of whatever is no directory; links are not followed."""

    def stop(error: OSError) -> None:
        raise error

    for folder, folders, files in os.walk(place, onerror=stop):
        for name in [*files, *folders]:
            path = Path(folder) / name
            kind = "a link" if path.is_symlink() else "file" if path.is_file() else "" if path.is_dir() else "no file"
            if kind or name in VERSIONED:
                yield path.relative_to(place).as_posix(), kind or "file"


def _remote(place: RemoteFile) -> Iterator[tuple[str, str]]:
    from pyarrow import fs

    base = place.inside.rstrip("/")
    for info in place.system.get_file_info(fs.FileSelector(base, recursive=True)):
        if info.type != fs.FileType.Directory:
            inside = info.path[len(base) :].lstrip("/")
            yield inside, "file" if info.type == fs.FileType.File else "no file"
