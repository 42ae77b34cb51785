"""Entries as numbers: what is none is refused, or becomes a declared public value."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from gibbsafe._types import Values
from gibbsafe.errors import DomainError

__all__ = []


def as_numbers(values: object, name: str, on_invalid: str = "error") -> npt.NDArray[np.float64]:
    """Return ``values`` as float64. What is no number is refused, or with ``on_invalid="replace"`` becomes NaN.

    >>> as_numbers(["1.5", "n/a", 10**400], "y", "replace")
    array([1.5, nan, nan])
    """
    try:
        return np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError, OverflowError) as error:
        if on_invalid != "replace":
            raise DomainError(f"{name}: must be numbers; clean it or use on_invalid='replace'", private=str(error)) from None
    entries = np.asarray(values, dtype=object)
    return np.array([_number(entry) for entry in entries.ravel()], dtype=np.float64).reshape(entries.shape)


def _number(entry: Any) -> float:
    try:
        return float(entry)
    except Exception:  # whatever an entry is: it is no number
        return math.nan


def as_matrix(values: object, columns: int, name: str = "X", on_invalid: str = "error") -> npt.NDArray[np.float64]:
    """Return ``values`` as an (n, columns) float64 array, or refuse its form."""
    matrix = as_numbers(values, name, on_invalid)
    if matrix.ndim != 2 or matrix.shape[1] != columns:
        found = f"{matrix.shape[1]} columns" if matrix.ndim == 2 else f"{matrix.ndim} axes"
        raise DomainError(f"{name}: {found}, but the plan declares rows of {columns} columns")
    return matrix


def as_column(values: object, name: str, on_invalid: str = "error") -> npt.NDArray[np.float64]:
    """Return ``values`` as an (n,) float64 array, or refuse its form."""
    column = as_numbers(values, name, on_invalid)
    if column.ndim != 1:
        raise DomainError(f"{name}: {column.ndim} axes, but it must be one column of numbers")
    return column


def equals(array: Values, value: object) -> npt.NDArray[np.bool_]:
    """Return which entries equal ``value``; entries that cannot be compared do not."""
    try:
        same = np.asarray(array == value)
    except Exception:  # entries with an equality of their own
        same = np.empty(0, dtype=object)
    if same.shape != array.shape or same.dtype != np.bool_:  # NumPy compares incompatible types as a whole
        entries = array.ravel().tolist() if array.dtype.kind == "O" else [None] * array.size
        same = np.array([_same(entry, value) for entry in entries], dtype=bool).reshape(array.shape)
    return same


def _same(entry: object, value: object) -> bool:
    try:
        return bool(entry == value)
    except Exception:  # missing values of pandas, arrays within arrays
        return False


def require_finite(
    matrix: npt.NDArray[np.float64], replacement: float | npt.NDArray[np.float64] | None, name: str = "X"
) -> npt.NDArray[np.float64]:
    """Refuse NaN and infinities, or put a declared public value in their place."""
    bad = ~np.isfinite(matrix)
    if not bad.any():
        return matrix
    if replacement is None:
        row, column = np.argwhere(bad)[0]
        raise DomainError(
            f"{name}: an entry is missing or not finite, outside the domain; clean it or use on_invalid='replace'",
            private=f"row {row}, column {column} is {matrix[row, column]}",
        )
    return np.where(bad, replacement, matrix)
