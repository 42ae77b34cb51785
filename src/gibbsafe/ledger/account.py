"""Accounts: opened with a budget, charged before anything is sampled, never refunded."""

from __future__ import annotations

import getpass
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from gibbsafe._validate import choice, fail
from gibbsafe.errors import BudgetError, CertificateError, GibbsafeError
from gibbsafe.ledger.caps import CURRENCIES, Caps
from gibbsafe.ledger.database import Database
from gibbsafe.ledger.journal import canonical, digest, link, now
from gibbsafe.ledger.prices import price, proved
from gibbsafe.ledger.recompute import State, recompute
from gibbsafe.ledger.units import as_float
from gibbsafe.plan import Plan
from gibbsafe.privacy import Guarantee

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row

    from gibbsafe.release import Release

__all__ = ["UNITS", "Account", "Charge", "current_user"]

UNITS = ("record", "person")


@dataclass(frozen=True)
class Charge:
    """An entry that was charged. `settle` marks it released; until then it reads *unreleased*, which a crash leaves behind."""

    account: Account
    number: int

    def settle(self, release: Release) -> None:
        """Record that this release came of the charge."""
        content = release.to_dict()
        certificate = digest(canonical(content["certificate"]))
        self.account._settle(self.number, {"certificate_sha256": certificate, "release_sha256": content["sha256"]})


@dataclass(frozen=True)
class Account:
    """An account of a ledger, by database and name; made by `open_account` or `account`.

    Every operation is one transaction of its own. The database serialises charges, so two processes can never overspend.
    """

    database: Database
    name: str

    def __str__(self) -> str:
        return f"{self.database}#{self.name}"

    # -- charging ------------------------------------------------------------------------------------------------

    def charge(self, plan: Plan, key: str | None = None, who: str | None = None, purpose: str | None = None) -> Charge:
        """Charge a plan's price, or raise `BudgetError` and change nothing.

        ``key`` is unique in the account, by default the plan's hash: a plan is released once. Nothing ever samples under an
        existing charge; a deliberate second release of a plan needs another key, and pays again.
        """
        text = canonical(plan.to_dict())
        unit = "record" if plan.rows_per_person == 1 else "person"
        about = {"plan_sha256": digest(text), "who": who or current_user(), "purpose": purpose or ""}
        return self._append_charge("charge", key or digest(text), plan.guarantee, unit, about=about, plan=text)

    def spend(
        self,
        guarantee: Any,
        *,
        key: str,
        unit: str = "record",
        mechanism: str = "",
        distance: float | None = None,
        who: str | None = None,
        purpose: str | None = None,
    ) -> Charge:
        """Charge a mechanism outside gibbsafe by its guarantee, which must state its adjacency (``guarantee.under(...)``)."""
        about = {"mechanism": mechanism, "who": who or current_user(), "purpose": purpose or ""}
        return self._append_charge("spend", key, proved(guarantee, distance), choice("unit", unit, UNITS), about=about)

    def _append_charge(
        self, kind: str, key: str, guarantee: Guarantee, unit: str, *, about: Mapping[str, Any], plan: str | None = None
    ) -> Charge:
        if not isinstance(key, str) or not 0 < len(key) <= 200:
            fail("key", key, "a text of 1 to 200 characters")
        with self.database.writing() as connection:
            row = self._locked(connection)
            state = recompute(connection, row)
            terms, caps, spent = state.terms, state.caps, state.spent
            if unit != terms.unit:
                raise BudgetError(f"unit of privacy is a {unit}, but account {self.name!r} counts by {terms.unit}")
            self._refuse_second(state, key)
            cost = price(guarantee, terms)
            after = Caps(spent.main + cost.main, spent.slack + cost.slack, spent.failure + cost.failure)
            self._refuse_overspending(caps, spent, cost, terms.currency)
            body = {"key": key, "guarantee": guarantee.to_dict(), "cost": cost.to_dict(), **about}
            return Charge(self, self._append(connection, row, kind, body, key=key, plan=plan, spent=after))

    def _refuse_second(self, state: State, key: str) -> None:
        found = state.charge_of(key)
        if found is not None:
            raise BudgetError(
                f"key {key[:16]!r} of account {self.name!r} was charged as entry {found['number']} on {found['time']} "
                f"({found['state']}); nothing is sampled again under an existing charge: pass another key to pay for a new one"
            )

    def _refuse_overspending(self, caps: Caps, spent: Caps, cost: Caps, currency: str) -> None:
        symbols = {"main": CURRENCIES[currency], "slack": "total-variation slack γ", "failure": "δ"}
        for part, symbol in symbols.items():
            left = getattr(caps, part) - getattr(spent, part)
            if getattr(cost, part) > left:
                raise BudgetError(
                    f"account {self.name!r}: costs {symbol} = {as_float(getattr(cost, part)):.6g}, "
                    f"but {as_float(left):.6g} of the cap {as_float(getattr(caps, part)):.6g} is left; plan a smaller release"
                )

    def _settle(self, number: int, about: Mapping[str, Any]) -> None:
        with self.database.writing() as connection:
            row = self._locked(connection)
            states = [entry["state"] for entry in recompute(connection, row).entries]
            state = states[number] if 0 <= number < len(states) else "unknown"
            if state != "unreleased":
                raise BudgetError(f"entry {number} of account {self.name!r} is {state} already")
            self._append(connection, row, "release", {"charge": number, **about})

    def find(self, plan: Plan) -> Charge:
        """Return the unreleased charge of a plan: for a release that was written when the ledger could not be told."""
        text = digest(canonical(plan.to_dict()))
        for entry in self.entries():
            if entry["kind"] == "charge" and entry["plan_sha256"] == text and entry["state"] == "unreleased":
                return Charge(self, entry["number"])
        raise BudgetError(f"account {self.name!r}: no unreleased charge of this plan")

    # -- the journal ---------------------------------------------------------------------------------------------

    def _locked(self, connection: Connection, *, lock: bool = True) -> Row[Any]:
        """Return the account's row, locked against other writers until the transaction ends."""
        from sqlalchemy import select

        from gibbsafe.ledger.tables import FORMAT, accounts

        query = select(accounts).where(accounts.c.name == self.name)
        row = connection.execute(query.with_for_update() if lock else query).first()  # SQLite's writers are alone anyway
        if row is None:
            known = ", ".join(connection.execute(select(accounts.c.name).order_by(accounts.c.name)).scalars()) or "none"
            raise GibbsafeError(f"ledger {self.database}: has no account {self.name!r} (there: {known})")
        if row.format != FORMAT:
            raise CertificateError(f"ledger {self.database}: format {row.format!r}, but this version reads {FORMAT}")
        return row

    def _append(
        self,
        connection: Connection,
        row: Any,
        kind: str,
        body: Mapping[str, Any],
        *,
        key: str | None = None,
        plan: str | None = None,
        spent: Caps | None = None,
    ) -> int:
        """Append an entry to the chain and return its number."""
        from sqlalchemy import insert, update

        from gibbsafe.ledger.tables import accounts, entries

        text = canonical({"account": self.name, "number": row.entries, "kind": kind, "time": now(), **body})
        head = link(row.head, text)
        entry = {"account": self.name, "number": row.entries, "kind": kind, "key": key, "plan": plan}
        connection.execute(insert(entries).values(**entry, body=text, previous=row.head, hash=head))
        changed: dict[str, Any] = {"entries": row.entries + 1, "head": head}
        if spent is not None:
            changed |= {f"spent_{part}": value for part, value in spent.to_dict().items()}
        connection.execute(update(accounts).where(accounts.c.name == self.name).values(**changed))
        return int(row.entries)

    # -- reading -------------------------------------------------------------------------------------------------

    def _read(self) -> State:
        with self.database.reading() as connection:
            return recompute(connection, self._locked(connection, lock=False))

    def entries(self) -> list[dict[str, Any]]:
        """Return every entry in order, with the state of each charge."""
        return list(self._read().entries)

    def status(self) -> dict[str, Any]:
        """Return the budget that the account claims, the share of each cap spent, and what one more release may cost."""
        state = self._read()
        opening, caps, spent = state.opening, state.caps, state.spent
        states = [entry["state"] for entry in state.entries]
        return {
            "account": self.name,
            "ledger": str(self.database),
            "claim": opening["budget"],
            "currency": opening["currency"],
            "adjacency": opening["adjacency"],
            "unit": opening["unit"],
            "caps": _readable(caps, opening["currency"]),
            "spent": _readable(spent, opening["currency"]),
            "share": caps.shares(spent),
            "left": _readable(
                Caps(caps.main - spent.main, caps.slack - spent.slack, caps.failure - spent.failure), opening["currency"]
            ),
            "charges": sum(each != "" for each in states),
            "unreleased": states.count("unreleased"),
            "entries": len(states),
            "head": state.head,
        }


def current_user() -> str:
    """Return the user of the process."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return "unknown"


def _readable(amounts: Caps, currency: str) -> dict[str, float]:
    """Return amounts as people read them: μ instead of μ²."""
    main = as_float(amounts.main)
    name = {"gaussian": "mu", "zcdp": "rho", "pure": "epsilon"}[currency]
    return {
        name: main**0.5 if currency == "gaussian" else main,
        "slack": as_float(amounts.slack),
        "delta": as_float(amounts.failure),
    }
