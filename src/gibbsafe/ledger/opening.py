"""Opening accounts, finding them, and charging one for every fit of an estimator."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gibbsafe._validate import choice, fail
from gibbsafe.errors import BudgetError
from gibbsafe.ledger.account import UNITS, Account, Charge, current_user
from gibbsafe.ledger.caps import CURRENCIES, caps_for
from gibbsafe.ledger.database import Database, parse_reference
from gibbsafe.ledger.journal import START, canonical
from gibbsafe.plan import Plan
from gibbsafe.privacy import Adjacency, Budget

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = ["FreshKeys", "account", "open_account"]


def open_account(
    url: str,
    name: str,
    budget: Budget,
    *,
    adjacency: Adjacency | str,
    unit: str = "record",
    currency: str | None = None,
    reserve: float | None = None,
    purpose: str | None = None,
    who: str | None = None,
) -> Account:
    """Open an account for one data set; its caps are fixed now and for good.

    Args:
        url: ``sqlite:///path`` or a path, or ``postgresql://...``.
        name: of the account, one per data set.
        budget: (ε, δ): what the account will claim of everything charged to it together.
        adjacency: of every guarantee it accepts.
        unit: ``"record"``, or ``"person"`` for releases that cap the rows per person.
        currency: ``"gaussian"`` (default), ``"zcdp"``, or ``"pure"`` (default where δ = 0).
        reserve: share of δ kept for total-variation slacks and for the δᵢ of releases together, one tenth by default.
        purpose: what the data are, for readers of the journal.
        who: who opens it, by default the user of the process.
    """
    place, name = parse_reference(f"{url}#{name}")
    chosen = currency if currency is not None else "gaussian" if budget.delta > 0 else "pure"
    made = Account(Database(place), name)
    opening = {
        "budget": {"epsilon": budget.epsilon, "delta": budget.delta},
        "adjacency": Adjacency.of(adjacency).value,
        "unit": choice("unit", unit, UNITS),
        "currency": choice("currency", chosen, CURRENCIES),
        "reserve": reserve,
        "caps": caps_for(budget, chosen, reserve).to_dict(),
    }
    if len(name) > 200:
        fail("account", name, "a name of at most 200 characters")
    with made.database.creating() as connection:
        _insert_account(connection, made, opening, {"who": who or current_user(), "purpose": purpose or ""})
    return made


def _insert_account(connection: Connection, made: Account, opening: Mapping[str, Any], about: Mapping[str, Any]) -> None:
    from sqlalchemy import insert, select

    from gibbsafe.ledger.tables import FORMAT, accounts

    if connection.execute(select(accounts.c.name).where(accounts.c.name == made.name)).first() is not None:
        raise BudgetError(f"account {made.name!r} of {made.database}: is open already, and its caps are fixed")
    nothing = {f"spent_{part}": "0" for part in ("main", "slack", "failure")}
    connection.execute(
        insert(accounts).values(name=made.name, format=FORMAT, opening=canonical(opening), entries=0, head=START, **nothing)
    )
    made._append(connection, made._locked(connection), "opening", {**opening, **about})


def account(reference: str) -> Account:
    """Return the account named ``URL#name`` (or ``path#name``), which must be open."""
    url, name = parse_reference(reference)
    found = Account(Database(url), name)
    with found.database.reading() as connection:
        found._locked(connection, lock=False)
    return found


@dataclass(frozen=True)
class FreshKeys:
    """An account that is charged under a new key every time: every fit of an estimator is a sample of its own, and pays."""

    account: Account
    purpose: str = "estimator"

    def charge(self, plan: Plan) -> Charge:
        """Charge the plan under a key that no other charge has."""
        from uuid import uuid4

        return self.account.charge(plan, key=f"fit-{uuid4()}", purpose=self.purpose)
