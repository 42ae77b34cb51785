"""Fewer draws or fewer parameters: the trade that buys most utility for a budget (Dimitrakakis et al. 2017, Theorem 17)."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass

from gibbsafe._numerics import down, up
from gibbsafe._types import JSON
from gibbsafe._validate import count, positive
from gibbsafe.bounds.regret import query_regret
from gibbsafe.errors import BudgetError
from gibbsafe.privacy import Budget
from gibbsafe.theorems import get

__all__ = ["Restriction", "best_restriction"]


@dataclass(frozen=True)
class Restriction:
    """How many draws to release from the prior restricted to parameters with ℓ(θ) ≤ L, and what that costs.

    Attributes:
        draws: N.
        lipschitz: L, the largest that the budget allows for N draws.
        mass: ξ*(Θ_L), the preferred prior's mass of the parameters that stay.
        regret: upper bound on the loss of ξ*-expected utility in [0, 1].
        regret_of_restriction: 2(1 − ξ*(Θ_L)), in expectation over data from ξ*.
        regret_of_draws: 2√(ln(2|R|m/δ)/(2N)), with probability 1 − δ.
    """

    draws: int
    lipschitz: float
    mass: float
    regret: float
    regret_of_restriction: float
    regret_of_draws: float

    def to_dict(self) -> JSON:
        """Return plain data."""
        return asdict(self)


def best_restriction(
    mass_below: Callable[[float], float],
    budget: Budget,
    *,
    responses: int,
    failure: float,
    questions: int = 1,
    diameter: float = 1.0,
    largest_draws: int = 1_000_000,
) -> Restriction:
    """Return the number of draws N and the restriction Θ_L with the least regret that the budget allows.

    N draws from the posterior of a prior on Θ_L are N draws of range 2Lρ, priced by the best route of composition (the paper
    adds 2LN). Restricting moves the posterior by ‖·‖₁ = 2(1 − ξ*(Θ_L | x)), whose expectation over data from ξ* is
    2(1 − ξ*(Θ_L)): that is the regret of Lemma 14, and the draws add that of Lemma 11. More draws need a smaller L.

    Args:
        mass_below: L ↦ ξ*(Θ_L) of the preferred prior, such as a family's `prior_mass_below`.
        budget: (ε, δ) of the whole release, replacing one record.
        responses, failure, questions: |R|, δ and m of Lemma 11.
        diameter: how far two records can be apart under the metric.
        largest_draws: how many draws to consider at most.

    >>> import gibbsafe as gs
    >>> family = gs.models.BetaBernoulli(alpha=50, beta=50)
    >>> best = best_restriction(family.prior_mass_below, gs.Budget(20.0, 1e-6), responses=2, failure=0.05)
    >>> best.draws, round(best.lipschitz, 3), round(best.regret, 3)
    (56, 0.414, 0.475)
    """
    theorem = get("bounded-range")
    span = positive("diameter", diameter)

    def priced(draws: int) -> Restriction:
        try:
            width = theorem.calibrate({"difference_range": 1.0}, budget, adjacency="replace-one", draws=draws)
        except BudgetError:
            width = 0.0
        lipschitz = down(width / (2 * span))
        mass = min(1.0, max(0.0, mass_below(lipschitz)))
        restricted = min(1.0, up(2 * (1 - mass)))
        sampled = query_regret(draws, responses=responses, failure=failure, questions=questions)
        return Restriction(draws, lipschitz, mass, min(1.0, up(restricted + sampled)), restricted, sampled)

    top = count("largest_draws", largest_draws)
    best = _least_regret(priced(n) for n in _geometric(1, top, 30))
    near = _geometric(max(1, math.floor(best.draws / 1.6)), min(top, math.ceil(best.draws * 1.6)), 24)
    return _least_regret([best, *(priced(n) for n in near)])


def _least_regret(candidates: Iterable[Restriction]) -> Restriction:
    return min(candidates, key=lambda each: (each.regret_of_restriction + each.regret_of_draws, each.draws))


def _geometric(low: int, high: int, steps: int) -> list[int]:
    return sorted({round(low * (high / low) ** (k / steps)) for k in range(steps + 1)})
