"""Columns that an estimator is told of: numbers by their bounds, categories by their levels, nothing read from the rows."""

from __future__ import annotations

import numbers
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from gibbsafe._types import Document
from gibbsafe._validate import fail
from gibbsafe.data.sources import is_table
from gibbsafe.domains.column import Column

__all__ = ["declared_columns", "named_columns"]

FORM = "(low, high), a list of texts that are the levels, or a table as in a study file"


def declared_columns(columns: object) -> tuple[Column, ...]:
    """Return what was declared: by a mapping of names, by a sequence of `Column`, or by a study.

    >>> [column.encoded_names for column in declared_columns({"age": (0, 100), "ward": ["a", "b"]})]
    [('age',), ('ward=a', 'ward=b')]
    """
    listed = getattr(columns, "columns", columns)  # of a study
    if isinstance(listed, Mapping):
        return tuple(_column(name, form) for name, form in listed.items())
    if not isinstance(listed, Sequence) or isinstance(listed, str) or not all(isinstance(each, Column) for each in listed):
        fail("columns", columns, f"a mapping of names to {FORM}; or a study")
    return tuple(listed)


def _column(name: object, form: object) -> Column:
    if isinstance(form, Column):
        return form
    if isinstance(form, Mapping):
        kind = "category" if "levels" in form else "number"
        return Column.from_dict({"name": name, "kind": kind, **form})
    if isinstance(form, list | tuple) and form and all(isinstance(entry, str) for entry in form):
        return Column(name, kind="category", levels=tuple(form))  # type: ignore[arg-type]
    if isinstance(form, list | tuple) and len(form) == 2 and all(isinstance(end, numbers.Real) for end in form):
        return Column(name, bounds=(form[0], form[1]))  # type: ignore[arg-type]
    fail(f"columns, {name}", form, FORM)


def named_columns(rows: Any, columns: tuple[Column, ...]) -> Document | Any:
    """Return raw columns by name: a table as it is, an array's in the declared order."""
    if is_table(rows):
        return rows
    array = np.asarray(rows, dtype=object)
    if array.ndim != 2 or array.shape[1] != len(columns):
        found = f"{array.shape[1]} columns" if array.ndim == 2 else f"{array.ndim} axes"
        fail("X", found, f"the declared columns ({len(columns)}), in their order or by name")
    return {column.name: _as_declared(array[:, place], column) for place, column in enumerate(columns)}


def _as_declared(values: Any, column: Column) -> Any:
    return values if column.kind != "number" else values.tolist()
