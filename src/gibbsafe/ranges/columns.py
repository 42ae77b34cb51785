"""One column of a table, read in pieces, before anything is declared of it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from gibbsafe._types import Floats
from gibbsafe._validate import fail
from gibbsafe.data.declared import DeclaredTable
from gibbsafe.data.files import CsvFormat
from gibbsafe.domains.column import Column
from gibbsafe.domains.entries import as_floats, dictionary
from gibbsafe.errors import DomainError

__all__ = ["count_values", "read_numbers"]


def _table(data: object, column: str, text: bool, csv_format: CsvFormat | None) -> DeclaredTable:
    if not isinstance(column, str) or not column:
        fail("column", column, "the name of a column")
    source = {column: data} if isinstance(data, np.ndarray | list) else data
    # Nothing is declared yet: a text level makes the column be read as text from a CSV file.
    declared = Column(column, kind="category", levels=("",)) if text else Column(column)
    return DeclaredTable(source, (), (declared,), (), csv_format or CsvFormat())


def read_numbers(data: object, column: str, on_invalid: str, csv_format: CsvFormat | None = None) -> Iterator[Floats]:
    """Yield a column's numbers, missing ones as NaN; a column of texts is refused, by its type."""
    for batch in _table(data, column, False, csv_format).batches(on_invalid):
        raw: Any = batch.column(column)
        if on_invalid == "error" and any(name in str(raw.type) for name in ("string", "binary", "bool", "utf8")):
            raise DomainError(f"column {column!r}: holds {raw.type}, and bounds are those of numbers; ask for its levels instead")
        yield as_floats(raw, column, on_invalid)


def count_values(data: object, column: str, csv_format: CsvFormat | None = None) -> Counter[Any]:
    """Return how often each value occurs; missing entries and empty texts are none."""
    counts: Counter[Any] = Counter()
    for batch in _table(data, column, True, csv_format).batches():
        raw: Any = batch.column(column)
        if any(name in str(raw.type) for name in ("float", "double", "halffloat", "decimal")):
            raise DomainError(f"column {column!r}: holds {raw.type}, which is no category; ask for its bounds instead")
        distinct, positions = dictionary(raw)
        seen = np.bincount(positions, minlength=len(distinct) + 1).tolist()
        counts.update({value: times for value, times in zip(distinct, seen[:-1], strict=True) if value not in (None, "")})
    return counts
