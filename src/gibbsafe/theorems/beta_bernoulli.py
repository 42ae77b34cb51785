"""The exact profile of Beta posteriors: a proportion needs no trimming where n is public and δ is above 0."""

from __future__ import annotations

from gibbsafe.errors import BudgetError, PremiseError
from gibbsafe.privacy import Adjacency, BetaBernoulliDP, Budget
from gibbsafe.privacy.beta import LARGEST_N, check_shape
from gibbsafe.theorems.constants import Constants
from gibbsafe.theorems.kinds import Kind
from gibbsafe.theorems.theorem import Premise, Theorem, register


@register
class BetaBernoulliTheorem(Theorem):
    """δ(ε) of a draw from Beta(a + βk, b + β(n − k)), the largest over all k, in both directions."""

    name = "beta-bernoulli"
    title = "exact profile of Beta posteriors"
    reference = "exact, from incomplete beta functions; replaces Dimitrakakis et al. 2017, Lemma 21"
    errata = ("E16",)
    kinds = (Kind.FAMILY,)

    def premises(self, constants: Constants, adjacency: Adjacency) -> tuple[Premise, ...]:
        """Require 0/1 records, a Beta prior and a public n."""
        a, b = (check_shape("beta_prior", shape) for shape in constants.need("beta_prior")[0])
        n = constants.public_n(adjacency)
        if n > LARGEST_N:
            raise PremiseError(f"n = {n:,}: the profile looks at every number of successes, at most {LARGEST_N:,}")
        return (
            Premise(f"records are 0 or 1 with one probability, whose prior is Beta({a:g}, {b:g})"),
            Premise(f"there are {n:,} records, as declared", checked=True),
        )

    def _check_budget(self, budget: Budget) -> None:
        if budget.delta == 0:
            raise BudgetError("delta = 0: an untrimmed Beta posterior has no finite epsilon; declare a trim or a delta above 0")

    def _one_draw(self, constants: Constants, beta: float, adjacency: Adjacency) -> BetaBernoulliDP:
        a, b = constants.need("beta_prior")[0]
        return BetaBernoulliDP(a, b, constants.public_n(adjacency), beta)
