"""Data sets in the forms that models read: an array or a tuple of arrays, first axis = records."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from gibbsafe._types import JSON
from gibbsafe.errors import DomainError, GibbsafeError
from gibbsafe.models.base import Model
from gibbsafe.models.capabilities import HasCorners
from gibbsafe.planning import Plan
from gibbsafe.privacy import Adjacency

__all__ = ["blend", "columns_of", "corners_of", "hostile_copies", "join", "persons_for", "replace_record", "rows_of"]


def columns_of(data: object) -> tuple[np.ndarray, ...]:
    """Return the arrays of a data set."""
    columns = tuple(np.asarray(column) for column in (data if isinstance(data, tuple) else (data,)))
    if not columns or any(column.ndim == 0 or len(column) != len(columns[0]) for column in columns):
        raise DomainError("data: must be an array or a tuple of arrays with one entry per record")
    return columns


def _like(data: object, columns: Sequence[np.ndarray]) -> object:
    return tuple(columns) if isinstance(data, tuple) else columns[0]


def rows_of(data: object) -> int:
    """Return the number of records."""
    return len(columns_of(data)[0])


def persons_for(plan: Plan, data: object) -> JSON:
    """Return the option that tells `release` whose rows these are, if the plan asks: the first rows are one person's.

    As many as leave n persons in all, also more than the cap, which keeps the first; or where n is private as many as the cap.
    """
    if plan.rows_per_person == 1:
        return {}
    rows, public = rows_of(data), plan.adjacency == Adjacency.REPLACE_ONE
    of_first = max(rows - (plan.n or 0) + 1, 1) if public else plan.rows_per_person
    return {"persons": np.maximum(np.arange(rows) - of_first + 1, 0)}


def join(parts: Sequence[tuple[object, int]]) -> object:
    """Return a data set made of records (data sets of one), each repeated as often as its number says (0: its form only).

    >>> join([(np.array([7.0]), 2), (np.array([1.0]), 1)])
    array([7., 7., 1.])
    """
    repeated = [tuple(np.repeat(column, times, axis=0) for column in columns_of(record)) for record, times in parts]
    return _like(parts[0][0], [np.concatenate(columns) for columns in zip(*repeated, strict=True)])


def replace_record(data: object, position: int, record: object) -> object:
    """Return a copy of the data with one record replaced."""
    columns = []
    for column, new in zip(columns_of(data), columns_of(record), strict=True):
        changed = np.array(column, dtype=np.result_type(column, new) if column.dtype.kind in "ifub" else column.dtype)
        changed[position] = new[0]
        columns.append(changed)
    return _like(data, columns)


def blend(record: object, other: object, share: float) -> object:
    """Return a record between two: floating-point columns in the given share of the second, anything else of the first."""
    pairs = zip(columns_of(record), columns_of(other), strict=True)
    mixed = [a + share * (b - a) if a.dtype.kind == "f" and b.dtype.kind == "f" else a for a, b in pairs]
    return _like(record, mixed)


def hostile_copies(record: object, *, invalid: bool = False) -> list[object]:
    """Return the record with its floating-point entries made huge, tiny, or (``invalid``) not numbers at all."""
    columns = columns_of(record)
    values = [1e300, -1e300, 1e18, -5e-324] + ([np.nan, np.inf, -np.inf] if invalid else [])
    copies = []
    for k, column in enumerate(columns):
        if column.dtype.kind != "f":
            continue
        for value in values:
            whole = np.full_like(column, value)
            copies.append(_like(record, [whole if j == k else other for j, other in enumerate(columns)]))
            if column.ndim > 1 and column.shape[1] > 1:
                one = np.array(column)
                one[:, 0] = value
                copies.append(_like(record, [one if j == k else other for j, other in enumerate(columns)]))
    return copies


def corners_of(model: Model) -> list[object]:
    """Return the extreme records that a model lists; one that lists none is refused."""
    if not isinstance(model, HasCorners):
        raise GibbsafeError(f"corners: {model.name} does not list extreme records; pass records")
    return list(model.corners())
