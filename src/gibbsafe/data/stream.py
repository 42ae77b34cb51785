"""Tables encoded piece by piece, so that no more than a piece of raw records is in memory at any time."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Protocol, runtime_checkable

import numpy as np

from gibbsafe._types import Values
from gibbsafe.data.blocks import Blocks, RowBlocks
from gibbsafe.data.census import Census, Unit, array_rows
from gibbsafe.data.options import Encoder, EncodingOptions
from gibbsafe.data.sources import batches_of, is_table
from gibbsafe.data.sparse import dense_pieces, has_sparse_rows
from gibbsafe.data.spool import DEFAULT_MEMORY, Spool
from gibbsafe.data.sums import in_order
from gibbsafe.errors import DomainError

__all__ = ["check_count", "count_rows", "encode_records", "expected_rows", "persons_of"]

#: Most rows of a piece of a table and of an array, and the share of the memory limit that its numbers may take.
MOST_ROWS, ARRAY_ROWS = 65_536, 8192
PIECE_SHARE = 1 / 128


def encode_records(
    model: Encoder,
    data: object,
    options: EncodingOptions,
    *,
    unit: Unit,
    persons: object = None,
    memory: int | None = None,
    advance: Callable[[int], None] | None = None,
    census: Census | None = None,
) -> RowBlocks:
    """Return encoded records, piece by piece: arrays in memory, tables and sparse rows beyond the memory limit in a file.

    Encoding works row by row, so the result is the same whatever the pieces are, and whoever encodes them. Every row passes the
    `Census`, in the order of the pieces. After each, ``advance`` is told its rows, for a progress bar. A ``census`` of the
    caller's own sees every row and identifier instead.
    """
    of_persons, in_memory = unit.of_persons or census is not None, not is_table(data) and not has_sparse_rows(data)
    census = census or Census(unit, options.on_invalid)
    spool = Spool(sys.maxsize, _rows_of_arrays(data)) if in_memory else Spool(memory)
    names = None if persons is None else np.asarray(persons)
    if in_memory and of_persons and names is not None and names.shape != (array_rows(data),):
        raise DomainError("persons: not one identifier per row", private=f"shape {names.shape} for {array_rows(data)} rows")
    encode = partial(_encoded, model, options, persons if of_persons else None)
    for block, rows, owners in in_order(encode, _numbered(_pieces_of(data, memory, options.on_invalid))):
        spool.add(census.admit(block, rows, owners))
        if advance is not None:
            advance(rows)
    census.close()
    return spool.finish()


def _encoded(
    model: Encoder, options: EncodingOptions, persons: object, piece: tuple[Any, int, int | None]
) -> tuple[Blocks, int, Values | None]:
    """Return one piece encoded, its number of rows, and whose they are."""
    records, first, rows = piece
    try:
        block = model.encode(records, options)
        rows = array_rows(records) if rows is None else rows
        return block, rows, persons_of(records, persons, first, rows)
    except DomainError as error:
        if not first or rows is None:
            raise
        raise DomainError(str(error), private=f"in rows {first} to {first + rows - 1}") from None


def _numbered(pieces: Iterable[tuple[Any, int | None]]) -> Iterator[tuple[Any, int, int | None]]:
    """Yield pieces with the number of rows before them and their own."""
    first = 0
    for piece, rows in pieces:
        yield piece, first, rows
        first += rows or 0


def _pieces_of(data: Any, memory: int | None, on_invalid: str) -> Iterable[tuple[Any, int | None]]:
    """Yield records of any form, a limited number at a time where their form can be cut, and that number."""
    if has_sparse_rows(data):
        return _sparse_pieces(data, memory)
    return _pieces(data, memory, on_invalid) if is_table(data) else _array_pieces(data)


def _array_pieces(data: Any) -> Iterator[tuple[Any, int | None]]:
    """Yield parts of plain arrays with as many rows each; whatever else is not a table is one piece."""
    total = _rows_of_arrays(data)
    if total is None:
        yield data, None  # counted once they were encoded, which refuses what has no rows
        return
    for first in range(0, total, ARRAY_ROWS):
        part = slice(first, first + ARRAY_ROWS)
        rows = min(ARRAY_ROWS, total - first)
        yield tuple(each[part] for each in data) if isinstance(data, tuple) else data[part], rows


def _rows_of_arrays(data: Any) -> int | None:
    """Return the number of rows of plain arrays that are cut into pieces; None of what is not cut."""
    arrays = data if isinstance(data, tuple) else (data,)
    lengths = {len(each) if type(each) is np.ndarray and each.ndim else 0 for each in arrays}
    return max(lengths) if len(lengths) == 1 and max(lengths) > ARRAY_ROWS else None


@runtime_checkable
class CountsRows(Protocol):
    """A table, such as ours, that knows its number of rows without decoding one."""

    def count_rows(self) -> int | None:
        """Return the number of rows; None for a stream read once."""


def count_rows(data: object) -> int | None:
    """Return the number of records without decoding one: from lengths, metadata or line ends; None for a stream read once."""
    if isinstance(data, CountsRows):
        return data.count_rows()
    if not is_table(data):
        return array_rows(data)
    for name in ("num_rows", "height"):  # PyArrow, polars
        if isinstance(getattr(data, name, None), int):
            return int(getattr(data, name))
    shape = getattr(data, "shape", None)
    return int(shape[0]) if isinstance(shape, tuple) and shape and isinstance(shape[0], int) else None


def expected_rows(data: object) -> int | None:
    """Return about how many rows there are, for a progress bar and nothing else: it may depend on what records look like."""
    told = getattr(data, "expected_rows", None)
    return told() if callable(told) else count_rows(data)


def check_count(data: object, unit: Unit) -> None:
    """Refuse a number of records that is not the plan's, from lengths and metadata alone; persons are counted by their rows."""
    found = None if unit.n is None or unit.of_persons else count_rows(data)
    if found is not None:
        unit.check(found)


def _pieces(data: object, memory: int | None, on_invalid: str) -> Iterator[tuple[Any, int]]:
    """Yield tables of a limited number of rows, and that number; one without rows if there are none."""
    import pyarrow as pa

    room = int((memory or DEFAULT_MEMORY) * PIECE_SHARE)
    schema, empty = None, True
    for batch in batches_of(data, on_invalid):
        schema = batch.schema
        rows = min(MOST_ROWS, max(256, room // (8 * max(1, len(schema)))))
        for start in range(0, batch.num_rows, rows):
            empty = False
            piece = pa.Table.from_batches([batch.slice(start, rows)])
            yield piece, piece.num_rows
    if empty and schema is not None:
        yield schema.empty_table(), 0


def _sparse_pieces(data: Any, memory: int | None) -> Iterator[tuple[Any, int]]:
    """Yield pairs of dense rows and their responses, as tables are cut."""
    rows, response = data[0], np.asarray(data[1])
    if response.ndim == 0 or len(response) != rows.shape[0]:
        raise DomainError("X, y: not of the same number of rows")
    for first, piece in dense_pieces(rows, int((memory or DEFAULT_MEMORY) * PIECE_SHARE) // 8):
        yield (piece, response[first : first + len(piece)]), len(piece)


def persons_of(piece: Any, persons: Any, first: int, rows: int) -> Values | None:
    """Return the identifiers of a piece: a column of it, or the same rows of an array beside it."""
    if persons is None:
        return None
    if isinstance(persons, str) and is_table(piece):
        if piece.schema.names.count(persons) != 1:
            raise DomainError(f"column {persons!r}: found {piece.schema.names.count(persons)} times, must be there once")
        return np.array(piece.column(persons).to_pylist(), dtype=object)
    return np.asarray(persons)[first : first + rows]
