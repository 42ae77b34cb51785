"""A bounded interval of the reals, declared in advance."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gibbsafe._validate import fail, real

__all__ = ["Interval"]


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

    def clip(self, values: object) -> npt.NDArray[np.float64]:
        """Return the values moved to the nearest point of the interval."""
        return np.clip(np.asarray(values, dtype=np.float64), self.low, self.high)
