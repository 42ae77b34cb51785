"""The arrays that everything passes around."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["AnyFloats", "Floats", "Indices", "Values"]

#: Numbers in double precision, as parameters, records and sums are.
Floats: TypeAlias = npt.NDArray[np.float64]
#: Double precision, or single where a caller only wants a quick estimate or saves memory.
AnyFloats: TypeAlias = npt.NDArray[Any]
#: What records hold: numbers, codes, labels, texts.
Values: TypeAlias = npt.NDArray[Any]
#: Positions in an array.
Indices: TypeAlias = npt.NDArray[np.intp]
