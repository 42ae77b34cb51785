"""A table as a study declares it: missing entries and undeclared levels replaced by public values, transforms applied."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gibbsafe.data.csv_text import CsvFormat
from gibbsafe.data.directories import open_table
from gibbsafe.data.sources import as_table, batches_of, is_table
from gibbsafe.data.stream import count_rows, expected_rows
from gibbsafe.domains.column import Column
from gibbsafe.errors import DomainError

__all__ = ["DeclaredTable"]


@dataclass(frozen=True)
class DeclaredTable:
    """The declared columns of a file, a directory or a table, in batches.

    ``prepared`` columns come out as models expect them: numbers after clipping and transform, levels as declared. The ``raw``
    ones are left to a model that reads them by itself, as linear models do with their features. ``others`` (a person's
    identifier) pass as they are.
    """

    source: object
    prepared: Sequence[Column]
    raw: Sequence[Column] = ()
    others: Sequence[str] = ()
    csv_format: CsvFormat = field(default_factory=CsvFormat)

    def __post_init__(self) -> None:
        object.__setattr__(self, "source", as_table(self.source))
        if isinstance(self.source, str | Path):
            object.__setattr__(self, "source", open_table(self.source, self.wanted, self.csv_format))
        elif not is_table(self.source) and not any(hasattr(self.source, name) for name in ("batches", "__dask_graph__")):
            raise DomainError(
                "data: must be a file, a directory, a dict of columns or a table with the Arrow C stream, "
                f"not {type(self.source).__name__}"
            )

    @property
    def wanted(self) -> Mapping[str, str]:
        """Every column that is read, and how its text is to be understood."""
        declared = {column.source: _text_type(column) for column in (*self.raw, *self.prepared)}
        return declared | dict.fromkeys(self.others, "text")

    def count_rows(self) -> int | None:
        """Return the number of rows without decoding one, if the source can tell."""
        return count_rows(self.source)

    def expected_rows(self) -> int | None:
        """Return about how many rows there are, for a progress bar and nothing else."""
        return expected_rows(self.source)

    def batches(self, on_invalid: str = "error") -> Iterator[Any]:
        """Yield record batches of the declared columns; undeclared entries are refused, or replaced by public values."""
        import pyarrow as pa

        for batch in batches_of(self.source, on_invalid):
            present = batch.schema.names
            for name in self.wanted:
                if present.count(name) != 1:
                    raise DomainError(f"column {name!r}: found {present.count(name)} times in the table, must be there once")
            columns = {column.source: batch.column(column.source) for column in self.raw}
            columns |= {column.name: _prepare(column, batch.column(column.source), on_invalid) for column in self.prepared}
            columns |= {name: batch.column(name) for name in self.others}
            yield pa.RecordBatch.from_pydict(columns)

    def __arrow_c_stream__(self, requested_schema: object = None) -> Any:
        """Return the stream of the C interface, for whoever reads tables by it."""
        import pyarrow as pa

        batches = self.batches()
        first = next(batches)

        def chained() -> Iterator[Any]:
            yield first
            yield from batches

        return pa.RecordBatchReader.from_batches(first.schema, chained()).__arrow_c_stream__(requested_schema)


def _text_type(column: Column) -> str:
    if column.origin is not None:
        return "text"
    if column.kind == "number" or column.levels is None:
        return "number"
    first = column.levels[0]
    return "text" if isinstance(first, str) else "truth" if isinstance(first, bool) else "number"


def _prepare(column: Column, raw: object, on_invalid: str) -> Any:
    """Return a column as models expect it: float64, or the declared level of each entry."""
    import pyarrow as pa

    if column.kind == "number":
        return pa.array(column.values(raw, on_invalid))
    return pa.array(list(column.levels or ())).take(pa.array(column.codes(raw, on_invalid)))
