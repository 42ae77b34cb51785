"""Markov chains: trajectories of states with truncated Dirichlet priors for the start and for every transition."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, Self

import numpy as np

from gibbsafe._numerics import up
from gibbsafe._types import JSON, Document, Floats, Values
from gibbsafe._validate import count, fail, positive
from gibbsafe.data.blocks import Blocks, RowBlocks
from gibbsafe.data.options import EncodingOptions
from gibbsafe.data.sources import read_states
from gibbsafe.domains.column import Column, no_target
from gibbsafe.models.base import register
from gibbsafe.models.families.states import check_states, encode_columns, sample_states
from gibbsafe.models.families.tables import TableFamily, check_smallest, smallest_for
from gibbsafe.posteriors.tables import Table
from gibbsafe.privacy import BoundedRange, Budget, Metric

__all__ = ["MarkovChain"]


def _changed_states(x: object, y: object) -> float:
    return float(2 * (np.asarray(x) != np.asarray(y)).sum())


@register
@dataclass(frozen=True, kw_only=True)
class MarkovChain(TableFamily):
    """Records are trajectories of ``length`` states; start and transitions have probabilities of at least e (Lemma 24).

    The likelihood of a trajectory has one factor per time point: its start, then ``length`` − 1 transitions. Replacing a whole
    trajectory, which is what plans claim, costs the range 2·length·w with w = log((1 − (S−1)e)/e); changing the state at one
    time point touches two factors at most and costs 4w (`state_guarantee`), for any number of trajectories.

    Data: an (n, length) array of states, or a table with the columns ``time_names``.

    >>> chain = MarkovChain(states=3, length=10, smallest_probability=0.05)
    >>> print(chain.state_guarantee())
    11.5615-bounded range
    >>> chain.parameter_names[:4]
    ('P(start=0)', 'P(start=1)', 'P(start=2)', 'P(0→0)')
    """

    name = "MarkovChain"
    metric = Metric("changed states, twice", _changed_states)
    states: tuple[Any, ...] | int
    length: int
    smallest_probability: float
    concentration: float = 1.0
    time_names: tuple[str, ...] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "states", check_states("states", self.states))
        object.__setattr__(self, "length", count("length", self.length))
        smallest = check_smallest("smallest_probability", self.smallest_probability, len(self._states))
        object.__setattr__(self, "smallest_probability", smallest)
        object.__setattr__(self, "concentration", positive("concentration", self.concentration))
        if self.time_names is not None:
            object.__setattr__(self, "time_names", tuple(self.time_names))
            if len(self.time_names) != self.length or len(set(self.time_names)) != self.length:
                fail("time_names", self.time_names, f"{self.length} different names, one per time point")

    @property
    def _states(self) -> tuple[object, ...]:
        assert isinstance(self.states, tuple)
        return self.states

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        """The start, and one context per state for what comes next."""
        shared = (len(self._states), self.smallest_probability, self.concentration)
        return Table(1, *shared), Table(len(self._states), *shared)

    @cached_property
    def parameter_names(self) -> tuple[str, ...]:
        """The start's probabilities, then each state's transitions."""
        start = [f"P(start={state})" for state in self._states]
        return (*start, *(f"P({a}→{b})" for a in self._states for b in self._states))

    @property
    def parameters(self) -> int:
        """Number of probabilities."""
        return sum(table.cells for table in self.tables)

    @property
    def block_widths(self) -> tuple[float, ...]:
        """One factor of the start, and one of the transitions per later time point."""
        start, later = self.tables
        return (start.width, up((self.length - 1) * later.width))[: 1 if self.length == 1 else 2]

    @property
    def diameter(self) -> float:
        """All states of a trajectory changed."""
        return 2.0 * self.length

    def state_guarantee(self, inverse_temperature: float = 1.0) -> BoundedRange:
        """Return what a draw reveals of one state of a trajectory: at most two factors, 4βw."""
        return self.factor_guarantee(min(2, self.length) * self.tables[0].width, inverse_temperature)

    @classmethod
    def trimmed_for(cls, budget: Budget, *, states: Any, length: int, draws: int = 1, **declaration: Any) -> Self:
        """Return the chain with the least smallest probability that the trajectory's budget allows at β = 1."""
        listed = check_states("states", states)
        smallest = smallest_for(budget, len(listed), count("length", length), draws)
        return cls(states=listed, length=length, smallest_probability=smallest, **declaration)

    # -- records -------------------------------------------------------------------------------------------------

    def encode(self, data: object, options: EncodingOptions) -> Blocks:
        """Return the codes of every trajectory."""
        columns = read_states(data, self.time_names)
        names = self.time_names or tuple(f"time {time}" for time in range(self.length))
        return Blocks(encode_columns(columns, dict.fromkeys(names, self._states), options.on_invalid))

    def count_cells(self, data: RowBlocks) -> Floats:
        """Return how often each start and each transition occurs."""
        return np.asarray(data.reduce(partial(_counts, len(self._states)))[0], dtype=np.float64)

    def corners(self) -> list[object]:
        """Return trajectories that stay in the first state and in the last."""
        return [np.array([[state] * self.length]) for state in (self._states[0], self._states[-1])]

    def simulate(self, draw: Floats, rows: int, generator: np.random.Generator, features: object = None) -> Values:
        """Return synthetic trajectories."""
        size = len(self._states)
        start, moves = np.asarray(draw)[:size], np.asarray(draw)[size:].reshape(size, size)
        codes = np.empty((rows, self.length), dtype=np.intp)
        codes[:, 0] = sample_states(np.tile(start, (rows, 1)), generator)
        for time in range(1, self.length):
            codes[:, time] = sample_states(moves[codes[:, time - 1]], generator)
        return np.array(self._states)[codes]

    @classmethod
    def from_columns(cls, features: Sequence[Column], target: Column | None, options: Document) -> Self:
        """Return the chain over a study's columns, one per time point in order, all with the same declared levels."""
        no_target(target, cls.name)
        levels = {column.levels for column in features}
        if len(levels) != 1 or None in levels:
            fail("columns", [column.name for column in features], f"categories with the same levels for {cls.name}")
        names = tuple(column.name for column in features)
        return cls(**{"states": levels.pop(), "length": len(names), "time_names": names, **options})

    def to_dict(self) -> JSON:
        """Return the declaration as plain data."""
        return {
            "name": self.name,
            "states": list(self._states),
            "length": self.length,
            "smallest_probability": self.smallest_probability,
            "concentration": self.concentration,
            "time_names": None if self.time_names is None else list(self.time_names),
        }


def _counts(size: int, rows: Values, _: object) -> tuple[Floats]:
    """How often a block's trajectories start in each state, and make each transition."""
    moves = rows[:, :-1].astype(np.int64) * size + rows[:, 1:]
    start = np.bincount(rows[:, 0], minlength=size)
    return (np.concatenate([start, np.bincount(moves.ravel(), minlength=size * size)]),)
