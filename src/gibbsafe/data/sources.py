"""Where records come from: a pair of arrays, or any table that speaks the Arrow C stream (pandas, polars, DuckDB, PyArrow)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gibbsafe.columns import Column
from gibbsafe.errors import DomainError

__all__ = [
    "batches_of",
    "is_table",
    "keep_first_rows",
    "read_columns",
    "read_records",
    "read_response",
    "read_rows",
    "read_states",
]


def is_table(data: Any) -> bool:
    """Whether the data are a table with named columns, by the Arrow C stream."""
    return hasattr(data, "__arrow_c_stream__")


def batches_of(data: Any) -> Iterator[Any]:
    """Yield a table's record batches, the first perhaps without rows, so that its columns are known in any case."""
    if hasattr(data, "batches"):  # our own tables: their errors keep their names
        yield from data.batches()
        return
    reader = _reader(data, ())
    import pyarrow as pa

    yield pa.RecordBatch.from_pylist([], schema=reader.schema)
    yield from reader


def read_records(
    data: Any, feature_names: tuple[str, ...] | None, target: str, persons: Any, columns: Sequence[Column] | None = None
) -> tuple[Any, Any, npt.NDArray[Any] | None]:
    """Return (features, response, person) from ``(X, y)`` or from a table with named columns.

    ``persons`` is an array of identifiers beside ``(X, y)``, or the name of a column of a table. With declared ``columns`` the
    features of a table are its raw columns by name.
    """
    if is_table(data):
        if columns is None:
            return _read_table(data, feature_names, target, persons)
        names = tuple(column.name for column in columns)
        raw = _columns(data, (*names, target, *([persons] if isinstance(persons, str) else [])))
        person = _plain(raw[persons]) if isinstance(persons, str) else None if persons is None else np.asarray(persons)
        return {name: raw[name] for name in names}, _plain(raw[target]), person
    if not isinstance(data, tuple | list) or len(data) != 2:
        raise DomainError(f"data: must be a pair (X, y) or a table with the Arrow C stream, not {type(data).__name__}")
    features, response = data
    return features, response, None if persons is None else np.asarray(persons)


def read_columns(table: Any, columns: Sequence[Column]) -> dict[str, Any]:
    """Return the declared columns of a table as Arrow columns by name; others are ignored."""
    return _columns(table, tuple(column.name for column in columns))


def read_states(data: Any, names: tuple[str, ...] | None, persons: Any) -> tuple[list[Any], npt.NDArray[Any] | None]:
    """Return (columns, person) of discrete records: columns of a 2-D array (or of a tuple of one), or a table's by name."""
    if is_table(data):
        if names is None:
            raise DomainError("names of the columns: not declared by the model, so columns of a table cannot be found")
        raw = _columns(data, (*names, *([persons] if isinstance(persons, str) else [])))
        person = _plain(raw[persons]) if isinstance(persons, str) else None if persons is None else np.asarray(persons)
        return [raw[name] for name in names], person
    table = np.asarray(_only(data))
    if table.ndim != 2:
        raise DomainError(f"data: shape {table.shape}, but records are the rows of a table")
    return list(table.T), None if persons is None else np.asarray(persons)


def _columns(table: Any, names: tuple[str, ...]) -> dict[str, Any]:
    reader = _reader(table, names)
    whole = reader.read_all()
    return {name: whole.column(name) for name in names}


def _reader(table: Any, wanted: Sequence[str]) -> Any:
    """Open a table's stream if every wanted column is there once."""
    try:
        import pyarrow as pa
    except ImportError as error:
        raise DomainError("tables need PyArrow: install gibbsafe[files], or pass arrays") from error
    reader = pa.RecordBatchReader.from_stream(table)
    present = reader.schema.names
    for name in wanted:
        if present.count(name) != 1:
            raise DomainError(f"column {name!r}: found {present.count(name)} times in the table, must be there once")
    return reader


def read_rows(data: Any, feature_names: tuple[str, ...] | None, persons: Any) -> tuple[Any, npt.NDArray[Any] | None]:
    """Return (features, person) from an array X, a tuple ``(X,)`` or a table: records without a response."""
    if is_table(data):
        features, _, person = _read_table(data, feature_names, None, persons)
        return features, person
    return _only(data), None if persons is None else np.asarray(persons)


def read_response(data: Any, target: str, persons: Any) -> tuple[Any, npt.NDArray[Any] | None]:
    """Return (response, person) from an array y, a tuple ``(y,)`` or a table: records without features."""
    if is_table(data):
        _, response, person = _read_table(data, (), target, persons)
        return response, person
    return _only(data), None if persons is None else np.asarray(persons)


def _only(data: Any) -> Any:
    """Return the array itself, also out of a tuple."""
    if isinstance(data, tuple):
        if len(data) != 1:
            raise DomainError(f"data: {len(data)} arrays, but this model reads one")
        return data[0]
    return data


def _read_table(
    table: Any, feature_names: tuple[str, ...] | None, target: str | None, persons: Any
) -> tuple[Any, Any, npt.NDArray[Any] | None]:
    if feature_names is None:
        raise DomainError("feature_names: not declared by the model, so columns of a table cannot be found; declare them")
    reader = _reader(
        table, [*feature_names, *([] if target is None else [target]), *([persons] if isinstance(persons, str) else [])]
    )
    features = [np.empty((0, len(feature_names)))]
    responses, people = [], []
    for batch in reader:
        columns = [_numbers(batch.column(name), name) for name in feature_names]
        features.append(np.column_stack(columns) if columns else np.empty((batch.num_rows, 0)))
        if target is not None:
            responses.append(_plain(batch.column(target)))
        if isinstance(persons, str):
            people.append(_plain(batch.column(persons)))
    given = None if persons is None or isinstance(persons, str) else np.asarray(persons)
    person = _joined(people) if isinstance(persons, str) else given
    return np.concatenate(features), _joined(responses), person


def _joined(parts: list[npt.NDArray[Any]]) -> npt.NDArray[Any]:
    return np.concatenate(parts) if parts else np.empty(0)


def _numbers(column: Any, name: str) -> npt.NDArray[np.float64]:
    """Return a numeric Arrow column as float64, missing values as NaN."""
    import pyarrow as pa

    try:
        return np.asarray(column.cast(pa.float64()).to_numpy(zero_copy_only=False))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
        raise DomainError(f"column {name!r}: type {column.type} is not numeric") from error


def _plain(column: Any) -> npt.NDArray[Any]:
    return np.asarray(column.to_numpy() if hasattr(column, "chunks") else column.to_numpy(zero_copy_only=False))


def keep_first_rows(persons: npt.NDArray[Any] | None, rows: int, cap: int) -> npt.NDArray[np.intp]:
    """Return the positions of the first ``cap`` rows of every person, in the order of the table.

    >>> keep_first_rows(np.array(["a", "b", "a", "a"]), 4, 2)
    array([0, 1, 2])
    """
    if persons is None:
        raise DomainError("persons: rows_per_person is declared, so pass an identifier per row (persons=...)")
    if persons.shape != (rows,):
        raise DomainError(f"persons: shape {persons.shape}, but there are {rows} rows")
    try:
        _, codes = np.unique(persons, return_inverse=True)
    except TypeError as error:
        raise DomainError("persons: identifiers must be all numbers or all strings, none missing") from error
    order = np.argsort(codes, kind="stable")
    ordered = codes[order]
    starts = np.concatenate([[True], ordered[1:] != ordered[:-1]]) if rows else np.zeros(0, bool)
    rank = np.arange(rows) - np.maximum.accumulate(np.where(starts, np.arange(rows), 0)) if rows else np.arange(0)
    return np.sort(order[rank < cap])
