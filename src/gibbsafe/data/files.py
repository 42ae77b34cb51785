"""Tables in files, read in pieces: CSV, Parquet, Arrow, NumPy. What a file holds beyond the declared columns is never read."""

from __future__ import annotations

import csv
import difflib
import re
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TextIO

import numpy as np

from gibbsafe._types import Document
from gibbsafe.data.archives import ArchiveColumn, archive_columns, is_archive
from gibbsafe.data.csv_text import PACKED, CsvFormat, count_records, delimiter_of, guess_records, open_text, read_leniently
from gibbsafe.data.places import Place, RemoteFile, one_line_errors, open_file, open_stream, shown
from gibbsafe.data.prefetch import prefetched
from gibbsafe.data.sources import readable_text
from gibbsafe.errors import DomainError

__all__ = ["CsvFormat", "FileTable", "format_name"]

BATCH_ROWS = 16_384
MOST_ROWS = 65_536
CSV_BLOCK = 2**23
#: Most characters of a header that are read.
LONGEST_LINE = 2**20


@dataclass(frozen=True)
class FileTable:
    """Columns of a file, by name, in batches: as often as asked, never more than a batch in memory.

    ``wanted`` maps each column to how its text is read (``"number"``, ``"text"`` or ``"truth"``); it matters for CSV only, other
    formats have types of their own. ``row_groups`` are those of a Parquet file that are read; by default all.
    """

    path: Place
    wanted: Mapping[str, str]
    csv_format: CsvFormat = field(default_factory=CsvFormat)
    row_groups: tuple[int, ...] | None = None

    def __post_init__(self) -> None:
        if isinstance(self.path, RemoteFile):
            _format_of(self.path)
            return
        object.__setattr__(self, "path", Path(self.path))
        if self.path.is_dir():
            raise DomainError(f"{self.path}: is a directory, not a table")
        if not self.path.exists():
            raise DomainError(f"{self.path}: does not exist")
        _format_of(self.path)

    @property
    def shown(self) -> str:
        """The file as messages name it."""
        return shown(self.path)

    def count_rows(self) -> int:
        """Return the number of rows: from the file's own account of it, or by the line ends of a CSV file."""
        with one_line_errors(self.path):
            return _format_of(self.path).count(self)

    def expected_rows(self) -> int | None:
        """Return about how many rows there are, for a progress bar and nothing else; None if that takes a reading."""
        with one_line_errors(self.path):
            if _format_of(self.path) is _CSV:
                return guess_records(self.path)
            return _format_of(self.path).count(self)

    def batches(self, on_invalid: str = "error") -> Iterator[Any]:
        """Yield record batches with the wanted columns; with ``on_invalid="replace"`` what cannot be read is missing.

        The next batch is read while whoever asked works on this one.
        """
        return prefetched(self.read(on_invalid))

    def read(self, on_invalid: str) -> Generator[Any, None, None]:
        """Yield the batches as they are read."""
        with one_line_errors(self.path):
            if on_invalid != "replace":
                yield from _format_of(self.path).read(self)
            elif _format_of(self.path) is _CSV:
                yield from _read_csv_leniently(self)
            else:
                yield from map(readable_text, _format_of(self.path).read(self))

    def check(self, present: Sequence[str]) -> list[str]:
        """Return the wanted names if each is there once; otherwise name the nearest ones that are there."""
        for name in self.wanted:
            found = present.count(name)
            if found != 1:
                near = difflib.get_close_matches(name, list(present), n=3, cutoff=0.6)  # records, in a file without a header
                hint = f"did you mean {' or '.join(map(repr, near))}?" if near and not found else ""
                raise DomainError(f"{self.shown}: column {name!r} is there {found} times, must be there once", private=hint)
        return list(self.wanted)

    def split(self) -> tuple[FileTable, ...]:
        """Return the row groups of a Parquet file as tables of their own; any other file is one."""
        if _format_of(self.path) is not _PARQUET:
            return (self,)
        with one_line_errors(self.path), _parquet(self) as file:
            return tuple(replace(self, row_groups=(k,)) for k in range(file.num_row_groups)) or (self,)

    def names(self) -> list[str]:
        """Return the names of all columns; not one value is looked at."""
        with one_line_errors(self.path):
            return _format_of(self.path).names(self)


# -- CSV ------------------------------------------------------------------------------------------------------------------


def _bounded_lines(text: TextIO) -> Iterator[str]:
    """Yield lines for a header's reader, a long one in pieces: a line without end would fill the memory."""
    return iter(lambda: text.readline(LONGEST_LINE), "")


def _csv_names(table: FileTable) -> list[str]:
    """Return the header: the first record of the file."""
    delimiter = delimiter_of(table.path, table.csv_format)
    with open_text(table.path, table.csv_format) as text:
        try:
            header = next(csv.reader(_bounded_lines(text), delimiter=delimiter), None)
        except UnicodeDecodeError:
            header = _lenient_header(table, delimiter)
    if not header or any("\0" in name for name in header):
        raise DomainError(f"{table.shown}: empty, or not a text table; a CSV file begins with a line of column names")
    return header


def _lenient_header(table: FileTable, delimiter: str) -> list[str] | None:
    """Return the header if its own line is text of the encoding: text is decoded in pieces, records among them."""
    with open_text(table.path, table.csv_format, errors="replace") as text:
        header = next(csv.reader(_bounded_lines(text), delimiter=delimiter), None)
    if header and any("\ufffd" in name for name in header):
        raise DomainError(f"{table.shown}: not {table.csv_format.encoding} text; declare its encoding under [csv]")
    return header


def _read_csv_leniently(table: FileTable) -> Iterator[Any]:
    import pyarrow as pa

    header = _csv_names(table)
    table.check(header)
    schema = _csv_schema(table)
    yield _no_rows(schema, schema.names)
    for columns in read_leniently(table.path, table.csv_format, header, dict(table.wanted), BATCH_ROWS):
        yield pa.RecordBatch.from_pydict(columns, schema=schema)


def _csv_schema(table: FileTable) -> Any:
    import pyarrow as pa

    kinds = {"number": pa.float64(), "text": pa.string(), "truth": pa.bool_()}
    return pa.schema([(name, kinds[kind]) for name, kind in table.wanted.items()])


def _read_csv(table: FileTable) -> Iterator[Any]:
    import pyarrow as pa
    from pyarrow import csv as arrow_csv

    header = _csv_names(table)
    names = table.check(header)
    schema = _csv_schema(table)
    yield _no_rows(schema, names)
    try:
        reader = arrow_csv.open_csv(
            open_stream(table.path),
            arrow_csv.ReadOptions(block_size=CSV_BLOCK, encoding=table.csv_format.encoding, use_threads=False),
            arrow_csv.ParseOptions(delimiter=delimiter_of(table.path, table.csv_format), newlines_in_values=True),
            arrow_csv.ConvertOptions(
                column_types=dict(zip(schema.names, schema.types, strict=True)),
                include_columns=names,
                decimal_point=table.csv_format.decimal,
            ),
        )
        for batch in reader:
            for start in range(0, batch.num_rows, MOST_ROWS):  # short rows: a block has millions
                yield batch.slice(start, MOST_ROWS)
    except pa.ArrowInvalid as error:
        if "Empty CSV file" in str(error):  # a header and nothing else
            return
        what, text = _public_reason(str(error), header), " ".join(str(error).split())[:240]
        raise DomainError(f"{table.shown}: {what}; clean the table or use on_invalid='replace'", private=text) from None


def _public_reason(message: str, header: list[str]) -> str:
    """Return what PyArrow's message says without quoting an entry, a row's number or its length."""
    if "UTF8" in message:
        return "not text of the declared encoding; declare it under [csv]"
    column = re.search(r"In CSV column #(\d+)", message)
    if column and int(column.group(1)) < len(header):
        return f"column {header[int(column.group(1))]!r}: an entry cannot be read as what is declared"
    return "a row has not as many entries as there are columns" if "Expected" in message else "a row cannot be read"


# -- Parquet and Arrow ----------------------------------------------------------------------------------------------------


def _magic(place: Place, length: int = 6) -> bytes:
    with open_file(place) as file:
        return bytes(file.read(length))


def _parquet(table: FileTable) -> Any:
    from pyarrow import parquet

    if _magic(table.path, 4) != b"PAR1":
        raise DomainError(f"{table.shown}: not a Parquet file, whatever its name says")
    # A buffered reader fetches column chunks piece by piece, so that one huge row group does not fill the memory; from an object
    # store, where every piece is a request, those of a row group are fetched together.
    remote = isinstance(table.path, RemoteFile)
    return parquet.ParquetFile(open_file(table.path), buffer_size=0 if remote else 2**20, pre_buffer=remote)


def _read_parquet(table: FileTable) -> Iterator[Any]:
    with _parquet(table) as file:
        names = table.check(file.schema_arrow.names)
        yield _no_rows(file.schema_arrow, names)
        for batch in file.iter_batches(BATCH_ROWS, table.row_groups, columns=names, use_threads=False):
            yield batch.select(names)


def _no_rows(schema: Any, names: list[str]) -> Any:
    import pyarrow as pa

    chosen = pa.schema([schema.field(name) for name in names])
    return pa.RecordBatch.from_pylist([], schema=chosen)


def _parquet_rows(table: FileTable) -> int:
    with _parquet(table) as file:
        return int(file.metadata.num_rows)


def _parquet_names(table: FileTable) -> list[str]:
    with _parquet(table) as file:
        return list(file.schema_arrow.names)


def _read_arrow(table: FileTable) -> Iterator[Any]:
    from pyarrow import ipc

    with open_file(table.path, mapped=True) as source:
        if _magic(table.path) == b"ARROW1":
            schema = ipc.open_file(source).schema
            names = table.check(schema.names)
            chosen = ipc.IpcReadOptions(included_fields=sorted(map(schema.names.index, names)))
            file = ipc.open_file(source, options=chosen)
            batches: Iterator[Any] = (file.get_batch(k) for k in range(file.num_record_batches))
        else:
            stream = ipc.open_stream(source)
            names, schema, batches = table.check(stream.schema.names), stream.schema, iter(stream)
        yield _no_rows(schema, names)
        for batch in batches:
            chosen = batch.select(names)
            for column in chosen.columns:
                _require_sound(column)
            yield chosen


def _require_sound(column: Any) -> None:
    """Refuse a column whose offsets or codes point outside it: PyArrow believes the file, and would read foreign memory.

    Whether texts are UTF-8 is no matter of form, and left to whoever reads them.
    """
    import pyarrow as pa

    if pa.types.is_dictionary(column.type):
        _require_sound(column.dictionary)
        column = pa.DictionaryArray.from_arrays(column.indices, pa.nulls(len(column.dictionary)))  # refuses codes outside
    plain = {pa.string(): pa.binary(), pa.large_string(): pa.large_binary()}.get(column.type)
    (column if plain is None else column.view(plain)).validate(full=True)


def _arrow_rows(table: FileTable) -> int:
    from pyarrow import ipc

    with open_file(table.path, mapped=True) as source:
        if _magic(table.path) == b"ARROW1":
            file = ipc.open_file(source)
            return sum(file.get_batch(k).num_rows for k in range(file.num_record_batches))
        return sum(batch.num_rows for batch in ipc.open_stream(source))


def _arrow_names(table: FileTable) -> list[str]:
    from pyarrow import ipc

    with open_file(table.path, mapped=True) as source:
        opened = ipc.open_file(source) if _magic(table.path) == b"ARROW1" else ipc.open_stream(source)
        return list(opened.schema.names)


# -- NumPy ----------------------------------------------------------------------------------------------------------------


def _numpy_columns(table: FileTable) -> Document:
    """Return a NumPy file's columns: fields of a structured array, arrays of an archive, or a matrix in the study's order."""
    if isinstance(table.path, RemoteFile):
        raise DomainError(f"{table.shown}: NumPy files are read on this machine only; copy it, or write Parquet")
    if is_archive(table.path):
        return archive_columns(table.path, table.wanted)
    loaded = np.load(table.path, mmap_mode="r", allow_pickle=False)
    if loaded.dtype.names:
        return {name: loaded[name] for name in loaded.dtype.names}
    if loaded.ndim != 2 or (table.wanted and loaded.shape[1] != len(table.wanted)):
        found = f"{loaded.shape[1]} columns" if loaded.ndim == 2 else f"{loaded.ndim} axes"
        raise DomainError(f"{table.shown}: {found}, but {len(table.wanted)} columns are declared, in that order")
    names = list(table.wanted) or [f"x{k}" for k in range(loaded.shape[1])]
    return {name: loaded[:, k] for k, name in enumerate(names)}


def _numpy_rows(table: FileTable) -> int:
    columns = _numpy_columns(table)
    lengths = {columns[name].shape for name in table.check(list(columns))}
    if len(lengths) != 1 or len(next(iter(lengths))) != 1:
        raise DomainError(f"{table.shown}: all columns must be of one length", private=f"they have shapes {sorted(lengths)}")
    return int(next(iter(lengths))[0])


def _numpy_pieces(column: Any) -> Iterator[Any]:
    """Yield the entries of a column in batches; one without entries if it has none."""
    if isinstance(column, ArchiveColumn):
        yield from column.pieces(BATCH_ROWS) if column.shape[0] else [np.empty(0, dtype=column.dtype)]
        return
    for start in range(0, max(len(column), 1), BATCH_ROWS):
        yield np.ascontiguousarray(column[start : start + BATCH_ROWS])


def _read_numpy(table: FileTable) -> Iterator[Any]:
    import pyarrow as pa

    columns = _numpy_columns(table)
    names, _ = table.check(list(columns)), _numpy_rows(table)
    for pieces in zip(*(_numpy_pieces(columns[name]) for name in names), strict=True):
        yield pa.RecordBatch.from_pydict({name: pa.array(values) for name, values in zip(names, pieces, strict=True)})


# -- which is which -------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Format:
    read: Callable[[FileTable], Iterator[object]]
    names: Callable[[FileTable], list[str]]
    count: Callable[[FileTable], int]


_CSV = _Format(_read_csv, _csv_names, lambda table: count_records(table.path, table.csv_format))
_PARQUET = _Format(_read_parquet, _parquet_names, _parquet_rows)
_ARROW = _Format(_read_arrow, _arrow_names, _arrow_rows)
_NUMPY = _Format(_read_numpy, lambda table: list(_numpy_columns(table)), _numpy_rows)
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


def _format_of(path: Place) -> _Format:
    """Return how to read a file, by its name."""
    suffixes = [suffix.lower() for suffix in path.suffixes]
    last = suffixes[-2] if len(suffixes) > 1 and suffixes[-1] in PACKED else suffixes[-1] if suffixes else ""
    if last not in FORMATS:
        raise DomainError(f"{shown(path)}: unknown kind of table; files end in {', '.join(FORMATS)}")
    return FORMATS[last]


def format_name(path: Place) -> str:
    """Return the kind of table that a file's name says it is; refuse others.

    >>> format_name(Path("part-0.csv.gz"))
    '.csv'
    """
    found = _format_of(path)
    return next(suffix for suffix, each in FORMATS.items() if each is found)
