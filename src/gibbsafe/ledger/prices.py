"""What a guarantee costs in an account's currency."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction

from gibbsafe.errors import BudgetError
from gibbsafe.ledger.caps import CURRENCIES, Caps
from gibbsafe.ledger.units import charge_units
from gibbsafe.planning import Plan
from gibbsafe.privacy import Adjacency, ApproximateDP, Budget, Composition, EstimatedPrivacy, Guarantee, MetricDP
from gibbsafe.privacy.composition import compose

__all__ = ["Terms", "charged", "of_plan", "price", "proved"]


@dataclass(frozen=True)
class Terms:
    """What an account accepts: one currency, one adjacency, one unit of privacy."""

    currency: str
    adjacency: Adjacency
    unit: str


def proved(claim: object, distance: float | None = None) -> Guarantee:
    """Return the ordinary guarantee behind a claim; refuse estimates, and metric claims without a distance."""
    if isinstance(claim, EstimatedPrivacy):
        raise BudgetError("an estimated (random-DP) claim is not a guarantee: a ledger charges proved ones only")
    if isinstance(claim, MetricDP):
        if distance is None:
            raise BudgetError(f"{claim}: a metric claim has a price at a stated distance only; state distance=...")
        return claim.at(distance).under(Adjacency.REPLACE_ONE)  # a metric compares data sets of one size
    if not isinstance(claim, Guarantee):
        raise BudgetError(f"{claim!r}: not a guarantee of gibbsafe.privacy")
    return claim


def of_plan(plan: Plan) -> Guarantee:
    """Return what a plan is charged for."""
    return charged(plan.guarantee, plan.budget)


def charged(guarantee: Guarantee, budget: Budget) -> Guarantee:
    """Return what a plan is charged for: its guarantee, or the (ε, δ) it was planned for where no currency describes it.

    An exact profile (an untrimmed Beta posterior) has no μ, no ρ and no pure ε. It enters like an external (ε, δ)-DP release: by
    its ε at the plan's own δ, and by that δ, for which the account needs a reserve.
    """
    if any(_pair(guarantee, currency) is not None for currency in CURRENCIES):
        return guarantee
    return ApproximateDP(budget.claim(guarantee), budget.delta, adjacency=guarantee.adjacency)


def _pair(guarantee: Guarantee, currency: str) -> tuple[float, float] | None:
    """Return (parameter, δ) in a currency, without the slack; None where the guarantee has none."""
    exact = guarantee
    if isinstance(guarantee, Composition) and guarantee.slack:
        exact = compose([Composition(guarantee.parts)])
    return {"gaussian": exact._gaussian, "zcdp": exact._concentrated, "pure": exact._pure}[currency]()


def price(guarantee: Guarantee, terms: Terms) -> Caps:
    """Return the charge, rounded up: main sum, slack γ and δᵢ.

    Gaussian accounts add μ² (pure ε-DP and bounded range enter by their tight μ; zCDP implies none and is refused), zCDP accounts
    ρ (μ²/2, r²/8, ε²/2), pure accounts ε. (ε, δ)-DP enters by its ε, plus δ.
    """
    if guarantee.adjacency != terms.adjacency:
        stated = "unstated" if guarantee.adjacency is None else guarantee.adjacency.value
        raise BudgetError(f"adjacency of {guarantee} is {stated}, but the account is about {terms.adjacency.value}")
    slack = guarantee.slack if isinstance(guarantee, Composition) else 0.0
    pair = _pair(guarantee, terms.currency)
    if pair is None:
        names = {"gaussian": "a Gaussian-DP", "zcdp": "a zCDP", "pure": "a pure-DP"}
        raise BudgetError(f"{guarantee}: implies no {names[terms.currency]} guarantee, so this account cannot charge it")
    amount = Fraction(pair[0]) ** 2 if terms.currency == "gaussian" else Fraction(pair[0])
    return Caps(charge_units(amount), charge_units(slack), charge_units(pair[1]))
