"""Plans written by the first edition: priced anew by today's theorems, and read as today's plan of the same draws.

Its files have stages without a slack. What they state is not believed: the price of their stages is recomputed, and must be at
most what they claimed. Where a larger allowance for rounding puts it above the budget by a billionth, the budget is restated,
upwards, so that no plan claims more than it says. Draws whose law was not the one that is priced, and units of privacy that were
counted wrongly, are withdrawn.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from gibbsafe._types import JSON, Document
from gibbsafe.errors import CertificateError
from gibbsafe.planning.conditions import coarse
from gibbsafe.privacy import Adjacency, Budget, Guarantee

if TYPE_CHECKING:
    from gibbsafe.planning.plans import Plan

__all__ = ["by_first_edition", "priced_anew", "readable"]

#: How much above its budget today's allowances may put a price, relatively: 4e-9 for untrimmed proportions, else below 1e-13.
ROUNDING = 1e-8
#: What reading a prior back from the user's units may cost.
DIGITS = 2.0**-40


def by_first_edition(content: Document) -> bool:
    """Whether a plan or a certificate was written by the first edition: it has stages, none of which names a slack."""
    stages = content.get("stages")
    return isinstance(stages, list) and stages != [] and all(isinstance(s, dict) and "slack" not in s for s in stages)


def readable(data: Document) -> JSON:
    """Return the first edition's plan in today's form: its draws are exact or priced, and a guess of n is made coarse."""
    guessed = data.get("adjacency") == Adjacency.ADD_REMOVE.value and type(data.get("n")) is int and data["n"] > 0
    stages = [{**stage, "slack": None} for stage in data["stages"]]
    return {**data, "stages": stages, "n": coarse(data["n"]) if guessed else data.get("n")}


def priced_anew(plan: Plan, stated: Document) -> Plan:
    """Return the plan with a budget that holds its price, or refuse what the first edition claimed wrongly."""
    if plan.model.name == "FiniteFamily":
        raise CertificateError("the first edition drew FiniteFamily to 2⁻⁵³ only, which its claim left out; draw it anew")
    if plan.rows_per_person > 1 and plan.adjacency == Adjacency.REPLACE_ONE:
        raise CertificateError("the first edition's n counted rows, not persons, and rows are private; make the plan anew")
    delta = plan.budget.delta
    price, claimed = plan.guarantee.epsilon(delta), Guarantee.from_dict(stated).epsilon(delta)
    if not price <= min(claimed, plan.budget.epsilon) * (1 + ROUNDING):
        raise CertificateError(f"guarantee: the first edition stated ε = {claimed:g}, but it is {price:g}: withdraw the release")
    if price > plan.budget.epsilon or plan.prior_given:
        return replace(plan, budget=Budget(max(plan.budget.epsilon, price) * (1 + DIGITS), delta))
    return plan
