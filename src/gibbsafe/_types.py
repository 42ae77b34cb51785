"""The arrays and documents that everything passes around."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

__all__ = ["JSON", "AnyFloats", "Document", "Floats", "Indices", "Values"]

#: Numbers in double precision, as parameters, records and sums are.
Floats: TypeAlias = npt.NDArray[np.float64]
#: Double precision, or single where a caller only wants a quick estimate or saves memory.
AnyFloats: TypeAlias = npt.NDArray[Any]
#: What records hold: numbers, codes, labels, texts.
Values: TypeAlias = npt.NDArray[Any]
#: Positions in an array.
Indices: TypeAlias = npt.NDArray[np.intp]
#: Plain data, as files hold them and `to_dict` returns them; and the same as it is read, whatever holds it.
JSON: TypeAlias = dict[str, Any]
Document: TypeAlias = Mapping[str, Any]
