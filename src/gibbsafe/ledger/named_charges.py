"""Charges that a plan names for bounds and levels: those of the account itself must be there."""

from __future__ import annotations

from collections.abc import Callable

from gibbsafe.domains.charges import mechanism_of, parse_charge
from gibbsafe.errors import BudgetError
from gibbsafe.ledger.recompute import State
from gibbsafe.models.linear.predictor import LinearModel
from gibbsafe.planning import Plan
from gibbsafe.planning.estimated import EstimatedClaim

__all__ = ["refuse_unknown_charges"]


def refuse_unknown_charges(plan: Plan | EstimatedClaim, account: str, read: Callable[[], State]) -> None:
    """Refuse a plan that says of a column *released under charge k of this account* where entry k is none of it.

    What another ledger was charged, nobody can say here; the certificate names it, for whoever has that ledger.
    """
    facts = plan.model.released_facts() if isinstance(plan, Plan) and isinstance(plan.model, LinearModel) else []
    named = [(fact, parsed) for fact in facts if (parsed := parse_charge(fact.charge)) is not None]
    if not named:
        return
    state = read()
    for fact, (number, owner, ledger, head) in named:
        if (owner, ledger) != (account, state.ledger_id):
            continue
        entry = state.entries[number] if 0 < number < len(state.entries) else {}
        if entry.get("hash") != head or entry.get("mechanism") != mechanism_of(fact.what, fact.column):
            raise BudgetError(
                f"column {fact.name!r}, charge: entry {number} of account {account!r} paid for no {fact.what} of {fact.column}; "
                "write the charge as 'gibbsafe bounds' gave it"
            )
