"""Opening accounts, finding them, and charging one for every fit of an estimator."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from gibbsafe._text import has_password, masked
from gibbsafe._types import JSON, Document
from gibbsafe._validate import choice, fail
from gibbsafe.errors import BudgetError
from gibbsafe.ledger.accounts import UNITS, Account, Charge, current_user
from gibbsafe.ledger.anchor import anchor_at
from gibbsafe.ledger.caps import CURRENCIES, caps_for
from gibbsafe.ledger.database import Database, parse_reference
from gibbsafe.ledger.journal import START, canonical
from gibbsafe.planning import Plan
from gibbsafe.privacy import Adjacency, Budget

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = ["FreshKeys", "account", "open_account", "open_journal"]


def open_account(
    url: str,
    name: str,
    budget: Budget,
    *,
    adjacency: Adjacency | str,
    unit: str = "record",
    currency: str | None = None,
    reserve: float | None = None,
    reason: str | None = None,
    who: str | None = None,
    anchor: str | None = None,
    dataset: str | None = None,
    seeded: bool = False,
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
        reason: why, for readers of the journal.
        who: who opens it, as they claim; by default the user of the process.
        anchor: where every charge leaves a mark, so that an old copy of the ledger is refused: a file, the URL of another
            database, or ``-`` for standard output (`gibbsafe.ledger.anchor`).
        dataset: id of the data set; charges must then name the same.
        seeded: whether releases with a seeded generator are admitted: for tests, they are not private.
    """
    place, name = parse_reference(f"{url}#{name}")
    chosen = currency if currency is not None else "gaussian" if budget.delta > 0 else "pure"
    opened = Account(Database(place), name, anchor)
    opening: JSON = {
        "budget": {"epsilon": budget.epsilon, "delta": budget.delta},
        "adjacency": Adjacency.of(adjacency).value,
        "unit": choice("unit", unit, UNITS),
        "currency": choice("currency", chosen, CURRENCIES),
        "reserve": reserve,
        "caps": caps_for(budget, chosen, reserve).to_dict(),
    }
    opening |= {"anchor": _storable(anchor, place), "dataset": dataset, "seeded": seeded is True}
    return _opened(opened, opening, reason, who)


def open_journal(
    url: str,
    name: str,
    *,
    adjacency: Adjacency | str = "replace-one",
    reason: str | None = None,
    who: str | None = None,
    anchor: str | None = None,
    dataset: str | None = None,
    seeded: bool = False,
) -> Account:
    """Open a journal of estimated claims: it has no budget, takes estimated releases only, and states no total.

    The arguments are those of `open_account`.
    """
    place, name = parse_reference(f"{url}#{name}")
    opening: JSON = {"journal": True, "adjacency": Adjacency.of(adjacency).value, "unit": "record"}
    opening |= {"anchor": _storable(anchor, place), "dataset": dataset, "seeded": seeded is True}
    return _opened(Account(Database(place), name, anchor), opening, reason, who)


def _opened(opened: Account, opening: JSON, reason: str | None, who: str | None) -> Account:
    """Write the opening of an account or journal, and its first mark."""
    if len(opened.name) > 200:
        fail("account", opened.name, "a name of at most 200 characters")
    _refuse_known(opened)
    about = {"who": who or current_user(), "reason": reason or "", "id": secrets.token_hex(16)}
    with opened.database.creating() as connection:
        _insert_account(connection, opened, opening, about)
    if opened.anchor is not None:
        opened.begin_anchor()
    return opened


def _storable(anchor: str | None, ledger: str) -> str | None:
    """Return an anchor's place as the ledger keeps it: a file by its full path, no password, not the ledger itself."""
    if anchor is None or anchor == "-":
        return anchor
    if "://" not in anchor:
        return anchor if anchor.startswith(("env:", "file:")) else str(Path(anchor).absolute())
    if anchor == ledger:
        fail("anchor", "the ledger itself", "another place than the ledger")
    if has_password(anchor):
        fail("anchor", masked(anchor), "a URL without a password", "put it into a variable and name env:VARIABLE")
    return anchor


def _refuse_known(account: Account) -> None:
    """Refuse to open again what was deleted: an anchor that has a mark of this name knows the account it was."""
    if account.anchor is None:
        return
    anchor = anchor_at(account.anchor)
    mark = anchor.newest(account.name)
    if mark is not None:
        raise BudgetError(
            f"account {account.name!r}: anchor {anchor} knows one of this name with {mark.entries} entries; "
            "restore that ledger, or choose another name"
        )


def _insert_account(connection: Connection, opened: Account, opening: Document, about: Document) -> None:
    from sqlalchemy import insert, select

    from gibbsafe.ledger.tables import FORMAT, accounts

    if connection.execute(select(accounts.c.name).where(accounts.c.name == opened.name)).first() is not None:
        raise BudgetError(f"account {opened.name!r} of {opened.database}: is open already, and its caps are fixed")
    nothing = {f"spent_{part}": "0" for part in ("main", "slack", "failure")}
    connection.execute(
        insert(accounts).values(name=opened.name, format=FORMAT, opening=canonical(opening), entries=0, head=START, **nothing)
    )
    opened._append(connection, opened._locked(connection), "opening", {**opening, **about})


def account(reference: str, anchor: str | None = None) -> Account:
    """Return the account named ``URL#name`` (or ``path#name``), which must be open; ``anchor`` is where its marks are now."""
    url, name = parse_reference(reference)
    found = Account(Database(url), name, anchor)
    with found.database.reading() as connection:
        found._locked(connection, lock=False)
    return found


@dataclass(frozen=True)
class FreshKeys:
    """An account that is charged under a new key every time: every fit of an estimator is a sample of its own, and pays."""

    account: Account
    reason: str = "estimator"

    def refuse_seeded(self) -> None:
        """Refuse known randomness as the account does."""
        self.account.refuse_seeded()

    def charge(self, plan: Plan) -> Charge:
        """Charge the plan under a key that no other charge has."""
        from uuid import uuid4

        return self.account.charge(plan, key=f"fit-{uuid4()}", reason=self.reason)
