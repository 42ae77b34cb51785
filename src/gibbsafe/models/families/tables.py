"""Tables of probabilities with truncated Dirichlet priors: what categorical records, networks and Markov chains share.

A table has one distribution over S states per context; every probability is at least a public e < 1/S, so it lies between e and
1 − (S−1)e. The log of one probability then varies by w = log((1 − (S−1)e)/e) over the parameters, and a record whose likelihood
is a product of such probabilities costs 2w per factor when it is replaced and w when it is added (Dimitrakakis et al. 2017,
Lemma 24; erratum E19).
"""

from __future__ import annotations

import math

import numpy as np

from gibbsafe._numerics import down, up
from gibbsafe._types import Floats
from gibbsafe._validate import fail, positive, real
from gibbsafe.data.blocks import RowBlocks
from gibbsafe.errors import PremiseError
from gibbsafe.models.capabilities import IsLikelihood, LipschitzParameters, StatesLean, StatesSpread
from gibbsafe.models.families.family import Family, block_ranges
from gibbsafe.posteriors.stage import Stage
from gibbsafe.posteriors.tables import TOLERANCE, Table, TablesPosterior, log_odds_width
from gibbsafe.privacy import Adjacency, BoundedRange, Budget
from gibbsafe.theorems import Constants, get

__all__ = ["TableFamily", "check_smallest", "smallest_for"]


def check_smallest(name: str, smallest: object, states: int) -> float:
    """Return a smallest probability e with 0 < e < 1/S; at 1/S nothing would be left to learn."""
    value = positive(name, smallest)
    if value * states >= 1:
        fail(name, value, f"below 1/{states}, for {states} states", "declare a smaller one")
    return value


def smallest_for(budget: Budget, states: int, factors: int, draws: int = 1) -> float:
    """Return the least e = 1/(S − 1 + exp(ε/2k)) whose k factors per record a budget allows at β = 1 under replace-one.

    >>> round(smallest_for(Budget(1.0), states=3, factors=4), 9)
    0.319167768
    """
    width = get("bounded-range").calibrate({"difference_range": 1.0}, budget, adjacency="replace-one", draws=draws)
    smallest = 1 / (states - 1 + math.exp(width / (2 * factors)))
    while up(up(up(2 * factors * log_odds_width(smallest, states)))) > width:  # as constants and theorem round
        smallest = smallest * (1 + 2.0**-50)
    if smallest * states >= 1:
        raise PremiseError(f"budget {budget}: allows no table of {states} states at inverse temperature 1; plan a tempered one")
    return smallest


class TableFamily(Family, IsLikelihood, LipschitzParameters, StatesLean, StatesSpread):
    """A family whose parameters are tables and whose records are products of ``factors`` of their probabilities."""

    prior_fields = ("concentration", "smallest_probability")
    typical_case = "if states and contexts are equally frequent"

    @property
    def tables(self) -> tuple[Table, ...]:
        """The tables, in the order of the parameters."""
        raise NotImplementedError

    @property
    def block_widths(self) -> tuple[float, ...]:
        """How far the log-likelihood of one record varies with each table: the sum of its factors' widths there.

        Tables are independent under every posterior. Replacing a record changes two cells of a table per factor: within one
        distribution the log ratio of two probabilities varies by 2w, in two distributions each varies by w.
        """
        raise NotImplementedError

    def count_cells(self, data: RowBlocks) -> Floats:
        """Return how often each probability occurs as a factor of the records."""
        raise NotImplementedError

    def outside(self, draws: Floats, grid: float) -> str | None:
        """Return that a row is no distribution, or one with a probability below its least."""
        ends = np.cumsum([0, *(table.cells for table in self.tables)])
        for table, first, last in zip(self.tables, ends[:-1], ends[1:], strict=True):
            rows = draws[:, first:last].reshape(-1, table.states)
            if (rows < table.smallest - grid - TOLERANCE * table.smallest).any():
                return "a probability is below the declared least"
            if (np.abs(rows.sum(axis=1) - 1) > table.states * grid + TOLERANCE).any():
                return "probabilities do not add up to 1"
        return None

    @property
    def resolution(self) -> float:
        """The smallest of all smallest probabilities and of the room beside them."""
        return min(min(table.smallest, 1 - table.states * table.smallest) for table in self.tables)

    def constants(self, prior_precision: Floats, *, adjacency: Adjacency, n: int | None, rows_per_person: int) -> Constants:
        """Return 2w per table for a replaced record and w for an added one; L = max w under the family's metric."""
        alone = rows_per_person == 1
        return Constants(
            **block_ranges(self.block_widths, rows_per_person),
            metric_lipschitz=up(max(table.width for table in self.tables)),
            metric_diameter=self.diameter if alone else None,
            n=n if adjacency == Adjacency.REPLACE_ONE else None,
            dimension=self.parameters,
        )

    @property
    def diameter(self) -> float:
        """The largest distance of two records under the family's metric."""
        return 1.0

    def factor_guarantee(self, width: float, inverse_temperature: float) -> BoundedRange:
        """Return the claim for a change that touches factors of this total width: bounded range 2β·width."""
        return BoundedRange(up(up(2 * positive("inverse_temperature", inverse_temperature) * width)))

    def posterior(self, data: RowBlocks, stage: Stage, centre: Floats) -> TablesPosterior:
        """Return truncated Dirichlet posteriors: concentration + β·count per cell."""
        return TablesPosterior(self.tables, stage.inverse_temperature * self.count_cells(data))

    def lipschitz_at(self, thetas: Floats) -> Floats:
        """Return the largest log ratio of two probabilities of one table, a bound on what changing one factor does."""
        theta = np.atleast_2d(thetas)
        parts = np.split(theta, np.cumsum([table.cells for table in self.tables])[:-1], axis=1)
        return np.asarray(np.max([np.log(part.max(axis=1) / part.min(axis=1)) for part in parts], axis=0))

    def prior_mass_below(self, lipschitz: float) -> float:
        """Return 1 from the largest Lipschitz constant on, and below it the lower bound 0."""
        return 1.0 if real("lipschitz", lipschitz) >= max(down(table.width) for table in self.tables) else 0.0

    def lean(self, draws: Floats) -> Floats:
        """Return Σ log θ: a mean (a + s)/(a + b + m) is s/m for a = b = 0."""
        return np.asarray(np.log(draws).sum(axis=1))

    def typical_sd(self, n: int, inverse_temperature: float) -> float:
        """Return the standard deviation of a probability ½ or 1/S with its share of the records, over all tables."""
        spreads = []
        for table in self.tables:
            share = 1 / table.states
            seen = table.concentration * table.states + inverse_temperature * n / table.contexts
            spreads.append(min(math.sqrt(share * (1 - share) / (seen + 1)), (1 - table.states * table.smallest) / 2))
        return max(spreads)
