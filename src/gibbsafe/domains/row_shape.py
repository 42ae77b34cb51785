"""What is public about encoded rows, column by column: bounds, one-hot groups, the largest norm and the constant column."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from gibbsafe._types import Floats

__all__ = ["RowShape"]


@dataclass(frozen=True, eq=False)
class RowShape:
    """Encoded rows in scaled units, as declared.

    Args:
        low, high: bounds of each feature.
        groups: (first, after) of the columns of each category: exactly one of them is at its upper end, the others are 0.
        norm: the largest norm of the features of a row.
        clipped: whether rows can be longer than ``norm`` before they are clipped to it, which changes the values of columns.
        constant: the value of the last column of every row, the intercept; None without one.
    """

    low: Floats
    high: Floats
    groups: tuple[tuple[int, int], ...] = ()
    norm: float = 1.0
    clipped: bool = False
    constant: float | None = None

    @property
    def features(self) -> int:
        """Number of columns besides the constant."""
        return len(self.low)

    @property
    def parameters(self) -> int:
        """Number of columns."""
        return self.features + (self.constant is not None)

    @classmethod
    def of_constant(cls, constant: float) -> RowShape:
        """Rows that are one constant."""
        return cls(np.zeros(0), np.zeros(0), norm=0.0, constant=constant)
