"""Tables of probabilities and their posterior: truncated Dirichlet distributions, one per context."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from gibbsafe._numerics import up
from gibbsafe._types import Floats
from gibbsafe.posteriors.protocols import ExactPosterior

__all__ = ["Table", "TablesPosterior", "log_odds_width"]


#: Rounding of released probabilities: rows still count as distributions.
TOLERANCE = 1e-9


def log_odds_width(smallest: float, states: int) -> float:
    """Return log((1 − (S−1)e)/e), an upper bound: how far the log of one probability varies.

    >>> round(2 * 4 * log_odds_width(0.05, 3), 9)  # a row of four such factors, replaced
    23.122974063
    """
    room = Fraction(1) - states * Fraction(smallest)  # exact: close to 1/S nothing else is left of it
    return up(up(math.log1p(float(room / Fraction(smallest)))))


@dataclass(frozen=True)
class Table:
    """One distribution over ``states`` states per context, each probability at least ``smallest``."""

    contexts: int
    states: int
    smallest: float
    concentration: float

    @property
    def cells(self) -> int:
        """Number of probabilities."""
        return self.contexts * self.states

    @property
    def width(self) -> float:
        """How far the log of a probability varies."""
        return log_odds_width(self.smallest, self.states)


@dataclass(frozen=True, eq=False)
class TablesPosterior(ExactPosterior):
    """Independent truncated Dirichlet distributions, one per context of every table; ``counts`` are tempered ones per cell."""

    tables: tuple[Table, ...]
    counts: Floats

    def parts(self) -> list[tuple[Table, slice, Floats]]:
        """Return every table with its cells and its concentrations (contexts, states)."""
        ends = np.cumsum([0, *(table.cells for table in self.tables)])
        parts = []
        for table, first, last in zip(self.tables, ends[:-1], ends[1:], strict=True):
            cells = slice(int(first), int(last))
            parts.append((table, cells, table.concentration + self.counts[cells].reshape(table.contexts, table.states)))
        return parts

    @property
    def support(self) -> tuple[Floats, Floats]:
        """Each probability between e and 1 − (S−1)e."""
        low = np.concatenate([np.full(table.cells, table.smallest) for table in self.tables])
        high = np.concatenate([np.full(table.cells, 1 - (table.states - 1) * table.smallest) for table in self.tables])
        return low, high

    def values(self, thetas: Floats) -> Floats:
        """Return −Σ (a − 1) log θ; infinite outside the truncated simplices."""
        theta = np.asarray(thetas, dtype=np.float64)
        low, high = self.support
        inside = ((theta >= low - TOLERANCE) & (theta <= high + TOLERANCE)).all(axis=1)
        total = np.zeros(len(theta))
        for table, cells, shape in self.parts():
            part = theta[:, cells].reshape(len(theta), table.contexts, table.states)
            inside &= (np.abs(part.sum(axis=2) - 1) <= TOLERANCE * table.states).all(axis=1)
            with np.errstate(divide="ignore", invalid="ignore"):
                total -= ((shape - 1) * np.log(part)).sum(axis=(1, 2))
        return np.where(inside, total, math.inf)
