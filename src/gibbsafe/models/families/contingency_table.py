"""Tables of counts over declared categories: the question that is asked most."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from itertools import product
from typing import Any, Self

import numpy as np

from gibbsafe._types import JSON, Document, Floats, Indices, Values
from gibbsafe._validate import fail
from gibbsafe.data.blocks import Blocks, RowBlocks
from gibbsafe.data.options import EncodingOptions
from gibbsafe.data.sources import is_table, read_states
from gibbsafe.domains.column import Column, no_target
from gibbsafe.models.base import register
from gibbsafe.models.capabilities import BoundedScores, CountsRecords, StatesSpread
from gibbsafe.models.families.family import Family, ranges
from gibbsafe.models.families.states import check_states, encode_columns, named_states
from gibbsafe.posteriors.counts import CountsPosterior
from gibbsafe.posteriors.stage import Stage
from gibbsafe.privacy import Adjacency, Metric
from gibbsafe.theorems import Constants

__all__ = ["ContingencyTable"]

#: Most cells of a table: noise is drawn for each of them.
MOST_CELLS = 1_000_000


@register
@dataclass(frozen=True, kw_only=True)
class ContingencyTable(Family, BoundedScores, CountsRecords, StatesSpread):
    """How many records have each combination of declared categories: whole numbers z with posterior ∝ exp(−β Σ_c |z_c − k_c|).

    Args:
        categories: per column its states, or their number S for 0, …, S − 1; a mapping or a list of pairs, in their order.

    The loss of a table z is its distance to the table k of the records, the prior is flat on whole numbers. Every data set moves
    one law, so its normaliser is the same for all, and a draw is βΔ-DP with Δ the change of the distance (theorem
    ``fixed-normaliser``): 2 for a replaced record, 1 for an added one, k times that for persons with up to k records, whatever
    the number of cells. A draw is what the literature calls the geometric mechanism. Draws are exact, in whole numbers.
    `Release.table` makes counts, margins, shares and ratios of it, with intervals that cover for every data set.

    >>> import gibbsafe as gs
    >>> model = ContingencyTable(categories={"ward": ("A", "B"), "died": ("no", "yes")})
    >>> model.parameter_names
    ('ward=A, died=no', 'ward=A, died=yes', 'ward=B, died=no', 'ward=B, died=yes')
    >>> gs.plan(model, gs.Budget(1.0), n=1000, adjacency="replace-one").inverse_temperature < 0.5
    True
    """

    name = "ContingencyTable"
    metric = Metric.hamming()
    typical_case = "whatever the records are"
    categories: Any

    def __post_init__(self) -> None:
        states = {
            name: check_states(f"categories of {name!r}", each) for name, each in named_states("categories", self.categories)
        }
        if not states:
            fail("categories", self.categories, "declared for one column or more")
        cells = math.prod(len(each) for each in states.values())
        if cells > MOST_CELLS:
            fail(
                "categories", f"{cells:,} cells", f"at most {MOST_CELLS:,} in all", "declare fewer columns or coarser categories"
            )
        object.__setattr__(self, "categories", states)

    # -- cells ---------------------------------------------------------------------------------------------------

    @property
    def states_of_columns(self) -> dict[str, tuple[object, ...]]:
        """The declared categories."""
        return dict(self.categories)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns, in order."""
        return tuple(self.categories)

    @property
    def shape(self) -> tuple[int, ...]:
        """How many states each column has; cells are in the order of an array of this shape."""
        return tuple(len(states) for states in self.categories.values())

    @property
    def parameters(self) -> int:
        """Number of cells."""
        return math.prod(self.shape)

    @cached_property
    def parameter_names(self) -> tuple[str, ...]:
        """column=state, …, the last column running fastest."""
        named = ([f"{column}={state}" for state in states] for column, states in self.categories.items())
        return tuple(", ".join(cell) for cell in product(*named))

    @property
    def resolution(self) -> float:
        """Counts are whole."""
        return 1.0

    @property
    def trimmed(self) -> bool:
        """False: all whole numbers are possible."""
        return False

    @property
    def largest_score(self) -> float:
        """2: one record moves |z − k| from slope −1 to 1 at most, in one cell."""
        return 2.0

    def outside(self, draws: Floats, grid: float) -> str | None:
        """Return that a draw is not a whole number."""
        return "a count is not a whole number" if (draws != np.round(draws)).any() else None

    def constants(self, prior_precision: Floats, *, adjacency: Adjacency, n: int | None, rows_per_person: int) -> Constants:
        """Return sensitivities 2 and 1 of the distance per record, ranges twice that, and that the normaliser is fixed.

        |z − k| changes by at most 1 in each cell whose count changes by 1, and by +1 for some z, −1 for others. The share 2⁻⁵² of
        β by which the logarithms of drawn masses are rounded is inside the theorem's `up`, which adds 2⁻⁵⁰.
        """
        replace = adjacency == Adjacency.REPLACE_ONE
        return Constants(
            **ranges(4.0, 2.0, rows_per_person),
            sensitivity=(2.0 if replace else 1.0) * rows_per_person,
            fixed_normaliser=True,
            n=n if replace else None,
            dimension=self.parameters,
        )

    def typical_sd(self, n: int, inverse_temperature: float) -> float:
        """Return √(2q)/(1 − q), q = e^{−β}: that of the noise in every cell."""
        return math.exp(-inverse_temperature / 2) * math.sqrt(2) / -math.expm1(-inverse_temperature)

    def select_cells(self, where: Mapping[str, object]) -> Indices:
        """Return the cells of ``where``, a mapping from column to a state or several; columns left out are summed over."""
        chosen = []
        for column in where:
            if column not in self.categories:
                fail("where", column, f"of declared columns {list(self.columns)[:20]}")
        for column, states in self.categories.items():
            asked = where.get(column, list(states))
            wanted = list(asked) if isinstance(asked, list | tuple | set) else [asked]
            for state in wanted:
                if state not in states:
                    fail(f"where[{column!r}]", state, f"of its declared categories {list(states)[:20]}")
            chosen.append([place for place, state in enumerate(states) if state in wanted])
        return np.ravel_multi_index(np.ix_(*chosen), self.shape).ravel()

    # -- records -------------------------------------------------------------------------------------------------

    def encode(self, data: Any, options: EncodingOptions) -> Blocks:
        """Return the codes of every row, one column each; columns of a table are found by name."""
        single = len(self.columns) == 1 and not is_table(data) and np.ndim(data) == 1
        columns = [np.asarray(data)] if single else read_states(data, self.columns)
        return Blocks(encode_columns(columns, self.categories, options.on_invalid))

    def count_cells(self, data: RowBlocks) -> Floats:
        """Return the counts of all cells: one pass over the rows."""
        return np.asarray(data.reduce(partial(_counts, self.shape))[0], dtype=np.float64)

    def posterior(self, data: RowBlocks, stage: Stage, centre: Floats) -> CountsPosterior:
        """Return e^{−β|z − k|} in every cell."""
        return CountsPosterior(self.count_cells(data), stage.inverse_temperature)

    def corners(self) -> list[object]:
        """Return the row of all first states and the row of all last ones."""
        return [np.array([[states[end] for states in self.categories.values()]], dtype=object) for end in (0, -1)]

    def simulate(self, draw: Floats, rows: int, generator: np.random.Generator, features: object = None) -> Values:
        """Return synthetic rows in proportion to the counts above 0, evenly where there are none."""
        weights = np.maximum(np.asarray(draw), 0.0)
        chances = weights / weights.sum() if weights.sum() > 0 else np.full(self.parameters, 1 / self.parameters)
        places = np.unravel_index(generator.choice(self.parameters, size=rows, p=chances), self.shape)
        table = np.empty((rows, len(self.columns)), dtype=object)
        for k, states in enumerate(self.categories.values()):
            table[:, k] = np.array(states, dtype=object)[places[k]]
        return table

    @classmethod
    def from_columns(cls, features: Sequence[Column], target: Column | None, options: Document) -> Self:
        """Return the table over a study's columns of declared levels."""
        no_target(target, cls.name)
        for column in features:
            if column.levels is None:
                fail(f"column {column.name!r}, kind", column.kind, f"a category with levels for {cls.name}")
        return cls(**{"categories": [(column.name, column.levels) for column in features], **options})

    def to_dict(self) -> JSON:
        """Return the declaration as plain data: a list of pairs, which keeps the order of the columns."""
        return {"name": self.name, "categories": [[column, list(states)] for column, states in self.categories.items()]}


def _counts(shape: tuple[int, ...], rows: Values, _: object) -> tuple[Any]:
    """How many of a block's rows lie in each cell."""
    cell = np.zeros(len(rows), dtype=np.intp)
    for column, size in zip(rows.T, shape, strict=True):
        cell = cell * size + column
    return (np.bincount(cell, minlength=math.prod(shape)),)
