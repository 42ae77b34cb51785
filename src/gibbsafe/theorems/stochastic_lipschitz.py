"""Dimitrakakis et al. (2017), Assumption 2: the prior keeps to parameters where the likelihood is Lipschitz."""

from __future__ import annotations

import math

from gibbsafe._numerics import at_most, up
from gibbsafe._validate import non_negative, positive
from gibbsafe.errors import BudgetError, PremiseError
from gibbsafe.privacy import Adjacency, ApproximateDP, Budget
from gibbsafe.theorems.constants import Constants
from gibbsafe.theorems.kinds import Kind
from gibbsafe.theorems.theorem import Premise, Theorem, register


def expected_lipschitz(rate: float, floor: float) -> float:
    """Return L₀ + 1/c, an upper bound on the prior mean of the Lipschitz constant (12); its middle term is wrong (E8)."""
    return up(non_negative("floor", floor) + 1 / positive("rate", rate))


def kl_bound(*, rate: float, floor: float, ratio: float, distance: float) -> float:
    """Return KL ≤ 2C(L₀ + 1/c)ρ (Theorem 7.2, proof corrected: E9), for any c > 0.

    C bounds p_θ(x)/φ(x) over parameters and data sets of the given size: it grows with n, although c and L₀ do not.
    """
    return up(2 * non_negative("ratio", ratio) * expected_lipschitz(rate, floor) * non_negative("distance", distance))


def tv_bound(*, rate: float, floor: float, ratio: float, distance: float, draws: int = 1) -> float:
    """Return TV ≤ √(N C(L₀ + 1/c)ρ) for N draws: KL adds, then Pinsker (Theorem 8.2, Corollary 10 sharpened)."""
    return up(math.sqrt(draws * kl_bound(rate=rate, floor=floor, ratio=ratio, distance=distance) / 2))


@register
class StochasticLipschitz(Theorem):
    """(0, √(C(L₀ + 1/c)ρ))-DP of the untempered posterior: privacy under √ρ, not under ρ (E30)."""

    name = "stochastic-lipschitz"
    title = "prior on Lipschitz parameters"
    reference = "Dimitrakakis et al. 2017, Theorems 7.2 and 8.2, Corollary 10"
    errata = ("E8", "E9", "E10", "E30")
    kinds = (Kind.FAMILY,)

    def premises(self, constants: Constants, adjacency: Adjacency) -> tuple[Premise, ...]:
        """Require c, L₀, C and the diameter of a record's domain; replacing records only."""
        if adjacency == Adjacency.ADD_REMOVE:
            raise PremiseError("adjacency add-remove: a metric between records says nothing about adding one")
        rate, floor, ratio, diameter = self._needed(constants)
        return (
            Premise(f"prior mass of parameters with Lipschitz constant ≤ L is at least 1 − exp(−{rate:g}(L − {floor:g}))"),
            Premise(f"likelihood over marginal likelihood is at most {at_most(ratio)}, for the number of records at hand"),
            Premise(f"two records are at most {at_most(diameter)} apart"),
        )

    @staticmethod
    def _needed(constants: Constants) -> tuple[float, float, float, float]:
        rate, floor, ratio, diameter = constants.need(
            "stochastic_rate", "stochastic_floor", "likelihood_ratio_bound", "metric_diameter"
        )
        return rate, floor, ratio, diameter

    def _one_draw(self, constants: Constants, beta: float, adjacency: Adjacency) -> ApproximateDP:
        return self._draws(constants, beta, adjacency, 1)

    def _draws(self, constants: Constants, beta: float, adjacency: Adjacency, draws: int) -> ApproximateDP:
        if beta != 1:
            raise PremiseError(f"inverse_temperature = {beta:g}: the assumption is about the untempered posterior (1)")
        rate, floor, ratio, diameter = self._needed(constants)
        tv = tv_bound(rate=rate, floor=floor, ratio=ratio, distance=diameter, draws=draws)
        if tv >= 1:
            raise PremiseError(f"total-variation bound {tv:.3g}: at least 1, so nothing is claimed")
        return ApproximateDP(0.0, tv)

    def _largest(self, constants: Constants, budget: Budget, adjacency: Adjacency, draws: int) -> float:
        claim = self._draws(constants, 1.0, adjacency, draws)
        if not budget.admits(claim):
            raise BudgetError(f"delta = {budget.delta:g}: below the total-variation bound {claim.pair[1]:.3g} of this theorem")
        return 1.0
