"""Tables encoded piece by piece, so that no more than a piece of raw records is in memory at any time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Protocol, runtime_checkable

import numpy as np

from gibbsafe._types import Values
from gibbsafe.data.blocks import RowBlocks
from gibbsafe.data.census import Census, Unit, array_rows
from gibbsafe.data.options import Encoder, EncodingOptions
from gibbsafe.data.sources import batches_of, is_table
from gibbsafe.data.sparse import dense_pieces, has_sparse_rows
from gibbsafe.data.spool import DEFAULT_MEMORY, Spool
from gibbsafe.errors import DomainError

__all__ = ["check_count", "count_rows", "encode_records", "expected_rows", "persons_of"]

#: Most rows of a piece, and the share of the memory limit that its numbers may take.
MOST_ROWS = 65_536
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
    """Return encoded records: arrays at once, tables and sparse rows piece by piece, beyond the memory limit in a file.

    Encoding works row by row, so the result is the same whatever the pieces are. Every row passes the `Census`. After each piece
    ``advance`` is told its rows, for a progress bar. A ``census`` of the caller's own sees every row and identifier instead.
    """
    of_persons = unit.of_persons or census is not None
    census = census or Census(unit, options.on_invalid)
    sparse = has_sparse_rows(data)
    if not is_table(data) and not sparse:
        names = None if persons is None else np.asarray(persons)
        blocks = census.admit(model.encode(data, options), array_rows(data), names)
        census.close()
        return blocks
    spool, total = Spool(memory), 0
    for piece, rows in _sparse_pieces(data, memory) if sparse else _pieces(data, memory, options.on_invalid):
        last = total + rows
        names = persons_of(piece, persons, total, rows) if of_persons else None
        try:
            block = census.admit(model.encode(piece, options), rows, names)
        except DomainError as error:
            raise DomainError(str(error), private=f"in rows {total} to {last - 1}" if total else "") from None
        spool.add(block)
        total = last
        if advance is not None:
            advance(rows)
    census.close()
    return spool.finish()


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
    return np.asarray(persons)[first : first + rows].astype(object)
