"""Public bounds: what records may look like, declared in advance and never inferred from data.

Values inside the machine's numbers but outside the bounds are clipped; NaN, infinities, unknown labels and levels are outside
the declared domain and refused, or replaced by a declared public value. Clipping happens after conversion to the storage type
and to a radius a little inside the declared one, so that no rounding can carry a row out of it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from gibbsafe._validate import count, fail, positive, real
from gibbsafe.errors import DomainError

__all__ = ["Ball", "Box", "Categories", "Interval", "Labels", "clip_rows"]

Floats: TypeAlias = npt.NDArray[np.floating[Any]]

#: Rows are clipped to this share of the declared radius: room for the rounding of a norm and of float32 storage.
INSIDE = 1 - 2.0**-20


def clip_rows(rows: Floats, radius: float) -> Floats:
    """Scale down, in place, every row longer than ``radius``·(1 − 2⁻²⁰); norms are taken in float64 without overflow.

    >>> clip_rows(np.array([[3e300, 4e300], [0.3, 0.4]]), 1.0).round(3)
    array([[0.6, 0.8], [0.3, 0.4]])
    """
    limit = radius * INSIDE
    wide = rows.astype(np.float64, copy=False)
    largest = np.abs(wide).max(axis=1, initial=0.0)
    norms = np.sqrt(np.einsum("ij,ij->i", wide, wide)) if largest.max(initial=0.0) < 1e150 else _safe_norms(wide, largest)
    long = norms > limit
    if long.any():
        shrunk = wide[long] / largest[long, None]  # entries at most 1, norm at least 1: nothing overflows
        rows[long] = shrunk * (limit / np.sqrt(np.einsum("ij,ij->i", shrunk, shrunk)))[:, None]
    return rows


def _safe_norms(rows: Floats, largest: Floats) -> Floats:
    unit = np.where(largest > 0, largest, 1.0)
    share = rows / unit[:, None]
    with np.errstate(over="ignore"):
        return np.asarray(unit * np.sqrt(np.einsum("ij,ij->i", share, share)))


def as_numbers(values: Any, name: str, on_invalid: str = "error") -> npt.NDArray[np.float64]:
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


def as_matrix(values: Any, columns: int, name: str = "X", on_invalid: str = "error") -> npt.NDArray[np.float64]:
    """Return ``values`` as an (n, columns) float64 array, or refuse its form."""
    matrix = as_numbers(values, name, on_invalid)
    if matrix.ndim != 2 or matrix.shape[1] != columns:
        found = f"{matrix.shape[1]} columns" if matrix.ndim == 2 else f"{matrix.ndim} axes"
        raise DomainError(f"{name}: {found}, but the plan declares rows of {columns} columns")
    return matrix


def as_column(values: Any, name: str, on_invalid: str = "error") -> npt.NDArray[np.float64]:
    """Return ``values`` as an (n,) float64 array, or refuse its form."""
    column = as_numbers(values, name, on_invalid)
    if column.ndim != 1:
        raise DomainError(f"{name}: {column.ndim} axes, but it must be one column of numbers")
    return column


def equals(array: npt.NDArray[Any], value: Any) -> npt.NDArray[np.bool_]:
    """Return which entries equal ``value``; entries that cannot be compared do not."""
    try:
        same = np.asarray(array == value)
    except Exception:  # entries with an equality of their own
        same = np.empty(0, dtype=object)
    if same.shape != array.shape or same.dtype != np.bool_:  # NumPy compares incompatible types as a whole
        entries = array.ravel().tolist() if array.dtype.kind == "O" else [None] * array.size
        same = np.array([_same(entry, value) for entry in entries], dtype=bool).reshape(array.shape)
    return same


def _same(entry: Any, value: Any) -> bool:
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


@dataclass(frozen=True)
class Interval:
    """A bounded interval of the reals.

    >>> Interval(0.0, 10.0).clip([-5.0, 3.0, 1e300])
    array([ 0.,  3., 10.])
    """

    low: float
    high: float

    def __post_init__(self) -> None:
        object.__setattr__(self, "low", real("low", self.low))
        object.__setattr__(self, "high", real("high", self.high))
        if not self.low < self.high:
            fail("bounds", (self.low, self.high), "a pair (low, high) with low < high")
        if not math.isfinite(self.high - self.low):
            fail("bounds", (self.low, self.high), "a pair whose difference is finite")

    def clip(self, values: Any) -> npt.NDArray[np.float64]:
        """Return the values moved to the nearest point of the interval."""
        return np.clip(np.asarray(values, dtype=np.float64), self.low, self.high)


@dataclass(frozen=True)
class Ball:
    """Rows of ``dimension`` numbers with Euclidean norm at most ``radius``, used as they are."""

    dimension: int
    radius: float = 1.0

    def __post_init__(self) -> None:
        object.__setattr__(self, "dimension", count("dimension", self.dimension))
        object.__setattr__(self, "radius", positive("radius", self.radius))

    @property
    def offset(self) -> npt.NDArray[np.float64]:
        """Point that is mapped to 0."""
        return np.zeros(self.dimension)

    @property
    def scale(self) -> npt.NDArray[np.float64]:
        """Factor per column of the public affine map."""
        return np.ones(self.dimension)

    def encode(self, matrix: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the rows as they are: a ball has no columns to map."""
        return np.array(matrix)

    def replacement(self) -> float:
        """Value for an invalid entry: the centre."""
        return 0.0


@dataclass(frozen=True)
class Box:
    """Columns with bounds of their own, each mapped to [−1, 1]; rows are then clipped to ``row_norm`` (√d by default).

    >>> Box([(0, 10), (-1, 1)]).encode(np.array([[2.5, 7.0]]))
    array([[-0.5,  1. ]])
    """

    bounds: tuple[tuple[float, float], ...]
    row_norm: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.bounds, tuple | list) or not self.bounds:
            fail("bounds", self.bounds, "a list of (low, high) pairs, one per column")
        pairs = []
        for pair in self.bounds:
            if not isinstance(pair, tuple | list) or len(pair) != 2:
                fail("bounds", pair, "a (low, high) pair")
            interval = Interval(*pair)
            pairs.append((interval.low, interval.high))
        object.__setattr__(self, "bounds", tuple(pairs))
        if self.row_norm is not None:
            object.__setattr__(self, "row_norm", positive("row_norm", self.row_norm))

    @property
    def dimension(self) -> int:
        """Number of columns."""
        return len(self.bounds)

    @property
    def radius(self) -> float:
        """Largest norm of an encoded row."""
        natural = math.sqrt(self.dimension)
        return natural if self.row_norm is None else min(self.row_norm, natural)

    @property
    def offset(self) -> npt.NDArray[np.float64]:
        """Point that is mapped to 0: the middle of the bounds."""
        return np.array([low / 2 + high / 2 for low, high in self.bounds])

    @property
    def scale(self) -> npt.NDArray[np.float64]:
        """Factor per column of the public affine map."""
        return np.array([2 / (high - low) for low, high in self.bounds])

    def encode(self, matrix: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the rows with each column clipped to its bounds and mapped to [−1, 1]."""
        low, high = np.array(self.bounds).T
        return np.clip((np.clip(matrix, low, high) - self.offset) * self.scale, -1.0, 1.0)

    def replacement(self) -> npt.NDArray[np.float64]:
        """Values for invalid entries: the middle of each column's bounds."""
        return self.offset


@dataclass(frozen=True)
class Labels:
    """Two labels, the second of which is the positive class.

    >>> Labels("no", "yes").encode(["yes", "no"])
    array([ 1., -1.])
    """

    negative: Any
    positive: Any

    def __post_init__(self) -> None:
        for name, label in (("negative", self.negative), ("positive", self.positive)):
            if not isinstance(label, str | bool | int | float) or (isinstance(label, float) and math.isnan(label)):
                fail(f"labels, {name}", label, "a string or a number")
        if self.negative == self.positive:
            fail("labels", (self.negative, self.positive), "two different values")

    def encode(self, values: Any, on_invalid: str = "error") -> npt.NDArray[np.float64]:
        """Return ±1 per label; unknown labels are refused, or read as the negative one."""
        array = np.asarray(values)
        if array.ndim != 1:
            raise DomainError(f"y: {array.ndim} axes, but labels are one column")
        plus, minus = equals(array, self.positive), equals(array, self.negative)
        unknown = ~(plus | minus)
        if unknown.any() and on_invalid != "replace":
            row = int(np.argmax(unknown))
            found = array[row : row + 1].tolist()[0]
            refusal = f"y: a record is not one of the declared labels {self.negative!r}, {self.positive!r}"
            raise DomainError(refusal, private=f"row {row} is {found!r}")
        return np.where(plus, 1.0, -1.0)

    def decode(self, positive: npt.NDArray[np.bool_]) -> npt.NDArray[Any]:
        """Return the declared label per truth value."""
        return np.where(positive, np.array([self.positive]), np.array([self.negative]))


@dataclass(frozen=True)
class Categories:
    """A column of declared levels, encoded one-hot; unknown levels go to ``other`` if that level is declared.

    >>> Categories(("a", "b")).encode(["b", "a"])
    array([[0., 1.], [1., 0.]])
    """

    levels: tuple[Any, ...]
    other: Any = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "levels", tuple(self.levels))
        if not self.levels or len(set(self.levels)) != len(self.levels):
            fail("levels", self.levels, "one or more different values")
        if self.other is not None and self.other not in self.levels:
            fail("other", self.other, f"one of the levels {self.levels}")

    def encode(self, values: Any) -> npt.NDArray[np.float64]:
        """Return one column of 0 and 1 per level."""
        array = np.asarray(values)
        hot = np.stack([equals(array, level) for level in self.levels], axis=-1)
        unknown = ~hot.any(axis=-1)
        if unknown.any():
            if self.other is None:
                row = int(np.argmax(unknown))
                raise DomainError(
                    "a level is not declared; declare it or a catch-all level",
                    private=f"row {row} is {array[row : row + 1].tolist()[0]!r}",
                )
            hot[unknown, self.levels.index(self.other)] = True
        return hot.astype(np.float64)
