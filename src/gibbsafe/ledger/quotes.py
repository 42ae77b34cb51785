"""What a plan would cost an account, before anybody charges it: from public numbers alone."""

from __future__ import annotations

from dataclasses import dataclass

from gibbsafe.ledger.accounts import Account
from gibbsafe.ledger.caps import Caps, affordable_epsilon
from gibbsafe.ledger.named_charges import refuse_unknown_charges
from gibbsafe.ledger.prices import of_plan, price
from gibbsafe.planning import Plan

__all__ = ["Quote", "quote"]


@dataclass(frozen=True)
class Quote:
    """The price of one release of a plan.

    Attributes:
        cost: in whole units.
        caps: the account's.
        left: what of them is not spent.
        shares: of each cap, what one such release takes.
        fits: how many such releases fit into what is left now, one after the other.
        one_more: an ε at the account's own δ that one more release may cost.
        delta: that δ.
    """

    cost: Caps
    caps: Caps
    left: Caps
    shares: dict[str, float]
    fits: int
    one_more: float
    delta: float


def quote(account: Account, plan: Plan) -> Quote:
    """Return what a plan would cost an account now; nothing is charged.

    Sums are whole units, so that ``fits`` is exact: that many charges are admitted, and one more is refused.
    """
    refuse_unknown_charges(plan, account.name, account._read)
    state = account._read()
    cost, caps, spent = price(of_plan(plan), state.terms), state.caps, state.spent
    left = Caps(*(getattr(caps, part) - getattr(spent, part) for part in ("main", "slack", "failure")))
    each = [(getattr(left, part), amount) for part, amount in vars(cost).items() if amount > 0]
    fits = min((max(room, 0) // amount for room, amount in each), default=0)
    delta = float(state.opening["budget"]["delta"])
    return Quote(cost, caps, left, caps.shares(cost), fits, affordable_epsilon(left, state.terms.currency, delta), delta)
