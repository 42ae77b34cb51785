"""Categorical records with a truncated Dirichlet prior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np

from gibbsafe._types import JSON, Document, Floats, Values
from gibbsafe._validate import positive
from gibbsafe.data.blocks import Blocks, RowBlocks
from gibbsafe.data.options import EncodingOptions
from gibbsafe.data.sources import read_response
from gibbsafe.domains.column import Column
from gibbsafe.models.base import register
from gibbsafe.models.families.states import check_states, count_states, encode_states, levels_of, sample_states
from gibbsafe.models.families.tables import TableFamily, check_smallest, smallest_for
from gibbsafe.posteriors.tables import Table
from gibbsafe.privacy import Budget, Metric

__all__ = ["Categorical"]


@register
@dataclass(frozen=True, kw_only=True)
class Categorical(TableFamily):
    """Records with one of ``states``, Dirichlet prior truncated to probabilities of at least ``smallest_probability``.

    Replacing a record costs the range 2 log((1 − (S−1)e)/e), for any number of records. ``states`` may be a number S, for the
    states 0, …, S − 1. The posterior tempered by β has the concentrations ``concentration`` + β·count.

    >>> import gibbsafe as gs
    >>> model = Categorical(states=("a", "b", "c"), smallest_probability=0.05)
    >>> gs.plan(model, gs.Budget(1.0), n=1000, adjacency="replace-one").release(np.repeat(["a", "b"], 500)).draws.shape
    (1, 3)
    """

    name = "Categorical"
    metric = Metric.hamming()
    states: tuple[Any, ...] | int
    smallest_probability: float
    concentration: float = 1.0
    target: str = "y"

    def __post_init__(self) -> None:
        object.__setattr__(self, "states", check_states("states", self.states))
        smallest = check_smallest("smallest_probability", self.smallest_probability, len(self._states))
        object.__setattr__(self, "smallest_probability", smallest)
        object.__setattr__(self, "concentration", positive("concentration", self.concentration))

    @property
    def _states(self) -> tuple[object, ...]:
        assert isinstance(self.states, tuple)
        return self.states

    @property
    def parameter_names(self) -> tuple[str, ...]:
        """One probability per state."""
        return tuple(f"P({self.target}={state})" for state in self._states)

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        """One table with one context."""
        return (Table(1, len(self._states), self.smallest_probability, self.concentration),)

    @property
    def block_widths(self) -> tuple[float, ...]:
        """One factor."""
        return (self.tables[0].width,)

    @classmethod
    def trimmed_for(cls, budget: Budget, *, states: Any, draws: int = 1, **declaration: Any) -> Self:
        """Return the family with the least smallest probability that the budget allows at β = 1 under replace-one."""
        listed = check_states("states", states)
        return cls(states=listed, smallest_probability=smallest_for(budget, len(listed), 1, draws), **declaration)

    def encode(self, data: object, options: EncodingOptions) -> Blocks:
        """Return the code of every record's state."""
        values = read_response(data, self.target)
        codes = encode_states(values, self._states, options.on_invalid, self.target)
        return Blocks(codes[:, None])

    def count_cells(self, data: RowBlocks) -> Floats:
        """Return how often each state occurs."""
        return count_states(data, len(self._states))

    def corners(self) -> list[object]:
        """Return one record of the first two states."""
        return [np.array([state]) for state in self._states[:2]]

    def simulate(self, draw: Floats, rows: int, generator: np.random.Generator, features: object = None) -> Values:
        """Return synthetic states."""
        codes = sample_states(np.tile(np.asarray(draw), (rows, 1)), generator)
        return np.array(self._states)[codes]

    @classmethod
    def from_columns(cls, features: Sequence[Column], target: Column | None, options: Document) -> Self:
        """Return the family for a study's target column of declared levels."""
        return cls(**{"states": levels_of(features, target, cls.name), "target": target and target.name, **options})

    def to_dict(self) -> JSON:
        """Return the declaration as plain data."""
        return {
            "name": self.name,
            "states": list(self._states),
            "smallest_probability": self.smallest_probability,
            "concentration": self.concentration,
            "target": self.target,
        }
