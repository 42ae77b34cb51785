"""CSV files as text: the header, the number of records, and a reader that refuses no entry.

PyArrow reads faster (`gibbsafe.data.files`), but it refuses a file for one broken row or cell. Here every record is read on its
own, whatever it holds: bytes that are no text of the declared encoding, rows of another length, entries that are no numbers.
"""

from __future__ import annotations

import codecs
import csv
import io
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import Any

from gibbsafe._validate import fail

__all__ = ["CsvFormat", "count_records", "delimiter_of", "open_text", "read_leniently"]

TRUE, FALSE = {"true", "1"}, {"false", "0"}


@dataclass(frozen=True)
class CsvFormat:
    """How a CSV file is written."""

    delimiter: str = ","
    encoding: str = "utf-8"
    decimal: str = "."


def delimiter_of(path: Path, written: CsvFormat) -> str:
    """Return what separates entries: a tab in ``.tsv`` files unless the study says otherwise."""
    return "\t" if ".tsv" in path.name.lower() and written.delimiter == "," else written.delimiter


@contextmanager
def open_text(path: Path, written: CsvFormat, errors: str = "strict") -> Iterator[Any]:
    """Open a file, compressed or not, as text of the declared encoding; a byte-order mark is no part of it."""
    import pyarrow as pa

    stated = written.encoding
    try:
        codecs.lookup(stated)
    except LookupError:
        fail("csv.encoding", stated, "the name of an encoding that Python knows")
    encoding = "utf-8-sig" if stated.lower() in ("utf-8", "utf8", "utf_8") else stated
    with pa.input_stream(str(path)) as stream, io.TextIOWrapper(stream, encoding=encoding, errors=errors, newline="") as text:
        yield text


@contextmanager
def _records(path: Path, written: CsvFormat) -> Iterator[Iterator[list[str]]]:
    """Give every record after the header, none refused; empty lines are none."""
    before = csv.field_size_limit(sys.maxsize)
    try:
        with open_text(path, written, errors="replace") as text:
            reader = csv.reader(text, delimiter=delimiter_of(path, written))
            next(reader, None)
            yield (record for record in reader if record)
    finally:
        csv.field_size_limit(before)


def count_records(path: Path, written: CsvFormat) -> int:
    """Return the number of records after the header; no entry is looked at."""
    with _records(path, written) as records:
        return sum(1 for _ in records)


def read_leniently(
    path: Path, written: CsvFormat, header: Sequence[str], wanted: dict[str, str], batch_rows: int
) -> Iterator[dict[str, list[Any]]]:
    """Yield columns of up to ``batch_rows`` records; what cannot be read as its column's kind is None.

    A record with more or fewer entries than the header has columns is one of None alone.
    """
    places = [(name, header.index(name), kind) for name, kind in wanted.items()]
    nothing = [""] * len(header)
    with _records(path, written) as records:
        while piece := [each if len(each) == len(header) else nothing for each in islice(records, batch_rows)]:
            yield {name: [_entry(record[k], kind, written.decimal) for record in piece] for name, k, kind in places}


def _entry(text: str, kind: str, decimal: str) -> Any:
    """Return an entry as its column's kind, or None."""
    if kind == "text":
        return text
    if kind == "truth":
        plain = text.strip().lower()
        return True if plain in TRUE else False if plain in FALSE else None
    try:
        return float(text if decimal == "." else text.replace(decimal, "."))
    except ValueError:
        return None
