"""Where records come from: a pair of arrays, or any table that speaks the Arrow C stream (pandas, polars, DuckDB, PyArrow),
or a dict of columns."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from gibbsafe._types import JSON, Values
from gibbsafe.domains.column import Column
from gibbsafe.domains.numbers import as_numbers
from gibbsafe.errors import DomainError, guarded

__all__ = [
    "as_table",
    "batches_of",
    "is_table",
    "read_columns",
    "read_records",
    "read_response",
    "read_rows",
    "read_states",
    "readable_text",
    "require_readable",
]


def is_table(data: object) -> bool:
    """Whether the data are a table with named columns, by the Arrow C stream."""
    return hasattr(data, "__arrow_c_stream__")


def as_table(data: object) -> object:
    """Return what speaks the Arrow C stream for a dict of columns and a Polars LazyFrame; anything else as it is.

    >>> as_table({"age": [61, 80]}).num_rows
    2
    """
    if is_table(data) or hasattr(data, "batches"):
        return data
    if isinstance(data, Mapping):
        return guarded(lambda: _from_columns(data), "data: not columns of one length by name")
    if type(data).__name__ == "LazyFrame" and hasattr(data, "collect"):
        lazy: Any = data
        return guarded(lazy.collect, "data: the LazyFrame cannot be collected")
    return data


def _from_columns(data: Mapping[Any, Any]) -> Any:
    import pyarrow as pa

    return pa.table(
        {str(name): values if hasattr(values, "type") else _one_column(str(name), values) for name, values in data.items()}
    )


def _one_column(name: str, values: Any) -> Any:
    """Return a list or an array as an Arrow column; whole numbers that fit no machine word become floats."""
    import pyarrow as pa

    listed = values.tolist() if isinstance(values, np.ndarray) and values.dtype.kind == "O" else values
    try:
        return pa.array(listed)
    except (pa.ArrowException, TypeError, ValueError, OverflowError):
        if not all(entry is None or isinstance(entry, int | float | np.integer | np.floating) for entry in listed):
            raise DomainError(f"column {name!r}: holds entries of several types; give each column one") from None
    return pa.array([None if entry is None else _as_float(entry) for entry in listed], type=pa.float64())


def _as_float(number: Any) -> float:
    """Return the nearest double, an infinity for what is larger than all."""
    try:
        return float(number)
    except OverflowError:
        return math.inf if number > 0 else -math.inf


def require_readable(data: object) -> None:
    """Refuse a table where the package that reads tables was taken away: before anything is charged for it."""
    if not is_table(data):
        return
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise DomainError("tables need PyArrow, which the installation has lost: run pip install pyarrow") from error


def batches_of(data: object, on_invalid: str = "error") -> Iterator[Any]:
    """Yield a table's record batches, the first perhaps without rows, so that its columns are known in any case.

    With ``on_invalid="replace"`` no entry is refused: what cannot be read as its column's type is missing.
    """
    if hasattr(data, "batches"):  # our own tables: their errors keep their names
        yield from data.batches(on_invalid)
        return
    reader = _reader(data, ())
    import pyarrow as pa

    yield pa.RecordBatch.from_pylist([], schema=pa.schema([(field.name, _plain_type(field.type)) for field in reader.schema]))
    for batch in reader:
        plain = _without_views(batch)
        yield readable_text(plain) if on_invalid == "replace" else plain


def _plain_type(kind: Any) -> Any:
    """Return the type of plain texts for those that Polars keeps as views, also inside a category; other types as they are."""
    import pyarrow as pa

    if pa.types.is_dictionary(kind):
        return pa.dictionary(kind.index_type, _plain_type(kind.value_type), kind.ordered)
    return pa.string() if pa.types.is_string_view(kind) else kind


def _without_views(batch: Any) -> Any:
    """Return the batch with texts as all of PyArrow reads them."""
    import pyarrow as pa

    def plain(column: Any) -> Any:
        kind = _plain_type(column.type)
        if kind == column.type:
            return column
        if pa.types.is_dictionary(kind):
            return pa.DictionaryArray.from_arrays(column.indices, column.dictionary.cast(kind.value_type), ordered=kind.ordered)
        return column.cast(kind)

    return pa.RecordBatch.from_arrays([plain(column) for column in batch.columns], names=batch.schema.names)


def readable_text(batch: Any) -> Any:
    """Return the batch with texts that are no UTF-8 made readable, so that they are texts like others."""
    import pyarrow as pa

    columns = []
    for column in batch.columns:
        plain = column.dictionary_decode() if pa.types.is_dictionary(column.type) else column
        if pa.types.is_string(plain.type) or pa.types.is_large_string(plain.type):
            try:
                plain.validate(full=True)
            except pa.ArrowInvalid:
                raw = plain.cast(pa.large_binary()).to_pylist()
                plain = pa.array([None if each is None else each.decode(errors="replace") for each in raw], type=plain.type)
        columns.append(plain)
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def read_records(
    data: object,
    feature_names: tuple[str, ...] | None,
    targets: tuple[str, ...],
    on_invalid: str = "error",
    columns: Sequence[Column] | None = None,
) -> tuple[Any, Any]:
    """Return (features, response) from ``(X, y)`` or from a table with named columns; a tuple of columns for two ``targets``.

    With declared ``columns`` the features of a table are its raw columns by name.
    """
    if is_table(data):
        names = () if columns is None else tuple(dict.fromkeys(column.source for column in columns))
        if columns is None and len(targets) == 1:
            return _read_table(data, feature_names, targets[0], on_invalid)
        raw = _columns(data, (*names, *targets))
        response = tuple(_plain(raw[target]) for target in targets)
        features = (
            _read_table(data, feature_names, None, on_invalid)[0] if columns is None else {name: raw[name] for name in names}
        )
        return features, response[0] if len(targets) == 1 else response
    if not isinstance(data, tuple | list) or len(data) != 2:
        raise DomainError(f"data: must be a pair (X, y) or a table with the Arrow C stream, not {type(data).__name__}")
    return data[0], data[1] if len(targets) == 1 else _apart(data[1], targets)


def _apart(response: Any, targets: tuple[str, ...]) -> tuple[Values, ...]:
    """Return the columns of a response that has several."""
    table = np.asarray(response)
    if table.ndim != 2 or table.shape[1] != len(targets):
        raise DomainError(f"y: must have {len(targets)} columns, {' and '.join(targets)}")
    return tuple(table.T)


def read_columns(table: object, columns: Sequence[Column]) -> JSON:
    """Return the declared columns of a table as Arrow columns by name; others are ignored."""
    return _columns(table, tuple(dict.fromkeys(column.source for column in columns)))


def read_states(data: object, names: tuple[str, ...] | None) -> list[Any]:
    """Return the columns of discrete records: those of a 2-D array (or of a tuple of one), or a table's by name."""
    if is_table(data):
        if names is None:
            raise DomainError("names of the columns: not declared by the model, so columns of a table cannot be found")
        raw = _columns(data, names)
        return [raw[name] for name in names]
    table = np.asarray(_only(data))
    if table.ndim != 2:
        raise DomainError(f"data: {table.ndim} axes, but records are the rows of a table")
    return list(table.T)


def _columns(table: object, names: tuple[str, ...]) -> JSON:
    reader = _reader(table, names)
    whole = reader.read_all()
    return {name: whole.column(name) for name in names}


def _reader(table: object, wanted: Sequence[str]) -> Any:
    """Open a table's stream if every wanted column is there once."""
    require_readable(table)
    import pyarrow as pa

    reader = pa.RecordBatchReader.from_stream(table)
    present = reader.schema.names
    for name in wanted:
        if present.count(name) != 1:
            raise DomainError(f"column {name!r}: found {present.count(name)} times in the table, must be there once")
    return reader


def read_rows(data: object, feature_names: tuple[str, ...] | None, on_invalid: str = "error") -> Any:
    """Return the features from an array X, a tuple ``(X,)`` or a table: records without a response."""
    return _read_table(data, feature_names, None, on_invalid)[0] if is_table(data) else _only(data)


def read_response(data: object, target: str) -> Any:
    """Return the response from an array y, a tuple ``(y,)`` or a table: records without features."""
    return _read_table(data, (), target, "error")[1] if is_table(data) else _only(data)


def _only(data: object) -> Any:
    """Return the array itself, also out of a tuple."""
    if isinstance(data, tuple):
        if len(data) != 1:
            raise DomainError(f"data: {len(data)} arrays, but this model reads one")
        return data[0]
    return data


def _read_table(table: object, feature_names: tuple[str, ...] | None, target: str | None, on_invalid: str) -> tuple[Any, Any]:
    if feature_names is None:
        raise DomainError("feature_names: not declared by the model, so columns of a table cannot be found; declare them")
    reader = _reader(table, [*feature_names, *([] if target is None else [target])])
    features, responses = [np.empty((0, len(feature_names)))], []
    for batch in reader:
        columns = [_numbers(batch.column(name), name, on_invalid) for name in feature_names]
        features.append(np.column_stack(columns) if columns else np.empty((batch.num_rows, 0)))
        if target is not None:
            responses.append(_plain(batch.column(target)))
    return np.concatenate(features), _joined(responses)


def _joined(parts: list[Values]) -> Values:
    return np.concatenate(parts) if parts else np.empty(0)


def _numbers(column: Any, name: str, on_invalid: str) -> npt.NDArray[np.float64]:
    """Return a numeric Arrow column as float64, missing values as NaN."""
    import pyarrow as pa

    try:
        return np.asarray(column.cast(pa.float64(), safe=not pa.types.is_integer(column.type)).to_numpy(zero_copy_only=False))
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        if on_invalid != "replace":
            raise DomainError(f"column {name!r}: type {column.type} is not numeric") from None
    return as_numbers(column.to_pylist(), f"column {name!r}", on_invalid)


def _plain(column: Any) -> Values:
    return np.asarray(column.to_numpy() if hasattr(column, "chunks") else column.to_numpy(zero_copy_only=False))
