"""Densities exp(w Σᵢ e^{−(θ−xᵢ)²/2s²}) on an interval: many bumps, any number of modes.

All that a sampler asks are sums over records at points: how many lie near, and their bumps. Chunks are sorted, so that a sum
visits those within reach of a point only; where records are in memory that is done once.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial

import numpy as np

from gibbsafe._types import Floats
from gibbsafe.data.blocks import Blocks, RowBlocks
from gibbsafe.data.sums import CHUNK_ROWS
from gibbsafe.posteriors.protocols import ExactPosterior

__all__ = ["BumpPosterior", "WelschPosterior"]

#: A bump is summed within this many scales: e^{−40.5} of it is left outside.
WINDOW = 9.0


class BumpPosterior(ExactPosterior):
    """Density ∝ exp(w Σᵢ e^{−(θ−xᵢ)²/2s²}) N(θ; m, v²) on [low, high]; without m and v the prior is uniform there.

    ``records`` are an array, or one ``column`` of row blocks.
    """

    def __init__(
        self,
        records: Floats | RowBlocks,
        weight: float,
        scale: float,
        low: float,
        high: float,
        *,
        prior: tuple[float, float] | None = None,
        column: int = 0,
    ) -> None:
        data = Blocks(np.asarray(records, dtype=np.float64)[:, None]) if isinstance(records, np.ndarray) else records
        self.n = data.n_rows
        if isinstance(data, Blocks):
            starts = range(CHUNK_ROWS, self.n, CHUNK_ROWS)
            chunks = np.split(data.rows[:, column].astype(np.float64), starts)
            data, column = Blocks(np.concatenate([np.sort(chunk) for chunk in chunks])[:, None]), 0
        self._data, self._column = data, column
        self.weight, self.scale, self.low, self.high, self.prior = weight, scale, low, high, prior

    @property
    def support(self) -> tuple[Floats, Floats]:
        """The interval."""
        return np.array([self.low]), np.array([self.high])

    def sums(self, thetas: Floats) -> Floats:
        """Return Σ e^{−r²/2} and its derivative (2, k) at k points, in one pass over the records."""
        return np.asarray(self._data.reduce(partial(_bumps, self._column, self.scale, thetas), CHUNK_ROWS)[0])

    def count(self, low: Floats, high: Floats) -> Floats:
        """Return how many records lie in each interval, in one pass over the records."""
        return np.asarray(self._data.reduce(partial(_within, self._column, low, high), CHUNK_ROWS)[0])

    def log_prior(self, theta: float) -> float:
        """Return the log prior up to a constant."""
        return 0.0 if self.prior is None else -0.5 * ((theta - self.prior[0]) / self.prior[1]) ** 2

    def log_density(self, theta: float) -> float:
        """Return the log density up to a constant."""
        return self.weight * float(self.sums(np.array([theta]))[0, 0]) + self.log_prior(theta)

    def values(self, thetas: Floats) -> Floats:
        """Return −log density at each row of ``thetas`` (k, 1), up to a constant; infinite outside the interval."""
        flat = np.asarray(thetas, dtype=np.float64)[:, 0]
        return np.array([-self.log_density(t) if self.low <= t <= self.high else math.inf for t in flat])


@dataclass(frozen=True, eq=False)
class WelschPosterior(ExactPosterior):
    """Independent coordinates, each a density exp(β Σ e^{−r²/2s²}) on the bounds."""

    coordinates: tuple[BumpPosterior, ...]

    def values(self, thetas: Floats) -> Floats:
        """Return −log density at each row of ``thetas``, up to a constant."""
        columns = np.asarray(thetas)
        return np.asarray(np.sum([part.values(columns[:, [j]]) for j, part in enumerate(self.coordinates)], axis=0))

    @property
    def support(self) -> tuple[Floats, Floats]:
        """The bounds, in every coordinate."""
        return np.array([part.low for part in self.coordinates]), np.array([part.high for part in self.coordinates])


def _sorted(column: int, rows: Floats) -> Floats:
    """Return the records of a block in their order; those that are sorted already at no price."""
    records = rows[:, column]
    return records if (records[1:] >= records[:-1]).all() else np.sort(records)


def _bumps(column: int, scale: float, thetas: Floats, rows: Floats, beside: object) -> tuple[Floats]:
    records, reach = _sorted(column, rows), WINDOW * scale
    starts, stops = (np.searchsorted(records, thetas + end) for end in (-reach, reach))
    sums = np.empty((2, len(thetas)))
    for k, (theta, start, stop) in enumerate(zip(thetas.tolist(), starts.tolist(), stops.tolist(), strict=True)):
        r = (records[start:stop] - theta) / scale
        bump = np.exp(-0.5 * r * r)
        sums[:, k] = bump.sum(), float(r @ bump) / scale
    return (sums,)


def _within(column: int, low: Floats, high: Floats, rows: Floats, beside: object) -> tuple[Floats]:
    records = _sorted(column, rows)
    ends = np.searchsorted(records, high, side="right") - np.searchsorted(records, low, side="left")
    return (ends.astype(np.float64),)
