"""Tables encoded piece by piece, so that no more than a piece of raw records is in memory at any time."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from gibbsafe.data.blocks import Blocks, RowBlocks
from gibbsafe.data.sources import batches_of, is_table
from gibbsafe.data.spool import Spool
from gibbsafe.errors import DomainError

if TYPE_CHECKING:
    from gibbsafe.models.model import EncodingOptions, Model

__all__ = ["PersonCap", "encode_records"]

#: Most rows of a piece, and the share of the memory limit that its numbers may take.
MOST_ROWS = 65_536
PIECE_SHARE = 1 / 32
DEFAULT_MEMORY = 2**30


class PersonCap:
    """Keeps the first ``cap`` rows of every person of a stream. It remembers a 16-byte hash and a count per person."""

    def __init__(self, cap: int) -> None:
        self._cap = cap
        self._seen: dict[bytes, int] = {}

    def keep(self, persons: npt.NDArray[Any]) -> npt.NDArray[np.bool_]:
        """Return which rows of the next piece are kept."""
        kept = np.zeros(len(persons), dtype=bool)
        for position, person in enumerate(persons.tolist()):
            if person is None or (isinstance(person, float) and math.isnan(person)):
                raise DomainError(f"persons: row {position} has no identifier; every row needs one")
            name = hashlib.blake2b(repr(person).encode(), digest_size=16).digest()
            count = self._seen.get(name, 0)
            kept[position] = count < self._cap
            self._seen[name] = min(count + 1, self._cap)
        return kept


def encode_records(model: Model, data: Any, options: EncodingOptions, persons: Any, memory: int | None) -> RowBlocks:
    """Return encoded records: arrays by the model at once, tables piece by piece, beyond the memory limit in a file.

    The result is the same whatever the pieces are: encoding works row by row.
    """
    if not is_table(data):
        return model.encode(data, options, persons)
    by_piece, spool, total = replace(options, n=None, rows_per_person=None), Spool(memory), 0
    cap = None if options.rows_per_person is None else PersonCap(options.rows_per_person)
    for piece in _pieces(data, memory):
        last = total + piece.num_rows
        try:
            block = model.encode(piece, by_piece, None)
            if cap is not None:
                kept = cap.keep(_persons(piece, persons, total))
                block = Blocks(block.rows[kept], None if block.targets is None else block.targets[kept])
        except DomainError as error:
            raise DomainError(f"rows {total} to {last - 1}: {error}" if total else str(error)) from error
        spool.add(block)
        total = last
    if options.n is not None and options.n != total:
        raise DomainError(f"data: {total} records, but the plan declares n = {options.n}; make a plan for this n")
    return spool.finish()


def _pieces(data: Any, memory: int | None) -> Iterator[Any]:
    """Yield tables of a limited number of rows; one without rows if there are none."""
    import pyarrow as pa

    room = int((memory or DEFAULT_MEMORY) * PIECE_SHARE)
    schema, empty = None, True
    for batch in batches_of(data):
        schema = batch.schema
        rows = min(MOST_ROWS, max(256, room // (8 * max(1, len(schema)))))
        for start in range(0, batch.num_rows, rows):
            empty = False
            yield pa.Table.from_batches([batch.slice(start, rows)])
    if empty and schema is not None:
        yield schema.empty_table()


def _persons(piece: Any, persons: Any, first: int) -> npt.NDArray[Any]:
    """Return the identifiers of a piece: a column of it, or the same rows of an array beside it."""
    if persons is None:
        raise DomainError("persons: rows_per_person is declared, so pass an identifier per row (persons=...)")
    if isinstance(persons, str):
        if piece.schema.names.count(persons) != 1:
            raise DomainError(f"column {persons!r}: found {piece.schema.names.count(persons)} times, must be there once")
        return np.array(piece.column(persons).to_pylist(), dtype=object)
    listed = np.asarray(persons)
    if len(listed) < first + piece.num_rows:
        raise DomainError(f"persons: {len(listed)} identifiers, but there are more rows")
    return listed[first : first + piece.num_rows].astype(object)
