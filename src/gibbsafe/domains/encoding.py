"""Declared columns as the rows of a linear model."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from gibbsafe._types import Document, Floats
from gibbsafe._validate import fail, positive
from gibbsafe.domains.column import Column
from gibbsafe.domains.interaction import Interaction

__all__ = ["Design"]


@dataclass(frozen=True)
class Design:
    """Declared columns as the rows of a linear model: numbers mapped by their bounds, categories one-hot, rows clipped.

    ``row_norm`` is the radius to which encoded rows are clipped; by default the square root of the number of columns and
    interactions, which no row exceeds (a category has a single 1, splines sum to 1, polynomials are divided by their length).
    Same interface as `gibbsafe.domains.Box`.

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
    interactions: tuple[Interaction, ...] = ()

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
    def _terms(self) -> tuple[Column | Interaction, ...]:
        """Whatever becomes columns together, of norm at most 1 in a row: declared columns, then interactions."""
        return (*self.columns, *self.interactions)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the encoded columns, in order."""
        return tuple(name for term in self._terms for name in term.encoded_names)

    @property
    def dimension(self) -> int:
        """Number of encoded columns."""
        return sum(term.width for term in self._terms)

    @property
    def radius(self) -> float:
        """Largest norm of an encoded row."""
        return self.natural_radius if self.row_norm is None else min(self.row_norm, self.natural_radius)

    @property
    def natural_radius(self) -> float:
        """Largest norm of a row before it is clipped."""
        return math.sqrt(len(self._terms))

    def groups(self) -> tuple[tuple[int, int], ...]:
        """(first, after) of the encoded columns of each category, of which exactly one is 1."""
        ends = np.cumsum([term.width for term in self._terms])
        return tuple((int(after) - term.width, int(after)) for term, after in zip(self._terms, ends, strict=True) if term.one_hot)

    def encoded_ends(self) -> tuple[Floats, Floats]:
        """Bounds of each encoded column."""
        return self._mapped_ends()

    def _ends(self) -> tuple[Floats, Floats]:
        """Bounds per encoded column, after transforms."""
        pairs = [
            term.limits()
            if isinstance(term, Interaction)
            else np.array([[term.interval.low], [term.interval.high]]).repeat(term.width, axis=1)
            for term in self._terms
        ]
        low, high = np.hstack(pairs)
        return low, high

    def _of_terms(self, kinds: Callable[[Column | Interaction], bool]) -> npt.NDArray[np.bool_]:
        """Return per encoded column whether its term is of a kind."""
        return np.array([kinds(term) for term in self._terms for _ in range(term.width)])

    def _centred(self) -> npt.NDArray[np.bool_]:
        return self._of_terms(lambda term: isinstance(term, Column) and term.centred)

    def _products(self) -> npt.NDArray[np.bool_]:
        return self._of_terms(lambda term: isinstance(term, Interaction))

    @property
    def offset(self) -> Floats:
        """Point that is mapped to 0: the middle of centred columns, 0 of products, the low end of the others."""
        low, high = self._ends()
        return np.where(self._products(), 0.0, np.where(self._centred(), low / 2 + high / 2, low))

    @property
    def scale(self) -> Floats:
        """Factor per encoded column of the public affine map."""
        low, high = self._ends()
        width = np.where(self._products(), np.maximum(-low, high), high - low)
        return np.where(self._centred(), 2.0, 1.0) / np.where(width > 0, width, 1.0)

    def read(self, table: Document, on_invalid: str = "error") -> Floats:
        """Return the design matrix, in the table's units after transforms, of raw columns given by name."""
        parts = {column.name: column.design(table[column.source], on_invalid) for column in self.columns}
        return np.hstack([*parts.values(), *(term.design(parts) for term in self.interactions)])

    def encode(self, matrix: Floats) -> Floats:
        """Return the design matrix clipped to the bounds and mapped to [−1, 1] or [0, 1] per column."""
        low, high = self._ends()
        mapped = (np.clip(matrix, low, high) - self.offset) * self.scale
        return np.clip(mapped, *self._mapped_ends())

    def _mapped_ends(self) -> tuple[Floats, Floats]:
        """Where encoded columns end, without rounding: −1 or 0, and 1; products as their bounds say."""
        low, _ = self._ends()
        return np.where(self._centred() | (self._products() & (low < 0)), -1.0, 0.0), np.ones(self.dimension)

    def replacement(self) -> Floats:
        """Values for invalid entries of a design matrix: the middle of a number's bounds, 0 for a level or a product."""
        low, high = self._ends()
        number = self._of_terms(lambda term: isinstance(term, Column) and term.plain)
        return np.where(number, low / 2 + high / 2, 0.0)
