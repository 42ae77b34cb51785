"""Entries of a column on their way to numbers and codes: Arrow columns and arrays alike."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from gibbsafe._types import Floats
from gibbsafe.domains.numbers import as_numbers
from gibbsafe.errors import DomainError

__all__ = ["as_floats", "dictionary"]


def as_floats(raw: Any, name: str, on_invalid: str = "error") -> Floats:
    """Return numbers as float64, missing ones as NaN; what is not numeric is refused, or NaN too."""
    from_arrow = hasattr(raw, "cast")
    if from_arrow:
        import pyarrow as pa

        allowed = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_null)
        if any(is_kind(raw.type) for is_kind in allowed):
            return np.asarray(raw.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))
        if on_invalid != "replace":
            raise DomainError(f"column {name!r}: type {raw.type} is not numeric")
        raw = raw.to_pylist()
    return as_numbers(raw, f"column {name!r}", on_invalid)


def dictionary(raw: Any) -> tuple[list[Any], npt.NDArray[np.intp]]:
    """Return the distinct values of a column and the position of each entry among them; missing ones come after the last."""
    if hasattr(raw, "dictionary_encode"):
        import pyarrow as pa

        if pa.types.is_nested(raw.type):
            return dictionary(raw.to_pylist())
        encoded = raw if pa.types.is_dictionary(raw.type) else raw.dictionary_encode()
        if hasattr(encoded, "unify_dictionaries"):  # a column in several chunks
            encoded = encoded.unify_dictionaries().combine_chunks()
        distinct = encoded.dictionary.to_pylist()
        positions = encoded.indices.fill_null(len(distinct)) if encoded.indices.null_count else encoded.indices
        return distinct, np.asarray(positions.to_numpy(zero_copy_only=False), dtype=np.intp)
    listed = raw.tolist() if isinstance(raw, np.ndarray) else list(raw)
    order: dict[Any, int] = {}
    positions_of = np.array([order.setdefault(_hashable(value), len(order)) for value in listed], dtype=np.intp)
    return list(order), positions_of


def _hashable(value: object) -> object:
    """Return the value, or for a list and its like something that equals no level."""
    try:
        hash(value)
    except TypeError:
        return ("no level", repr(value))
    return value
