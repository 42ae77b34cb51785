"""Every pass over records is a reduction over row blocks.

Samplers never see more than `RowBlocks`: a number of rows, a width, and `reduce`. Arrays in memory (`Blocks`), files that are
streamed and clusters differ only in who holds the rows; how their sums are added is said in `gibbsafe.data.sums`, once for all.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np
import numpy.typing as npt

from gibbsafe._types import Floats, Values
from gibbsafe.data.sums import BlockFunction, RowFunction, each_row, sum_of_chunks
from gibbsafe.errors import DomainError

__all__ = ["DEFAULT_BLOCK_ROWS", "BlockFunction", "Blocks", "RowBlocks", "TakesBeside", "beside_of", "targets_of", "weights_of"]

DEFAULT_BLOCK_ROWS = 4096


class RowBlocks(Protocol):
    """Records that can be summed over, as often as needed, always in the same order."""

    @property
    def n_rows(self) -> int:
        """Number of records."""

    @property
    def width(self) -> int:
        """Number of columns of a row, the intercept included."""

    @property
    def has_targets(self) -> bool:
        """Whether records have responses beside their rows."""

    @property
    def weights(self) -> Floats | None:
        """How many records each row stands for, if identical ones were merged."""

    def reduce(self, function: BlockFunction, block_rows: int = DEFAULT_BLOCK_ROWS) -> tuple[Any, ...]:
        """Sum of ``function(rows, targets)`` over all row blocks."""


@runtime_checkable
class TakesBeside(Protocol):
    """Records beside which numbers can be kept, one for each: taken once, not in every pass."""

    def with_beside(self, function: RowFunction) -> RowBlocks:
        """Return the same rows, each with what ``function(rows, beside)`` says of it in the place of what stands beside it."""


@dataclass(frozen=True, eq=False)
class Blocks:
    """Encoded, clipped and scaled records in memory.

    ``rows`` is an (n, p) C-contiguous array of float64 or float32 with the intercept column included, or of the codes of
    discrete states (int8 or int16, in any order in memory), which functions see as they are; ``targets`` is an (n,) array, or
    ``None`` for margin losses, whose rows are y_i z_i. ``weights`` (n,) says how many identical records each row stands for
    (whole numbers, exact in float64; see `gibbsafe.data.compression`), or is ``None`` where each stands for itself.

    Guarantees: a reduction is the same bit by bit for a given block size, however many workers took part (`sum_of_chunks`);
    float32 rows are widened block by block before the function sees them; with no rows at all the function is called once, on
    an empty block, so a sum over nothing still has its shape.

    >>> blocks = Blocks(np.arange(6.0).reshape(3, 2))
    >>> blocks.reduce(lambda rows, targets: (rows.sum(axis=0), float(len(rows))), block_rows=2)
    (array([6., 9.]), 3.0)
    """

    rows: Values
    targets: npt.NDArray[np.float64] | None = None
    weights: npt.NDArray[np.float64] | None = None

    def __post_init__(self) -> None:
        if self.rows.ndim != 2 or self.rows.dtype not in (np.float64, np.float32, np.int8, np.int16):
            raise DomainError(f"rows: must be a 2-D array of float64 or float32, not {self.rows.ndim}-D of {self.rows.dtype}")
        if self.width == 0:
            raise DomainError("rows: must have at least one column")
        if self.rows.dtype.kind == "f":
            object.__setattr__(self, "rows", np.ascontiguousarray(self.rows))
        if self.targets is not None:
            self._keep_column("targets", self.targets)
        if self.weights is not None:
            self._keep_column("weights", self.weights)
            if not ((self.weights >= 1) & (self.weights == np.floor(self.weights))).all():
                raise DomainError("weights: must be whole numbers of at least 1")

    def _keep_column(self, name: str, values: Values) -> None:
        if values.shape != (len(self.rows),):
            raise DomainError(f"{name}: must have shape ({len(self.rows)},), not {values.shape}")
        object.__setattr__(self, name, np.ascontiguousarray(values, dtype=np.float64))

    @classmethod
    def from_beside(cls, rows: Values, beside: Floats | None) -> Blocks:
        """Return the blocks of which a block function saw these rows and what stood beside them (`beside_of`)."""
        if beside is None or beside.ndim == 1:
            return cls(rows, beside)
        return cls(rows, beside[:, 1] if beside.shape[1] > 1 else None, beside[:, 0])

    @property
    def n_rows(self) -> int:
        """Number of records, identical ones that were merged included."""
        return len(self.rows) if self.weights is None else int(self.weights.sum())

    @property
    def width(self) -> int:
        """Number of columns of a row, the intercept included."""
        return int(self.rows.shape[1])

    @property
    def has_targets(self) -> bool:
        """Whether there are targets."""
        return self.targets is not None

    def reduce(self, function: BlockFunction, block_rows: int = DEFAULT_BLOCK_ROWS) -> tuple[Any, ...]:
        """Sum of ``function(rows, beside)`` over consecutive blocks of at most ``block_rows`` rows.

        The function's own arrays are never written to: the first block's are copied and the others added to the copies.
        """
        return sum_of_chunks(function, self._from, len(self.rows), block_rows)

    def with_beside(self, function: RowFunction) -> Blocks:
        """Return the same rows, each with what ``function(rows, beside)`` says of it in the place of what stands beside it."""
        return Blocks(self.rows, self.each_row(function))

    def each_row(self, function: RowFunction) -> Floats:
        """Return one number for every row, in their order: ``function(rows, beside)`` sees some of them at a time."""
        return np.concatenate(list(each_row(function, self._from, len(self.rows))))

    def _from(self, first: int, rows: int) -> tuple[Values, Floats | None]:
        part = slice(first, first + rows)
        targets, weights = (None if each is None else each[part] for each in (self.targets, self.weights))
        return self.rows[part], beside_of(targets, weights)


def beside_of(targets: Floats | None, weights: Floats | None) -> Floats | None:
    """What a block function sees beside the rows: targets (n,), or for merged records the columns (weight, target)."""
    if weights is None:
        return targets
    return weights[:, None] if targets is None else np.column_stack([weights, targets])


def weights_of(beside: Floats | None) -> Floats | float:
    """How many records each row of a block stands for, as a factor.

    >>> weights_of(None), weights_of(np.array([[3.0, 0.5]]))
    (1.0, array([3.]))
    """
    return 1.0 if beside is None or beside.ndim == 1 else beside[:, 0]


def targets_of(beside: Floats | None) -> Floats | None:
    """Return responses, without the weights that may stand before them."""
    if beside is None or beside.ndim == 1:
        return beside
    return beside[:, 1] if beside.shape[1] > 1 else None
