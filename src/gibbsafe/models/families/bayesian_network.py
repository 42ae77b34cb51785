"""Discrete Bayesian networks on a declared graph, with truncated Dirichlet priors for every conditional probability."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from itertools import product
from typing import Any, Self

import numpy as np

from gibbsafe._numerics import up
from gibbsafe._types import JSON, Document, Floats, Values
from gibbsafe._validate import fail, positive
from gibbsafe.data.blocks import Blocks, RowBlocks
from gibbsafe.data.options import EncodingOptions
from gibbsafe.data.sources import read_states
from gibbsafe.domains.column import Column, no_target
from gibbsafe.models.base import register
from gibbsafe.models.families.states import check_states, encode_columns, named_states, sample_states
from gibbsafe.models.families.tables import TableFamily, check_smallest, smallest_for
from gibbsafe.posteriors.tables import Table
from gibbsafe.privacy import BoundedRange, Budget, Metric

__all__ = ["BayesianNetwork"]

#: Rows of a block when cells are counted: its columns then stay in the processor's cache.
COUNTED_ROWS = 16_384
#: Most joint cells of nodes that are counted together: they stay in the processor's nearest cache.
JOINT_CELLS = 4096
#: Most nodes of a network: checking it takes time and memory in proportion to their number and that of their parents.
MOST_NODES = 10_000
#: Most parents of a node, and most conditional probabilities of a network.
MOST_PARENTS = 24
MOST_CELLS = 50_000_000


@register
@dataclass(frozen=True, kw_only=True)
class BayesianNetwork(TableFamily):
    """Records are rows of discrete variables whose joint probability factors along a declared graph (Lemma 24; E19).

    Args:
        states: per node its states, or their number S for 0, …, S − 1; a mapping, or a list of pairs, in the columns' order.
        parents: per node its parents; nodes left out have none. Cycles and unknown parents are refused.
        smallest_probability: e_k, the least conditional probability of a state: one number, or one per node; below 1/S_k.
        concentration: of the Dirichlet priors, the same for every cell.

    Guarantees (β = 1, any number of records): replacing a whole row costs the range 2 Σ_k w_k, w_k = log((1 − (S_k−1)e_k)/e_k),
    which is what plans claim; changing one cell of a row costs 2w summed over its node and the node's children
    (`cell_guarantee`). The paper calls the second the classical guarantee; it is one for cells, not for records (E19).

    >>> network = BayesianNetwork(states={"rain": ("no", "yes"), "wet": 2}, parents={"wet": ["rain"]}, smallest_probability=0.1)
    >>> network.parameter_names[-2:]
    ('P(wet=0 | rain=yes)', 'P(wet=1 | rain=yes)')
    >>> print(network.cell_guarantee("wet"))
    4.39445-bounded range
    """

    name = "BayesianNetwork"
    states: Any
    parents: Any = field(default_factory=dict)
    smallest_probability: Any
    concentration: float = 1.0

    def __post_init__(self) -> None:
        states = {node: check_states(f"states of {node!r}", each) for node, each in named_states("states", self.states)}
        if not 1 <= len(states) <= MOST_NODES:
            fail("states", f"of {len(states):,} nodes", f"declared for 1 to {MOST_NODES:,} nodes")
        parents = {node: self._check_parents(node, each, states) for node, each in named_states("parents", self.parents)}
        object.__setattr__(self, "states", states)
        object.__setattr__(self, "parents", {node: parents.get(node, ()) for node in states})
        object.__setattr__(self, "smallest_probability", self._check_smallest(states))
        object.__setattr__(self, "concentration", positive("concentration", self.concentration))
        _ = self.order
        cells = sum(table.cells for table in self.tables)
        if cells > MOST_CELLS:
            fail("parents", f"{cells:,} conditional probabilities", f"at most {MOST_CELLS:,} in all", "declare fewer parents")

    @staticmethod
    def _check_parents(node: str, parents: object, states: Document) -> tuple[str, ...]:
        if node not in states:
            fail("parents", node, f"of declared nodes {list(states)[:20]}")
        if isinstance(parents, str) or not isinstance(parents, Sequence):
            fail(f"parents of {node!r}", parents, "a list of nodes")
        if len(parents) > MOST_PARENTS:
            fail(f"parents of {node!r}", len(parents), f"at most {MOST_PARENTS}", "each doubles the probabilities, or more")
        for parent in parents:
            if not isinstance(parent, str) or parent not in states:
                fail(f"parents of {node!r}", parent, "a declared node", "declare its states")
        if len(set(parents)) < len(parents):
            fail(f"parents of {node!r}", list(parents), "named once each")
        return tuple(parents)

    def _check_smallest(self, states: Mapping[str, tuple[object, ...]]) -> dict[str, float]:
        given = self.smallest_probability
        if isinstance(given, Mapping):
            if set(given) != set(states):
                fail("smallest_probability", sorted(set(given) ^ set(states)), "one number per node")
        else:
            given = dict.fromkeys(states, given)
        return {node: check_smallest(f"smallest_probability of {node!r}", given[node], len(states[node])) for node in states}

    # -- the graph -----------------------------------------------------------------------------------------------

    @property
    def nodes(self) -> tuple[str, ...]:
        """The nodes, in the order of the columns."""
        return tuple(self.states)

    @cached_property
    def order(self) -> tuple[str, ...]:
        """The nodes, parents before children; a cycle is refused."""
        missing = {node: len(parents) for node, parents in self.parents.items()}
        placed = [node for node, parents in missing.items() if not parents]
        for node in placed:  # which grows meanwhile: by nodes whose last parent was placed
            for child in self._children[node]:
                missing[child] -= 1
                if not missing[child]:
                    placed.append(child)
        if len(placed) < len(missing):
            waiting = sorted(node for node, parents in missing.items() if parents)
            fail("parents", waiting[:20], "free of cycles", "no order puts these nodes after their parents")
        return tuple(placed)

    @cached_property
    def _children(self) -> dict[str, list[str]]:
        children: dict[str, list[str]] = {node: [] for node in self.states}
        for child, parents in self.parents.items():
            for parent in parents:
                children[parent].append(child)
        return children

    def children(self, node: str) -> tuple[str, ...]:
        """Return the nodes of which ``node`` is a parent."""
        if node not in self.states:
            fail("node", node, f"one of {', '.join(self.states)}")
        return tuple(self._children[node])

    # -- parameters ----------------------------------------------------------------------------------------------

    @cached_property
    def tables(self) -> tuple[Table, ...]:
        """One table per node; its contexts are the joint states of the parents, the last parent running fastest."""
        listed = []
        for node, states in self.states.items():
            contexts = math.prod(len(self.states[parent]) for parent in self.parents[node])
            listed.append(Table(contexts, len(states), self.smallest_probability[node], self.concentration))
        return tuple(listed)

    @property
    def parameters(self) -> int:
        """Number of conditional probabilities."""
        return sum(table.cells for table in self.tables)

    @cached_property
    def parameter_names(self) -> tuple[str, ...]:
        """P(node=state | parent=state, …), node by node, context by context."""
        names = []
        for node, states in self.states.items():
            for context in product(*(self.states[parent] for parent in self.parents[node])):
                given = ", ".join(f"{parent}={state}" for parent, state in zip(self.parents[node], context, strict=True))
                names += [f"P({node}={state}{' | ' + given if given else ''})" for state in states]
        return tuple(names)

    @property
    def block_widths(self) -> tuple[float, ...]:
        """One factor per node."""
        return tuple(table.width for table in self.tables)

    def cell_guarantee(self, node: str, inverse_temperature: float = 1.0) -> BoundedRange:
        """Return what a draw reveals of one cell of a row: 2β times the widths of the node's factor and its children's (E19)."""
        touched = (node, *self.children(node))
        widths = dict(zip(self.states, (table.width for table in self.tables), strict=True))
        return self.factor_guarantee(up(math.fsum(widths[each] for each in touched)), inverse_temperature)

    @classmethod
    def trimmed_for(cls, budget: Budget, *, states: Any, draws: int = 1, **declaration: Any) -> BayesianNetwork:
        """Return the network whose smallest probabilities spend the row's budget evenly over the nodes at β = 1."""
        listed = {node: check_states(f"states of {node!r}", each) for node, each in named_states("states", states)}
        smallest = {node: smallest_for(budget, len(each), len(listed), draws) for node, each in listed.items()}
        return cls(states=listed, smallest_probability=smallest, **declaration)

    # -- the paper's metric --------------------------------------------------------------------------------------

    @cached_property
    def connectivity(self) -> tuple[int, ...]:
        """v_k = 1 + the number of children of node k: how many factors a cell enters."""
        return tuple(1 + len(self.children(node)) for node in self.states)

    @cached_property
    def metric(self) -> Metric:
        """Changed cells of a table, each counted v_k times (Lemma 24)."""
        return Metric("cells by connectivity", _WeightedCells(self.connectivity))

    @property
    def diameter(self) -> float:
        """All cells of a row changed."""
        return float(sum(self.connectivity))

    # -- records -------------------------------------------------------------------------------------------------

    def encode(self, data: Any, options: EncodingOptions) -> Blocks:
        """Return the codes of every row, one column per node; columns of a table are found by name."""
        columns = read_states(data, self.nodes)
        return Blocks(encode_columns(columns, self.states, options.on_invalid))

    @cached_property
    def _groups(self) -> list[tuple[dict[int, int], tuple[int, ...]]]:
        """Neighbouring nodes that are counted together: strides of columns in their joint cell, and each node's cells.

        Two nodes with 64 cells each are one pass into 4,096 joint cells, which is cheaper than two passes.
        """
        place = {node: index for index, node in enumerate(self.states)}
        groups: list[tuple[dict[int, int], tuple[int, ...]]] = []
        for node, table in zip(self.states, self.tables, strict=True):
            if not groups or math.prod(groups[-1][1]) * table.cells > JOINT_CELLS:
                groups.append(({}, ()))
            strides, sizes = groups[-1]
            joint = {column: stride * table.cells for column, stride in strides.items()}
            stride = 1
            for each in (node, *reversed(self.parents[node])):
                joint[place[each]] = joint.get(place[each], 0) + stride
                stride *= len(self.states[each])
            groups[-1] = joint, (*sizes, table.cells)
        return groups

    def count_cells(self, data: RowBlocks) -> Floats:
        """Return how often each conditional probability is a factor: one pass over the rows."""
        (total,) = data.reduce(partial(_joint_counts, self._groups), COUNTED_ROWS)
        parts = np.split(total, np.cumsum([math.prod(sizes) for _, sizes in self._groups])[:-1])
        counts = []
        for part, (_, sizes) in zip(parts, self._groups, strict=True):
            joint = part.reshape(sizes)
            axes = range(len(sizes))
            counts += [joint.sum(axis=tuple(other for other in axes if other != axis)) for axis in axes]
        return np.concatenate(counts).astype(np.float64)

    def corners(self) -> list[Any]:
        """Return the row of all first states and the row of all last ones."""
        ends = [[states[end] for states in self.states.values()] for end in (0, -1)]
        return [np.array([row], dtype=object) for row in ends]

    def simulate(self, draw: Floats, rows: int, generator: np.random.Generator, features: Any = None) -> Values:
        """Return synthetic rows, sampled along the graph from parents to children."""
        firsts = np.cumsum([0, *(table.cells for table in self.tables)])
        codes = np.empty((rows, len(self.states)), dtype=np.intp)
        place = {node: index for index, node in enumerate(self.states)}
        for node in self.order:
            k = place[node]
            table = self.tables[k]
            probabilities = np.asarray(draw)[firsts[k] : firsts[k + 1]].reshape(table.contexts, table.states)
            context = np.zeros(rows, dtype=np.intp)
            for parent in self.parents[node]:
                context = context * len(self.states[parent]) + codes[:, place[parent]]
            codes[:, k] = sample_states(probabilities[context], generator)
        numbers = all(not isinstance(state, str) for states in self.states.values() for state in states)
        listed = np.empty(codes.shape, dtype=None if numbers else object)
        for k, states in enumerate(self.states.values()):
            listed[:, k] = np.array(states, dtype=None if numbers else object)[codes[:, k]]
        return listed

    @classmethod
    def from_columns(cls, features: Sequence[Column], target: Column | None, options: Document) -> Self:
        """Return the network over a study's columns of declared levels; the options give parents and smallest probabilities."""
        no_target(target, cls.name)
        for column in features:
            if column.levels is None:
                fail(f"column {column.name!r}, kind", column.kind, f"a category with levels for {cls.name}")
        return cls(**{"states": [(column.name, column.levels) for column in features], **options})

    def to_dict(self) -> JSON:
        """Return the declaration as plain data: lists of pairs, which keep the order of the nodes."""
        return {
            "name": self.name,
            "states": [[node, list(states)] for node, states in self.states.items()],
            "parents": [[node, list(parents)] for node, parents in self.parents.items() if parents],
            "smallest_probability": dict(self.smallest_probability),
            "concentration": self.concentration,
        }


@dataclass(frozen=True)
class _WeightedCells:
    """Number of differing cells, those of column k counted ``weights[k]`` times."""

    weights: tuple[float, ...]

    def __call__(self, x: object, y: object) -> float:
        differ = np.asarray(x) != np.asarray(y)
        return float((differ * np.asarray(self.weights)).sum())


def _joint_counts(groups: list[tuple[dict[int, int], tuple[int, ...]]], rows: Values, _: object) -> tuple[Any]:
    """How often a block's rows lie in each joint cell of each group of tables."""
    columns = np.ascontiguousarray(rows.T).view(np.dtype(f"u{rows.itemsize}"))  # codes are not negative
    found = []
    for strides, sizes in groups:
        cells = math.prod(sizes)
        kind = np.result_type(columns.dtype, np.min_scalar_type(cells - 1)).type  # narrow numbers add up faster
        cell = np.zeros(columns.shape[1], dtype=kind)
        for column, stride in strides.items():
            cell += columns[column] * kind(stride)
        found.append(np.bincount(cell.astype(np.intp), minlength=cells))
    return (np.concatenate(found),)
