"""Sparse rows (`scipy.sparse`): made dense a piece at a time, so that no more than a piece of them ever is."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from gibbsafe._types import Floats
from gibbsafe.errors import DomainError

__all__ = ["dense_pieces", "has_sparse_rows", "is_sparse"]


def is_sparse(values: object) -> bool:
    """Whether these are rows of `scipy.sparse`, in whatever format."""
    return hasattr(values, "tocsr") and hasattr(values, "toarray")


def has_sparse_rows(data: object) -> bool:
    """Whether the data are a pair (X, y) of sparse rows and their responses."""
    return isinstance(data, tuple | list) and len(data) == 2 and is_sparse(data[0])


def dense_pieces(rows: Any, numbers: int) -> Iterator[tuple[int, Floats]]:
    """Yield dense pieces of at most this many numbers, each with the place of its first row; one without rows if there are none.

    >>> from scipy.sparse import eye
    >>> [(first, piece.shape) for first, piece in dense_pieces(eye(5, format="coo"), 10)]
    [(0, (2, 5)), (2, (2, 5)), (4, (1, 5))]
    """
    if len(rows.shape) != 2:
        raise DomainError("X: must be rows and columns")
    by_rows = rows.tocsr()
    step = max(1, numbers // max(1, by_rows.shape[1]))
    for first in range(0, max(1, by_rows.shape[0]), step):
        yield first, np.asarray(by_rows[first : first + step].toarray(), dtype=np.float64)
