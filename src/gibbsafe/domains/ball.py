"""Rows of bounded norm, and how rows are clipped to one.

Clipping happens after conversion to the storage type and to a radius a little inside the declared one, so that no rounding can
carry a row out of it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gibbsafe._types import AnyFloats
from gibbsafe._validate import count, positive

__all__ = ["Ball", "clip_rows"]


#: Rows are clipped to this share of the declared radius: room for the rounding of a norm and of float32 storage.
INSIDE = 1 - 2.0**-20


def clip_rows(rows: AnyFloats, radius: float) -> AnyFloats:
    """Scale down, in place, every row longer than ``radius``·(1 − 2⁻²⁰); norms are taken in float64 without overflow.

    >>> clip_rows(np.array([[3e300, 4e300], [0.3, 0.4]]), 1.0).round(3)
    array([[0.6, 0.8], [0.3, 0.4]])
    """
    limit = radius * INSIDE
    wide = rows.astype(np.float64, copy=False)
    usual = max(wide.max(initial=0.0), -wide.min(initial=0.0)) < 1e150
    norms = np.sqrt(np.einsum("ij,ij->i", wide, wide)) if usual else _safe_norms(wide)
    long = norms > limit
    if long.any():
        shrunk = wide[long]
        shrunk /= np.abs(shrunk).max(axis=1, keepdims=True)  # entries at most 1, norm at least 1: nothing overflows
        rows[long] = shrunk * (limit / np.sqrt(np.einsum("ij,ij->i", shrunk, shrunk)))[:, None]
    return rows


def _safe_norms(rows: AnyFloats) -> AnyFloats:
    largest = np.abs(rows).max(axis=1, initial=0.0)
    unit = np.where(largest > 0, largest, 1.0)
    share = rows / unit[:, None]
    with np.errstate(over="ignore"):
        return np.asarray(unit * np.sqrt(np.einsum("ij,ij->i", share, share)))


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

    def encoded_ends(self) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
        """Bounds of each encoded column."""
        return np.full(self.dimension, -self.radius), np.full(self.dimension, self.radius)

    def encode(self, matrix: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Return the rows as they are: a ball has no columns to map."""
        return np.array(matrix)

    def replacement(self) -> float:
        """Value for an invalid entry: the centre."""
        return 0.0
