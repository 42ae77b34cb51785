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
from typing import Any

from gibbsafe._validate import fail
from gibbsafe.data.places import Place, open_file, open_stream, size_of

__all__ = ["CsvFormat", "count_records", "delimiter_of", "guess_records", "open_text", "parsed", "read_leniently"]

#: Most characters of a record that are read; PyArrow's reader refuses longer ones, too.
LONGEST_RECORD = 2**23
#: What the names of packed files end in.
PACKED = (".gz", ".bz2", ".zst")
TRUE, FALSE = {"true", "1"}, {"false", "0"}


@dataclass(frozen=True)
class CsvFormat:
    """How a CSV file is written."""

    delimiter: str = ","
    encoding: str = "utf-8"
    decimal: str = "."


def delimiter_of(path: Place, written: CsvFormat) -> str:
    """Return what separates entries: a tab in ``.tsv`` files unless the study says otherwise."""
    return "\t" if ".tsv" in path.name.lower() and written.delimiter == "," else written.delimiter


@contextmanager
def open_text(path: Place, written: CsvFormat, errors: str = "strict") -> Iterator[Any]:
    """Open a file, compressed or not, as text of the declared encoding; a byte-order mark is no part of it."""
    stated = written.encoding
    try:
        codecs.lookup(stated)
    except LookupError:
        fail("csv.encoding", stated, "the name of an encoding that Python knows")
    encoding = "utf-8-sig" if stated.lower() in ("utf-8", "utf8", "utf_8") else stated
    with open_stream(path) as stream, io.TextIOWrapper(stream, encoding=encoding, errors=errors, newline="") as text:
        yield text


class _Lines:
    """The lines of a text for a reader of records, which tells when it has made one: a record without end is an error."""

    def __init__(self, text: Any) -> None:
        self._text, self._length = text, 0

    def __iter__(self) -> Iterator[str]:
        return self

    def __next__(self) -> str:
        line: str = self._text.readline(LONGEST_RECORD + 1)
        if not line:
            raise StopIteration
        self._length += len(line)
        if self._length > LONGEST_RECORD:
            self._length = 0
            while line and not line.endswith(("\n", "\r")):
                line = self._text.readline(LONGEST_RECORD)
            raise csv.Error("a record is too long")
        return line

    def finish(self) -> None:
        """Begin another record."""
        self._length = 0


def _each_record(text: object, delimiter: str) -> Iterator[list[str] | None]:
    """Yield every record; None for one that cannot be read, or is longer than any is read."""
    lines = _Lines(text)
    reader = csv.reader(lines, delimiter=delimiter)
    while True:
        record: list[str] | None
        try:
            record = next(reader)
        except StopIteration:
            return
        except csv.Error:
            record = None
        lines.finish()
        yield record


@contextmanager
def _records(path: Place, written: CsvFormat) -> Iterator[Iterator[list[str] | None]]:
    """Give every record after the header, none refused (None: cannot be read); empty lines are none."""
    before = csv.field_size_limit(sys.maxsize)
    try:
        with open_text(path, written, errors="replace") as text:
            records = _each_record(text, delimiter_of(path, written))
            next(records, None)
            yield (record for record in records if record != [])
    finally:
        csv.field_size_limit(before)


def count_records(path: Place, written: CsvFormat) -> int:
    """Return the number of records after the header; no entry is looked at."""
    with _records(path, written) as records:
        return sum(1 for _ in records)


def guess_records(path: Place) -> int | None:
    """Return about how many records a file has, by the lines of its first megabyte; None for a packed one."""
    if path.suffixes and path.suffixes[-1].lower() in PACKED:
        return None
    with open_file(path) as file:
        start = bytes(file.read(2**20))
    return int(size_of(path) * start.count(b"\n") / len(start)) if start else 0


def read_leniently(
    path: Place, written: CsvFormat, header: Sequence[str], wanted: dict[str, str], batch_rows: int
) -> Iterator[dict[str, list[Any]]]:
    """Yield columns of up to ``batch_rows`` records; what cannot be read as its column's kind is None.

    A record with more or fewer entries than the header has columns is one of None alone.
    """
    places = [(name, header.index(name), kind) for name, kind in wanted.items()]
    nothing = [""] * len(header)
    with _records(path, written) as records:
        while piece := [each if each and len(each) == len(header) else nothing for each in islice(records, batch_rows)]:
            yield {name: [parsed(record[k], kind, written.decimal) for record in piece] for name, k, kind in places}


def parsed(text: str, kind: str, decimal: str) -> Any:
    """Return an entry as its column's kind, or None.

    >>> parsed("1,5", "number", ","), parsed("true", "truth", "."), parsed("x", "number", ".")
    (1.5, True, None)
    """
    if kind == "text":
        return text
    if kind == "truth":
        plain = text.strip().lower()
        return True if plain in TRUE else False if plain in FALSE else None
    try:
        return float(text if decimal == "." else text.replace(decimal, "."))
    except ValueError:
        return None
