"""Journals of estimated claims: which releases there were, and no total, since estimates do not add up to anything.

A journal is an account without budget, currency and caps. It notes estimated releases only; an account with a budget takes proved
ones only. Neither says anything of the other.
"""

from __future__ import annotations

from gibbsafe._types import JSON
from gibbsafe.errors import BudgetError
from gibbsafe.ledger.recompute import State
from gibbsafe.privacy import EstimatedPrivacy

__all__ = ["NOT_COVERED", "NO_TOTAL", "journal_status", "noted"]

NO_TOTAL = "a journal of estimated claims (random DP, not proved): each stands for itself, they do not compose, there is no total"
NOT_COVERED = "estimated (random-DP) releases of the same data are not covered by this claim; journals list them, without a total"


def noted(name: str, state: State, claim: object) -> JSON:
    """Return what a journal notes of an estimated claim; refuse a proved one there, and an estimated one elsewhere."""
    if not state.journal:
        raise BudgetError(
            f"account {name!r}: an estimated (random-DP) claim is not a guarantee, and this account adds up proved ones only; "
            "note it in a journal (gibbsafe ledger open … --journal)"
        )
    if not isinstance(claim, EstimatedPrivacy):
        raise BudgetError(f"account {name!r}: is {NO_TOTAL}; charge a proved release to an account with a budget")
    if claim.adjacency != state.terms.adjacency.value:
        raise BudgetError(
            f"adjacency of the estimate is {claim.adjacency}, but journal {name!r} is about {state.terms.adjacency}"
        )
    return {"estimate": claim.to_dict()}


def journal_status(name: str, ledger: str, state: State) -> JSON:
    """Return what a journal holds: how many estimated claims, and that nothing follows from all of them together."""
    states = [entry["state"] for entry in state.entries]
    return {
        "account": name,
        "ledger": ledger,
        "journal": True,
        "total": None,
        "note": NO_TOTAL,
        "adjacency": state.opening["adjacency"],
        "unit": state.opening["unit"],
        "estimates": sum(each != "" for each in states),
        "unreleased": states.count("unreleased"),
        "entries": len(states),
        "head": state.head,
    }
