"""What a released table of counts says of the records' own table: counts, margins, shares and ratios, with intervals that cover.

The noise of every cell has a known law, the same for every data set (`gibbsafe.posteriors.counts`), so intervals need no
assumption about the records: an interval of level 0.9 holds the records' own number with probability 0.9 or more, whatever they
are. Where the number of records is public, a count is also n minus the rest, and the side with fewer noisy cells is taken.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from gibbsafe._types import JSON, Floats, Indices
from gibbsafe._validate import fail, open_probability
from gibbsafe.errors import GibbsafeError
from gibbsafe.models.capabilities import CountsRecords
from gibbsafe.population.counting import NoiseSum, noise_sum, share_interval
from gibbsafe.population.result import Intervals
from gibbsafe.privacy import Adjacency
from gibbsafe.queries.query import FREE

if TYPE_CHECKING:
    from gibbsafe.release import Release

__all__ = ["CountTable", "Figure", "count_intervals", "count_table"]

ASSUMED = "nothing of the records: the law of the noise is known, and the same for every data set"
#: Means of whole numbers are off by less than this.
ROUNDING = 1e-6
Where = Mapping[str, object]


@dataclass(frozen=True)
class Figure:
    """One number of the records' table: what was found, and between which ends the true one lies."""

    value: float
    lower: float
    upper: float

    def covers(self, truth: float) -> bool:
        """Whether the interval holds a number."""
        return self.lower <= truth <= self.upper

    def __str__(self) -> str:
        return f"{self.value:.4g} ({self.lower:.4g} to {self.upper:.4g})"


@dataclass(frozen=True, eq=False)
class Figures(Mapping[tuple[object, ...], Figure]):
    """A figure for every combination of states of some columns."""

    columns: tuple[str, ...]
    entries: Mapping[tuple[object, ...], Figure]
    level: float
    cost: str = FREE

    def __getitem__(self, states: object) -> Figure:
        return self.entries[states if isinstance(states, tuple) else (states,)]

    def __iter__(self) -> Iterator[tuple[object, ...]]:
        return iter(self.entries)

    def __len__(self) -> int:
        return len(self.entries)

    def to_dict(self) -> JSON:
        """Return plain data."""
        rows = [
            {**dict(zip(self.columns, states, strict=True)), "value": each.value, "lower": each.lower, "upper": each.upper}
            for states, each in self.entries.items()
        ]
        return {"level": self.level, "rows": rows, "cost": self.cost}

    def __str__(self) -> str:
        names = [", ".join(f"{c}={s}" for c, s in zip(self.columns, states, strict=True)) for states in self.entries]
        width = max(len(name) for name in names)
        head = f"{100 * self.level:g} % intervals, for each number by itself"
        return "\n".join([head, *(f"  {name:<{width}}  {each}" for name, each in zip(names, self.entries.values(), strict=True))])


@dataclass(frozen=True, eq=False)
class CountTable:
    """The counts of the records, from noisy ones: made by `Release.table`. Everything it says is free.

    Attributes:
        model: whose cells they are.
        found: the mean of the released counts per cell.
        beta, draws: of the noise: its inverse temperature, and how many tables were averaged.
        records: their number, where it is public.
        level: of the intervals, for each number by itself.
    """

    model: CountsRecords
    found: Floats
    beta: float
    draws: int
    records: int | None
    level: float

    def count(self, **where: object) -> Figure:
        """Return how many records have these states, as in ``count(ward="A", died=["yes", "unknown"])``; without any, all."""
        return self._count(self.model.select_cells(where))

    def margin(self, *columns: str) -> Figures:
        """Return the counts of every combination of some columns' states, summed over the others."""
        return self._each(columns, lambda where: self._count(self.model.select_cells(where)))

    def shares(self, column: str, *, given: str | Sequence[str] = ()) -> Figures:
        """Return the shares of a column's states among the records with the same states of the ``given`` columns."""
        others = (given,) if isinstance(given, str) else tuple(given)

        def share(where: Where) -> Figure:
            chosen = self.model.select_cells(where)
            group = self.model.select_cells({name: state for name, state in where.items() if name != column})
            return self._share(chosen, np.setdiff1d(group, chosen))

        return self._each((*others, column), share)

    def ratio(self, first: Where, second: Where) -> Figure:
        """Return how many records of ``first`` there are for one of ``second``; infinite where there may be none of these."""
        above, below = (self.model.select_cells(where) for where in (first, second))
        if np.intersect1d(above, below).size:
            fail("second", dict(second), "of other cells than first", "ask shares for a part of a whole")
        share = self._share(above, below)
        return Figure(*(_odds(each) for each in (share.value, share.lower, share.upper)))

    # -- how -----------------------------------------------------------------------------------------------------

    def _each(self, columns: tuple[str, ...], ask: Callable[[Where], Figure]) -> Figures:
        states = self.model.states_of_columns
        for column in columns:
            if column not in states or columns.count(column) > 1:
                fail("column", column, f"one of {', '.join(states)}, named once")
        if not columns:
            fail("columns", columns, f"one or more of {', '.join(states)}")
        found = {}
        for combination in product(*(states[column] for column in columns)):
            found[combination] = ask(dict(zip(columns, combination, strict=True)))
        return Figures(columns, found, self.level)

    def _count(self, cells: Indices) -> Figure:
        most = math.inf if self.records is None else float(self.records)
        value, noisy = float(self.found[cells].sum()), len(cells)
        if self.records is not None and noisy > len(self.found) - noisy:
            value, noisy = self.records - float(np.delete(self.found, cells).sum()), len(self.found) - noisy
        half = self._noise(noisy).quantile(self.level) / self.draws
        lower, upper = math.ceil(value - half - ROUNDING), math.floor(value + half + ROUNDING)
        return Figure(*(min(max(float(each), 0.0), most) for each in (value, lower, upper)))

    def _share(self, chosen: Indices, others: Indices) -> Figure:
        found = (float(self.found[chosen].sum()), float(self.found[others].sum()))
        noise = self._noise(len(chosen)), self._noise(len(others))
        lower, upper = share_interval((found[0] * self.draws, found[1] * self.draws), noise, self.level)
        kept = [max(each, 0.0) for each in found]
        value = kept[0] / sum(kept) if sum(kept) > 0 else 0.5
        return Figure(min(max(value, lower), upper), lower, upper)

    def _noise(self, cells: int) -> NoiseSum:
        return noise_sum(self.beta, cells * self.draws)


def _odds(share: float) -> float:
    return share / (1 - share) if share < 1 else math.inf


def count_table(release: Release, level: float) -> CountTable:
    """Return the table of a release; see `Release.table`."""
    plan = release.plan
    if not isinstance(plan.model, CountsRecords):
        raise GibbsafeError(f"table: {plan.model.name} does not count records; ask interval or population")
    public = plan.adjacency == Adjacency.REPLACE_ONE and plan.rows_per_person == 1
    records = plan.n if public else None
    mean = np.asarray(release.draws.mean(axis=0))
    return CountTable(plan.model, mean, plan.inverse_temperature, len(release.draws), records, open_probability("level", level))


def count_intervals(release: Release, level: float) -> Intervals:
    """Return the interval of every cell's count; see `Release.interval`."""
    table = count_table(release, level)
    half = table._noise(1).quantile(table.level) / table.draws + ROUNDING
    most = math.inf if table.records is None else table.records
    lower, upper = (np.clip(ends, 0.0, most) for ends in (np.ceil(table.found - half), np.floor(table.found + half)))
    return Intervals(table.level, release.parameters, lower, upper, {}, False, (ASSUMED,))
