"""One column of a table, read in pieces, before anything is declared of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gibbsafe._types import Floats, Values
from gibbsafe._validate import count, fail
from gibbsafe.data.census import PersonCap, person_key
from gibbsafe.data.declared import DeclaredTable
from gibbsafe.data.files import CsvFormat
from gibbsafe.data.stream import persons_of
from gibbsafe.domains.column import Column
from gibbsafe.domains.entries import as_floats, dictionary
from gibbsafe.errors import DomainError

__all__ = ["OneColumn", "count_values", "read_numbers"]


@dataclass(frozen=True, eq=False)
class OneColumn:
    """A column of a table, and how many of a person's rows count: the first so many."""

    data: object
    name: str
    csv_format: CsvFormat | None = None
    rows_per_person: int = 1
    persons: object = None

    def __post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name:
            fail("column", self.name, "the name of a column")
        if count("rows_per_person", self.rows_per_person) > 1 and self.persons is None:
            raise DomainError("persons: rows_per_person is declared, so pass an identifier per row (persons=...)")

    @property
    def unit(self) -> str:
        """What the price is about."""
        return "record" if self.rows_per_person == 1 else "person"

    def pieces(self, declared: Column, on_invalid: str) -> Iterator[tuple[Any, Values | None]]:
        """Yield the entries of rows that count, and whose they are where persons are counted."""
        import pyarrow as pa

        cap = None if self.rows_per_person == 1 else PersonCap(self.rows_per_person, on_invalid)
        source = {self.name: self.data} if isinstance(self.data, np.ndarray | list) else self.data
        others = (self.persons,) if cap is not None and isinstance(self.persons, str) else ()
        table = DeclaredTable(source, (), (declared,), others, self.csv_format or CsvFormat())
        seen = 0
        for batch in table.batches(on_invalid):
            raw = batch.column(self.name)
            if cap is None:
                yield raw, None
                continue
            names = persons_of(batch, self.persons, seen, batch.num_rows)
            seen += batch.num_rows
            if names is None or names.shape != (batch.num_rows,):
                raise DomainError("persons: not one identifier per row")
            kept = cap.keep(names)
            yield raw.filter(pa.array(kept)), names[kept]


def _stored(kind: Any) -> Any:
    """Return the type of a column's values, also of those in a dictionary."""
    import pyarrow as pa

    return kind.value_type if pa.types.is_dictionary(kind) else kind


def read_numbers(column: OneColumn, on_invalid: str, origin: str | None = None) -> Iterator[Floats]:
    """Yield a column's numbers, or with an origin its dates as days; missing ones as NaN. Texts are refused, by their type."""
    import pyarrow as pa

    declared = Column(column.name, origin=origin)
    for raw, _ in column.pieces(declared, on_invalid):
        kind = _stored(raw.type)
        if origin is not None:
            yield declared.numbers(raw.cast(kind), on_invalid)
            continue
        if pa.types.is_temporal(kind):
            raise DomainError(f"column {column.name!r}: holds {kind}; name an origin, a date from which days are counted")
        if not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind) or pa.types.is_null(kind)):
            raise DomainError(
                f"column {column.name!r}: holds {kind}, and bounds are those of numbers; ask for its levels instead"
            )
        yield as_floats(raw.cast(kind), column.name, on_invalid)


def count_values(column: OneColumn) -> Counter[Any]:
    """Return how many records, or persons, have each value; missing entries and empty texts are none.

    Nothing is refused but the column's type: texts that cannot be read are made readable, rows of nobody are left out.
    """
    import pyarrow as pa

    counts: Counter[Any] = Counter()
    told: set[tuple[bytes, Any]] = set()
    # A text level makes the column be read as text from a CSV file.
    for raw, names in column.pieces(Column(column.name, kind="category", levels=("",)), "replace"):
        kind = _stored(raw.type)
        allowed = (pa.types.is_string, pa.types.is_large_string, pa.types.is_integer, pa.types.is_boolean, pa.types.is_null)
        if not any(is_kind(kind) for is_kind in allowed):
            raise DomainError(
                f"column {column.name!r}: holds {kind}, which is no text or whole number; ask for its bounds instead"
            )
        distinct, positions = dictionary(raw)
        values = [*distinct, None]  # missing entries have the last position
        if names is None:
            for value, times in zip(values, np.bincount(positions, minlength=len(values)).tolist(), strict=True):
                counts[value] += times
            continue
        fresh = {(person_key(name), values[k]) for name, k in zip(names.tolist(), positions.tolist(), strict=True)} - told
        told |= fresh
        counts.update(value for _, value in fresh)
    return Counter({value: times for value, times in counts.items() if times and value not in (None, "")})
