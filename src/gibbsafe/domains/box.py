"""Columns with bounds of their own."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gibbsafe._validate import fail, positive
from gibbsafe.domains.interval import Interval

__all__ = ["Box"]


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

    def encoded_ends(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Bounds of each encoded column."""
        return -np.ones(self.dimension), np.ones(self.dimension)

    def encode(self, matrix: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the rows with each column clipped to its bounds and mapped to [−1, 1]."""
        low, high = np.array(self.bounds).T
        return np.clip((np.clip(matrix, low, high) - self.offset) * self.scale, -1.0, 1.0)

    def replacement(self) -> npt.NDArray[np.float64]:
        """Values for invalid entries: the middle of each column's bounds."""
        return self.offset
