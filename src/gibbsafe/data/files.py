"""Tables in files, read in pieces: CSV, Parquet, Arrow, NumPy. What a file holds beyond the declared columns is never read."""

from __future__ import annotations

import csv
import difflib
import io
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from gibbsafe.errors import DomainError

__all__ = ["CsvFormat", "FileTable", "column_names"]

BATCH_ROWS = 16_384
CSV_BLOCK = 2**23
#: Most characters of a header that are read.
LONGEST_LINE = 2**20
#: How the entries of a column are read from text.
TEXT_TYPES = ("number", "text", "truth")


@dataclass(frozen=True)
class CsvFormat:
    """How a CSV file is written."""

    delimiter: str = ","
    encoding: str = "utf-8"
    decimal: str = "."


@contextmanager
def one_line_errors(path: Path) -> Iterator[None]:
    """Turn what PyArrow, NumPy and the operating system raise about a file into one line."""
    import pyarrow as pa

    try:
        yield
    except DomainError:
        raise
    except (pa.ArrowException, OSError, ValueError, EOFError, KeyError, LookupError, csv.Error) as error:
        reason = getattr(error, "strerror", None) or str(error) or type(error).__name__
        raise DomainError(f"{path}: cannot be read ({' '.join(reason.split())[:240]})") from error


@dataclass(frozen=True)
class FileTable:
    """Columns of a file, by name, in batches: as often as asked, never more than a batch in memory.

    ``wanted`` maps each column to how its text is read (``"number"``, ``"text"`` or ``"truth"``); it matters for CSV only, other
    formats have types of their own.
    """

    path: Path
    wanted: Mapping[str, str]
    csv_format: CsvFormat = field(default_factory=CsvFormat)

    def __post_init__(self) -> None:
        object.__setattr__(self, "path", Path(self.path))
        if self.path.is_dir():
            raise DomainError(f"{self.path}: is a directory, not a table")
        if not self.path.exists():
            raise DomainError(f"{self.path}: does not exist")
        _format_of(self.path)

    def batches(self) -> Iterator[Any]:
        """Yield record batches with the wanted columns."""
        with one_line_errors(self.path):
            yield from _format_of(self.path).read(self)

    def check(self, present: Sequence[str]) -> list[str]:
        """Return the wanted names if each is there once; otherwise name the nearest ones that are there."""
        for name in self.wanted:
            found = present.count(name)
            if found != 1:
                near = difflib.get_close_matches(name, list(present), n=3, cutoff=0.6)
                hint = f"; did you mean {' or '.join(map(repr, near))}?" if near and not found else ""
                raise DomainError(f"{self.path}: column {name!r} is there {found} times, must be there once{hint}")
        return list(self.wanted)


def column_names(path: Path | str, csv_format: CsvFormat | None = None) -> list[str]:
    """Return the names of a file's columns; not one value is looked at."""
    table = FileTable(Path(path), {}, csv_format or CsvFormat())
    with one_line_errors(table.path):
        return _format_of(table.path).names(table)


# -- CSV ------------------------------------------------------------------------------------------------------------------


def _delimiter(table: FileTable) -> str:
    return "\t" if ".tsv" in table.path.name.lower() and table.csv_format.delimiter == "," else table.csv_format.delimiter


def _csv_names(table: FileTable) -> list[str]:
    """Return the header: the first record of the file."""
    import pyarrow as pa

    stated = table.csv_format.encoding
    encoding = "utf-8-sig" if stated.lower() in ("utf-8", "utf8", "utf_8") else stated  # a byte-order mark is no part of a name
    with pa.input_stream(str(table.path)) as stream, io.TextIOWrapper(stream, encoding=encoding, newline="") as text:
        try:
            lines = iter(lambda: text.readline(LONGEST_LINE), "")  # a line without end would fill the memory
            header = next(csv.reader(lines, delimiter=_delimiter(table)), None)
        except UnicodeDecodeError as error:
            raise DomainError(f"{table.path}: not {stated} text; declare its encoding under [csv]") from error
    if not header or any("\0" in name for name in header):
        raise DomainError(f"{table.path}: empty, or not a text table; a CSV file begins with a line of column names")
    return header


def _read_csv(table: FileTable) -> Iterator[Any]:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    header = _csv_names(table)
    names = table.check(header)
    kinds = {"number": pa.float64(), "text": pa.string(), "truth": pa.bool_()}
    schema = pa.schema([(name, kinds[table.wanted[name]]) for name in names])
    yield _no_rows(schema, names)
    try:
        reader = arrow_csv.open_csv(
            str(table.path),
            arrow_csv.ReadOptions(block_size=CSV_BLOCK, encoding=table.csv_format.encoding, use_threads=False),
            arrow_csv.ParseOptions(delimiter=_delimiter(table), newlines_in_values=True),
            arrow_csv.ConvertOptions(
                column_types=dict(zip(schema.names, schema.types, strict=True)),
                include_columns=names,
                decimal_point=table.csv_format.decimal,
            ),
        )
        yield from reader
    except pa.ArrowInvalid as error:
        if "Empty CSV file" in str(error):  # a header and nothing else
            return
        raise DomainError(f"{table.path}: {_named_column(str(error), header)}") from error


def _named_column(message: str, header: list[str]) -> str:
    """Return PyArrow's message in one line, with a column's name for its number; what a broken row holds is left out."""
    text = re.sub(r"(Expected \d+ columns, got \d+).*", r"\1", " ".join(message.split()))

    def name(match: re.Match[str]) -> str:
        index = int(match.group(1))
        return f"column {header[index]!r}" if index < len(header) else match.group(0)

    return re.sub(r"In CSV column #(\d+)", name, text)[:240]


# -- Parquet and Arrow ----------------------------------------------------------------------------------------------------


def _magic(path: Path, length: int = 6) -> bytes:
    with path.open("rb") as file:
        return file.read(length)


def _parquet(table: FileTable) -> Any:
    from pyarrow import parquet

    if _magic(table.path, 4) != b"PAR1":
        raise DomainError(f"{table.path}: not a Parquet file, whatever its name says")
    # A buffered reader fetches column chunks piece by piece, so that one huge row group does not fill the memory.
    return parquet.ParquetFile(str(table.path), buffer_size=2**20, pre_buffer=False)


def _read_parquet(table: FileTable) -> Iterator[Any]:
    with _parquet(table) as file:
        names = table.check(file.schema_arrow.names)
        yield _no_rows(file.schema_arrow, names)
        for batch in file.iter_batches(batch_size=BATCH_ROWS, columns=names, use_threads=False):
            yield batch.select(names)


def _no_rows(schema: Any, names: list[str]) -> Any:
    import pyarrow as pa

    chosen = pa.schema([schema.field(name) for name in names])
    return pa.RecordBatch.from_pylist([], schema=chosen)


def _parquet_names(table: FileTable) -> list[str]:
    with _parquet(table) as file:
        return list(file.schema_arrow.names)


def _read_arrow(table: FileTable) -> Iterator[Any]:
    from pyarrow import ipc, memory_map

    with memory_map(str(table.path)) as source:
        if _magic(table.path) == b"ARROW1":
            file = ipc.open_file(source)
            names, schema = table.check(file.schema.names), file.schema
            batches: Iterator[Any] = (file.get_batch(k) for k in range(file.num_record_batches))
        else:
            stream = ipc.open_stream(source)
            names, schema, batches = table.check(stream.schema.names), stream.schema, iter(stream)
        yield _no_rows(schema, names)
        for batch in batches:
            yield batch.select(names)


def _arrow_names(table: FileTable) -> list[str]:
    from pyarrow import ipc, memory_map

    with memory_map(str(table.path)) as source:
        opened = ipc.open_file(source) if _magic(table.path) == b"ARROW1" else ipc.open_stream(source)
        return list(opened.schema.names)


# -- NumPy ----------------------------------------------------------------------------------------------------------------


def _numpy_columns(table: FileTable) -> Mapping[str, Any]:
    """Return a NumPy file's columns: fields of a structured array, arrays of an archive, or a matrix in the study's order."""
    loaded = np.load(table.path, mmap_mode="r" if table.path.suffix == ".npy" else None, allow_pickle=False)
    if not isinstance(loaded, np.ndarray):
        return {name: loaded[name] for name in loaded.files if not table.wanted or name in table.wanted}
    if loaded.dtype.names:
        return {name: loaded[name] for name in loaded.dtype.names}
    if loaded.ndim != 2 or (table.wanted and loaded.shape[1] != len(table.wanted)):
        raise DomainError(f"{table.path}: shape {loaded.shape}, but {len(table.wanted)} columns are declared, in that order")
    names = list(table.wanted) or [f"x{k}" for k in range(loaded.shape[1])]
    return {name: loaded[:, k] for k, name in enumerate(names)}


def _read_numpy(table: FileTable) -> Iterator[Any]:
    import pyarrow as pa

    columns = _numpy_columns(table)
    names = table.check(list(columns))
    lengths = {columns[name].shape for name in names}
    if len(lengths) != 1 or len(next(iter(lengths))) != 1:
        raise DomainError(f"{table.path}: columns of shapes {sorted(lengths)}, but all must be of one length")
    (rows,) = next(iter(lengths))
    for start in range(0, max(rows, 1), BATCH_ROWS):
        part = {name: np.ascontiguousarray(columns[name][start : start + BATCH_ROWS]) for name in names}
        yield pa.RecordBatch.from_pydict({name: pa.array(values) for name, values in part.items()})


# -- which is which -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Format:
    read: Callable[[FileTable], Iterator[Any]]
    names: Callable[[FileTable], list[str]]


_CSV = _Format(_read_csv, _csv_names)
_PARQUET = _Format(_read_parquet, _parquet_names)
_ARROW = _Format(_read_arrow, _arrow_names)
_NUMPY = _Format(_read_numpy, lambda table: list(_numpy_columns(table)))
FORMATS = {
    ".csv": _CSV,
    ".tsv": _CSV,
    ".txt": _CSV,
    ".parquet": _PARQUET,
    ".pq": _PARQUET,
    ".arrow": _ARROW,
    ".arrows": _ARROW,
    ".feather": _ARROW,
    ".ipc": _ARROW,
    ".npy": _NUMPY,
    ".npz": _NUMPY,
}


def _format_of(path: Path) -> _Format:
    """Return how to read a file, by its name."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    last = suffixes[-2] if len(suffixes) > 1 and suffixes[-1] in (".gz", ".bz2", ".zst") else suffixes[-1] if suffixes else ""
    if last not in FORMATS:
        raise DomainError(f"{path}: unknown kind of table; files end in {', '.join(FORMATS)}")
    return FORMATS[last]
