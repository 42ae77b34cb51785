"""Declared columns as the rows of a linear model."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gibbsafe._types import Document, Floats
from gibbsafe._validate import fail, positive
from gibbsafe.domains.column import Column
from gibbsafe.domains.interval import Interval

__all__ = ["Design"]


@dataclass(frozen=True)
class Design:
    """Declared columns as the rows of a linear model: numbers mapped by their bounds, categories one-hot, rows clipped.

    ``row_norm`` is the radius to which encoded rows are clipped; by default the square root of the number of columns, which no
    row exceeds (a category has a single 1). Same interface as `gibbsafe.domains.Box`.

    >>> from gibbsafe.domains.column import Column
    >>> ward = Column("ward", kind="category", levels=("a", "b"))
    >>> design = Design((Column("age", bounds=(0, 100)), ward))
    >>> design.names, design.radius == 2**0.5
    (('age', 'ward=a', 'ward=b'), True)
    >>> design.encode(design.read({"age": [75.0], "ward": ["b"]}))
    array([[0.5, 0. , 1. ]])
    """

    columns: tuple[Column, ...]
    row_norm: float | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "columns", tuple(self.columns))
        if not self.columns:
            fail("columns", [], "at least one feature")
        repeated = [name for name in self.names if self.names.count(name) > 1] if len(set(self.names)) < len(self.names) else []
        if repeated:
            fail("columns", repeated[0], "encoded under different names")
        for column in self.columns:
            if column.kind == "number":
                _ = column.interval  # refuses a number without bounds
        if self.row_norm is not None:
            object.__setattr__(self, "row_norm", positive("row_norm", self.row_norm))

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the encoded columns, in order."""
        return tuple(name for column in self.columns for name in column.encoded_names)

    @property
    def dimension(self) -> int:
        """Number of encoded columns."""
        return sum(column.width for column in self.columns)

    @property
    def radius(self) -> float:
        """Largest norm of an encoded row."""
        return self.natural_radius if self.row_norm is None else min(self.row_norm, self.natural_radius)

    @property
    def natural_radius(self) -> float:
        """Largest norm of a row before it is clipped."""
        return math.sqrt(len(self.columns))

    def groups(self) -> tuple[tuple[int, int], ...]:
        """(first, after) of the encoded columns of each category."""
        ends = np.cumsum([column.width for column in self.columns])
        return tuple(
            (int(after) - column.width, int(after))
            for column, after in zip(self.columns, ends, strict=True)
            if column.kind != "number"
        )

    def encoded_ends(self) -> tuple[Floats, Floats]:
        """Bounds of each encoded column."""
        return np.where(self._centred(), -1.0, 0.0), np.ones(self.dimension)

    def _ends(self) -> tuple[Floats, Floats]:
        """Bounds per encoded column, after transforms."""
        pairs: list[tuple[float, float]] = []
        for column in self.columns:
            interval = column.interval if column.kind == "number" else Interval(0.0, 1.0)
            pairs += [(interval.low, interval.high)] * column.width
        low, high = np.array(pairs).T
        return low, high

    def _centred(self) -> npt.NDArray[np.bool_]:
        return np.array(
            [column.kind == "number" and column.scale == "centred" for column in self.columns for _ in range(column.width)]
        )

    @property
    def offset(self) -> Floats:
        """Point that is mapped to 0: the middle of centred columns, the low end of the others."""
        low, high = self._ends()
        return np.where(self._centred(), low / 2 + high / 2, low)

    @property
    def scale(self) -> Floats:
        """Factor per encoded column of the public affine map."""
        low, high = self._ends()
        return np.where(self._centred(), 2.0, 1.0) / (high - low)

    def read(self, table: Document, on_invalid: str = "error") -> Floats:
        """Return the design matrix, in the table's units after transforms, of raw columns given by name."""
        return np.hstack([column.design(table[column.name], on_invalid) for column in self.columns])

    def encode(self, matrix: Floats) -> Floats:
        """Return the design matrix clipped to the bounds and mapped to [−1, 1] or [0, 1] per column."""
        low, high = self._ends()
        mapped = (np.clip(matrix, low, high) - self.offset) * self.scale
        return np.clip(mapped, np.where(self._centred(), -1.0, 0.0), 1.0)

    def replacement(self) -> Floats:
        """Values for invalid entries of a design matrix: the middle of a number's bounds, 0 for a level."""
        low, high = self._ends()
        number = [column.kind == "number" for column in self.columns for _ in range(column.width)]
        return np.where(number, low / 2 + high / 2, 0.0)
