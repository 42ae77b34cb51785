"""What a record of a model of one's own holds: declared columns, as numbers in a row and by name for the likelihood."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from gibbsafe._types import JSON, Floats
from gibbsafe._validate import count, fail
from gibbsafe.data.options import EncodingOptions
from gibbsafe.data.sources import is_table, read_columns
from gibbsafe.domains.column import Column
from gibbsafe.errors import DomainError
from gibbsafe.posteriors.record_gradients import Field, Form

__all__ = ["RecordColumns", "parameter_form"]

#: Most numbers of one field.
MOST = 100_000


@dataclass(frozen=True)
class RecordColumns:
    """Declared columns in their order; several of one name, x0, x1, …, make one vector field.

    >>> columns = RecordColumns.declared({"x": [(-1, 1), (0, 9)], "ward": ("a", "b")})
    >>> columns.form.fields
    (Field(name='x', shape=(2,), whole=False), Field(name='ward', shape=(), whole=True))
    >>> columns.rows(([[5.0, 5.0]], ["b"]), EncodingOptions())
    array([[1., 5., 1.]])
    """

    fields: tuple[tuple[str, tuple[Column, ...], bool], ...]  # name, columns, whether they are a vector

    @classmethod
    def declared(cls, given: object) -> RecordColumns:
        """Read the declaration: name → (low, high), a list of such pairs for a vector, or the levels of a category."""
        if isinstance(given, RecordColumns):
            return given
        if not isinstance(given, Mapping) or not given:
            fail("columns", type(given).__name__, "a mapping from names to (low, high), a list of such pairs, or levels")
        return cls(tuple(_field(name, each) for name, each in given.items()))

    @property
    def form(self) -> Form:
        """The names and shapes that the likelihood sees."""
        return Form(tuple(Field(name, (len(of),) if vector else (), of[0].kind != "number") for name, of, vector in self.fields))

    @property
    def columns(self) -> tuple[Column, ...]:
        """All of them, as a table has them."""
        return tuple(column for _, of, _ in self.fields for column in of)

    def rows(self, data: object, options: EncodingOptions) -> Floats:
        """Return records as rows of numbers: clipped, transformed, levels as codes; from a table, or from arrays in order.

        Always in double precision: codes and counts are exact.
        """
        raw = read_columns(data, self.columns) if is_table(data) else self._apart(data)
        read = [self._numbers(column, raw[column.source], options.on_invalid) for column in self.columns]
        if len({len(each) for each in read}) > 1:
            raise DomainError("data: columns are not of the same length")
        return np.column_stack(read)

    def _numbers(self, column: Column, raw: Any, on_invalid: str) -> Floats:
        if column.kind != "number":
            return column.codes(raw, on_invalid).astype(np.float64)
        values = column.values(raw, on_invalid)
        middle = float(column.values([0.5 * sum(column.bounds or (0.0, 0.0))])[0])
        return np.where(np.isfinite(values), values, middle)

    def _apart(self, data: object) -> dict[str, Any]:
        """Return the columns of a tuple with an array per field."""
        several = isinstance(data, tuple) or (isinstance(data, list) and len(self.fields) > 1)
        parts: Any = data if several else (data,)
        if len(parts) != len(self.fields):
            raise DomainError(f"data: must be a table, or {len(self.fields)} arrays ({', '.join(n for n, _, _ in self.fields)})")
        found: dict[str, Any] = {}
        for (name, of, vector), part in zip(self.fields, parts, strict=True):
            array = np.asarray(part)
            if array.ndim != (2 if vector else 1) or (vector and array.shape[1] != len(of)):
                form = f"{len(of)} columns" if vector else "one column"
                raise DomainError(f"column {name!r}: must be an array of {form}, not of {array.ndim} axes")
            found |= {column.source: each for column, each in zip(of, array.T if vector else [array], strict=True)}
        return found

    def clipped(self, rows: Floats) -> Floats:
        """Return rows with every number within its column's ends, as encoded ones have."""
        low, high = (np.array([_encoded_end(column, place) for column in self.columns]) for place in (0, 1))
        return np.clip(np.nan_to_num(rows), low, high)

    def synthetic(self, rows: int, generator: np.random.Generator) -> Floats:
        """Return rows spread evenly over the declared domain, whole numbers for what may be counts: never any of the data."""
        made = []
        for column in self.columns:
            if column.kind != "number":
                made.append(generator.integers(0, len(column.levels or ()), rows).astype(np.float64))
                continue
            low, high = column.bounds or (0.0, 1.0)
            whole = low == 0 and float(high).is_integer() and high > 1  # what begins at 0 may be a count
            raw = generator.integers(int(low), int(high) + 1, rows) if whole else generator.uniform(low, high, rows)
            made.append(column.values(raw.astype(np.float64)))
        return np.column_stack(made)

    def corners(self) -> list[object]:
        """Return extreme records, each a tuple of arrays in the form that the model reads."""
        ends = []
        for place in (0, 1, 2):
            record = []
            for _, of, vector in self.fields:
                values = [_end(column, place) for column in of]
                record.append(np.array([values]) if vector else np.array(values))
            ends.append(tuple(record))
        return ends  # type: ignore[return-value]

    def to_dict(self) -> JSON:
        """Return the declaration as plain data."""
        return {name: {"vector": vector, "of": [column.to_dict() for column in of]} for name, of, vector in self.fields}


def _end(column: Column, place: int) -> Any:
    if column.kind != "number":
        return (column.levels or ())[(0, -1, 0)[place]]
    low, high = column.bounds or (0.0, 0.0)
    return float((low, high, 0.5 * (low + high))[place])


def _encoded_end(column: Column, place: int) -> float:
    if column.kind != "number":
        return (0.0, len(column.levels or ()) - 1.0)[place]
    return float(column.values([_end(column, place)])[0])


def _field(name: object, given: Any) -> tuple[str, tuple[Column, ...], bool]:
    if not isinstance(name, str) or not name.isidentifier():
        fail("columns", name, "named by texts that are Python identifiers")
    if isinstance(given, Mapping):  # from a file
        of = tuple(Column.from_dict(each) for each in given["of"])
        return name, of, given["vector"] is True
    if isinstance(given, Column):
        return name, (_checked(given),), False
    if isinstance(given, int) and not isinstance(given, bool):
        return name, (Column(name, kind="category", levels=tuple(range(count(f"levels of {name!r}", given, least=2)))),), False
    if not isinstance(given, tuple | list) or not 1 <= len(given) <= MOST:
        fail(f"column {name!r}", given, "(low, high), a list of such pairs for a vector, or the levels of a category")
    if all(isinstance(each, tuple | list) for each in given):
        return name, tuple(_checked(Column(f"{name}{k}", bounds=tuple(each))) for k, each in enumerate(given)), True
    if len(given) == 2 and all(isinstance(each, int | float) and not isinstance(each, bool) for each in given):
        return name, (_checked(Column(name, bounds=(given[0], given[1]))),), False
    return name, (Column(name, kind="category", levels=tuple(given)),), False


def _checked(column: Column) -> Column:
    if column.kind == "number" and (column.bounds is None or column.width != 1):
        fail(f"column {column.name!r}", column.transform or "no bounds", "a number with bounds, of one column")
    return column


def parameter_form(given: object) -> Form:
    """Return the form of declared parameters: name → how many, or a shape; () for one number.

    >>> parameter_form({"w": 20, "scale": ()}).size
    21
    """
    if not isinstance(given, Mapping) or not given:
        fail("parameters", type(given).__name__, "a mapping from names to numbers of entries")
    fields = []
    for name, each in given.items():
        if not isinstance(name, str) or not name or not name.isprintable():
            fail("parameters", name, "named by texts that are not empty")
        shape = tuple(each) if isinstance(each, tuple | list) else (each,)
        fields.append(Field(name, tuple(count(f"parameters of {name!r}", size) for size in shape)))
    form = Form(tuple(fields))
    if form.size > MOST:
        fail("parameters", form.size, f"at most {MOST:,} in all")
    return form
