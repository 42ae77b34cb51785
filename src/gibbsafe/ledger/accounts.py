"""Accounts: opened with a budget, charged before anything is sampled, never refunded."""

from __future__ import annotations

import getpass
import secrets
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from gibbsafe._types import JSON, Document
from gibbsafe._validate import choice, fail
from gibbsafe.errors import BudgetError, CertificateError, GibbsafeError
from gibbsafe.ledger.anchor import Anchor, Mark, anchor_at, require_anchored
from gibbsafe.ledger.caps import CURRENCIES, Caps, affordable_epsilon
from gibbsafe.ledger.database import Database
from gibbsafe.ledger.estimates import NOT_COVERED, journal_status, noted
from gibbsafe.ledger.journal import canonical, digest, link, now
from gibbsafe.ledger.named_charges import refuse_unknown_charges
from gibbsafe.ledger.prices import of_plan, price, proved
from gibbsafe.ledger.recompute import State, recompute
from gibbsafe.ledger.units import as_float
from gibbsafe.planning import Plan
from gibbsafe.planning.estimated import EstimatedClaim
from gibbsafe.privacy import EstimatedPrivacy, Guarantee

if TYPE_CHECKING:
    from sqlalchemy import Connection, Row


__all__ = ["UNITS", "Account", "Charge", "current_user"]

UNITS = ("record", "person")


class Released(Protocol):
    """What the ledger asks of a release: what it holds, and which charge it says produced it."""

    @property
    def plan(self) -> Plan | EstimatedClaim:
        """The plan that was carried out."""

    @property
    def charge(self) -> Document | None:
        """The receipt in the release file."""

    @property
    def signature(self) -> Document | None:
        """Who signed it."""

    def to_dict(self) -> JSON:
        """Return the release file's content."""


@dataclass(frozen=True)
class Charge:
    """An entry that was charged. `settle` marks it released; until then it reads *unreleased*, which a crash leaves behind.

    `receipt` goes into the release file: which entry of which ledger paid for it, and the token whose hash the entry contains, so
    that nobody else can pass off other draws as what this charge produced.
    """

    account: Account
    number: int
    receipt: Document | None = None

    def settle(self, release: Released) -> None:
        """Record that this release came of the charge."""
        if self.receipt is not None and release.charge != self.receipt:
            raise BudgetError(f"entry {self.number} of account {self.account.name!r}: did not produce this release")
        content = release.to_dict()
        certificate = digest(canonical(content["certificate"]))
        self.account._settle(self.number, {"certificate_sha256": certificate, "release_sha256": content["sha256"]})


@dataclass(frozen=True)
class Account:
    """An account of a ledger, by database and name; made by `open_account` or `account`.

    Every operation is one transaction of its own. The database serialises charges, so two processes can never overspend.
    ``anchor`` is where marks are kept, instead of the place that was named at opening (`gibbsafe.ledger.anchor`).
    """

    database: Database
    name: str
    anchor: str | None = None

    def __str__(self) -> str:
        return f"{self.database}#{self.name}"

    # -- charging ------------------------------------------------------------------------------------------------

    def charge(
        self,
        plan: Plan | EstimatedClaim,
        key: str | None = None,
        *,
        who: str | None = None,
        reason: str | None = None,
        dataset: str | None = None,
        signer: str | None = None,
    ) -> Charge:
        """Charge a plan's price, or raise `BudgetError` and change nothing.

        ``key`` is unique in the account, by default the plan's hash: a plan is released once. Nothing ever samples under an
        existing charge; a deliberate second release of a plan needs another key, and pays again. ``who`` is a mere claim.
        ``dataset`` must be the account's, if that names one; ``signer`` is the id of the key that will sign the release.
        An estimated plan is noted in a journal account and costs nothing there; accounts with a budget refuse it.
        """
        refuse_unknown_charges(plan, self.name, self._read)
        text = canonical(plan.to_dict())
        unit = "record" if plan.rows_per_person == 1 else "person"
        token = secrets.token_hex(16)
        about = {"plan_sha256": digest(text), "token_sha256": digest(token), "who": who or current_user(), "reason": reason or ""}
        about |= {} if signer is None else {"signer": signer}
        claim = plan.estimate if isinstance(plan, EstimatedClaim) else of_plan(plan)
        kind = "estimate" if isinstance(plan, EstimatedClaim) else "charge"
        charged = self._append_charge(kind, key or digest(text), claim, unit, about=about, plan=text, dataset=dataset)
        return replace(charged, receipt={**(charged.receipt or {}), "token": token})

    def spend(
        self,
        guarantee: object,
        *,
        key: str,
        unit: str = "record",
        mechanism: str = "",
        distance: float | None = None,
        who: str | None = None,
        reason: str | None = None,
        dataset: str | None = None,
    ) -> Charge:
        """Charge a mechanism outside gibbsafe by its guarantee, which must state its adjacency (``guarantee.under(...)``)."""
        about = {"mechanism": mechanism, "who": who or current_user(), "reason": reason or ""}
        proof, counted = proved(guarantee, distance), choice("unit", unit, UNITS)
        return self._append_charge("spend", key, proof, counted, about=about, dataset=dataset)

    def _append_charge(
        self,
        kind: str,
        key: str,
        claim: Guarantee | EstimatedPrivacy,
        unit: str,
        *,
        about: Document,
        plan: str | None = None,
        dataset: str | None = None,
    ) -> Charge:
        if not isinstance(key, str) or not 0 < len(key) <= 200:
            fail("key", key, "a text of 1 to 200 characters")
        with self.database.writing() as connection:
            row = self._locked(connection)
            state = recompute(connection, row)
            anchor = self._anchored(state)
            terms, caps, spent = state.terms, state.caps, state.spent
            if unit != terms.unit:
                raise BudgetError(f"unit of privacy is a {unit}, but account {self.name!r} counts by {terms.unit}")
            self._refuse_other_data(state, dataset)
            self._refuse_second(state, key)
            if state.journal or isinstance(claim, EstimatedPrivacy):
                body, after = {"key": key, **noted(self.name, state, claim), **about}, None
            else:
                cost = price(claim, terms)
                after = Caps(spent.main + cost.main, spent.slack + cost.slack, spent.failure + cost.failure)
                self._refuse_overspending(caps, spent, cost, terms.currency)
                body = {"key": key, "guarantee": claim.to_dict(), "cost": cost.to_dict(), **about}
            number, head = self._append(connection, row, kind, body, key=key, plan=plan, spent=after)
        if anchor is not None:  # committed, and nothing is sampled yet
            self._leave_mark(anchor, Mark(self.name, state.ledger_id, number + 1, head))
        return Charge(self, number, {"ledger": state.ledger_id, "account": self.name, "entry": number, "head": head})

    def _anchored(self, state: State) -> Anchor | None:
        """Return the anchor, if there is one, having compared the account with it."""
        place = self.anchor or state.opening.get("anchor")
        if place is None:
            return None
        anchor = anchor_at(place)
        require_anchored(self.name, state, anchor)
        return anchor

    def _leave_mark(self, anchor: Anchor, mark: Mark) -> None:
        try:
            anchor.append(mark)
        except GibbsafeError as error:
            raise GibbsafeError(f"{error}; entry {mark.entries - 1} is charged, and nothing is released under it") from error

    def anchor_place(self) -> str | None:
        """Return where the account's marks are: as it was told, or else as it was opened."""
        return self.anchor or self._read().opening.get("anchor")

    def begin_anchor(self) -> Mark:
        """Write a mark of the account as it is now: the first one, or one that the marks before agree with."""
        state = self._read()
        place = self.anchor or state.opening.get("anchor")
        if place is None:
            raise GibbsafeError(f"account {self.name!r}: no anchor is named; pass one")
        anchor, mark = anchor_at(place), Mark.of(self.name, state)
        if anchor.newest(self.name) is not None:
            require_anchored(self.name, state, anchor)
        anchor.append(mark)
        return mark

    def affords(self, guarantee: Guarantee) -> bool:
        """Whether a charge of this guarantee would fit into what is left now; nothing is charged."""
        state = self._read()
        cost = price(guarantee.under(state.terms.adjacency), state.terms)
        return all(getattr(state.spent, part) + getattr(cost, part) <= getattr(state.caps, part) for part in vars(cost))

    def refuse_seeded(self) -> None:
        """Refuse a release whose randomness somebody knows, unless the account was opened for such."""
        if not self._read().opening.get("seeded", False):
            raise BudgetError(
                f"account {self.name!r}: a release with a seeded generator is not private, and the account admits none; leave "
                "the generator out, or open an account for tests with seeded=True"
            )

    def refuse_other_data(self, dataset: str | None) -> None:
        """Refuse a charge for another data set than the account's, before anything is read."""
        self._refuse_other_data(self._read(), dataset)

    def _refuse_other_data(self, state: State, dataset: str | None) -> None:
        bound = state.opening.get("dataset")
        if dataset != bound and (bound is not None or dataset is not None):
            stated = "none" if dataset is None else repr(dataset)
            opened = "without one" if bound is None else f"for {bound!r}"
            remedy = "leave the id out" if bound is None else "pass the same id (--dataset)"
            raise BudgetError(f"dataset = {stated}: account {self.name!r} was opened {opened}; {remedy}")

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

    def _settle(self, number: int, about: Document) -> None:
        with self.database.writing() as connection:
            row = self._locked(connection)
            states = [entry["state"] for entry in recompute(connection, row).entries]
            state = states[number] if 0 <= number < len(states) else "unknown"
            if state != "unreleased":
                raise BudgetError(f"entry {number} of account {self.name!r} is {state} already")
            self._append(connection, row, "release", {"charge": number, **about})

    def find(self, plan: Plan | EstimatedClaim) -> Charge:
        """Return the unreleased charge of a plan."""
        text = digest(canonical(plan.to_dict()))
        for entry in self.entries():
            if entry["kind"] in ("charge", "estimate") and entry["plan_sha256"] == text and entry["state"] == "unreleased":
                return Charge(self, entry["number"])
        raise BudgetError(f"account {self.name!r}: no unreleased charge of this plan")

    def find_charge(self, release: Released) -> Charge:
        """Return the unreleased charge that produced a release, for one that was written when the ledger could not be told.

        The release names its entry, and the entry contains the hash of the release's token: other draws, made of the same plan
        without a charge or under another one, are refused. A charge that names a signer wants a release with a signature.
        """
        receipt, state = release.charge, self._read()
        if receipt is None:
            raise BudgetError("release: names no charge; only what a charge produced can be marked released")
        number = receipt["entry"]
        entry = state.entries[number] if 0 < number < len(state.entries) else {}
        produced = (
            receipt["ledger"] == state.ledger_id
            and receipt["head"] == entry.get("hash")
            and digest(receipt["token"]) == entry.get("token_sha256")
            and digest(canonical(release.plan.to_dict())) == entry.get("plan_sha256")
            and entry.get("signer") == (None if release.signature is None else release.signature["key"])
        )
        if not produced:
            raise BudgetError(f"release: no charge of account {self.name!r} produced it")
        return Charge(self, number, receipt)

    # -- the journal ---------------------------------------------------------------------------------------------

    def _locked(self, connection: Connection, *, lock: bool = True) -> Row[object]:
        """Return the account's row, locked against other writers until the transaction ends."""
        from sqlalchemy import select

        from gibbsafe.ledger.tables import FORMAT, accounts

        query = select(accounts).where(accounts.c.name == self.name)
        row = connection.execute(query.with_for_update() if lock else query).first()  # SQLite's writers are alone anyway
        if row is None:
            known = ", ".join(map(str, connection.execute(select(accounts.c.name).order_by(accounts.c.name)).scalars())) or "none"
            raise GibbsafeError(f"ledger {self.database}: has no account {self.name!r} (there: {known})")
        if row.format != FORMAT:
            raise CertificateError(f"ledger {self.database}: format {row.format!r}, but this version reads {FORMAT}")
        return row

    def _append(
        self,
        connection: Connection,
        row: Any,
        kind: str,
        body: Document,
        *,
        key: str | None = None,
        plan: str | None = None,
        spent: Caps | None = None,
    ) -> tuple[int, str]:
        """Append an entry to the chain; return its number and its hash."""
        from sqlalchemy import insert, update

        from gibbsafe.ledger.tables import accounts, entries

        text = canonical({"account": self.name, "number": row.entries, "kind": kind, "time": now(), **body})
        head = link(row.head, text)
        entry = {"account": self.name, "number": row.entries, "kind": kind, "key": key, "plan": plan}
        connection.execute(insert(entries).values(**entry, body=text, previous=row.head, hash=head))
        changed: JSON = {"entries": row.entries + 1, "head": head}
        if spent is not None:
            changed |= {f"spent_{part}": value for part, value in spent.to_dict().items()}
        connection.execute(update(accounts).where(accounts.c.name == self.name).values(**changed))
        return int(row.entries), head

    # -- reading -------------------------------------------------------------------------------------------------

    def _read(self) -> State:
        with self.database.reading() as connection:
            return recompute(connection, self._locked(connection, lock=False))

    def entries(self) -> list[JSON]:
        """Return every entry in order, with the state of each charge."""
        return list(self._read().entries)

    def charges(self) -> list[JSON]:
        """Return every charge as people read it: key, mechanism, amounts, and its share of the main cap (None in a journal)."""
        state = self._read()
        found = []
        for entry in state.entries:
            told: JSON = {name: entry.get(name, "") for name in ("number", "time", "key", "mechanism", "state", "who", "reason")}
            if "cost" in entry:
                cost = Caps.from_dict(entry["cost"])
                found.append(told | {"amounts": _readable(cost, state.terms.currency), "share": state.caps.shares(cost)["main"]})
            elif "estimate" in entry:
                amounts = {"estimate": entry["estimate"]["epsilon"], "delta": entry["estimate"]["delta"]}
                found.append(told | {"amounts": amounts, "share": None})
        return found

    def status(self) -> JSON:
        """Return the budget that the account claims, the share of each cap spent, and what one more release may cost.

        ``one_more`` is an ε at the account's own δ: a release planned for it fits. Nothing here is an ε that was spent.
        """
        state = self._read()
        if state.journal:
            return journal_status(self.name, str(self.database), state)
        opening, caps, spent = state.opening, state.caps, state.spent
        left = Caps(caps.main - spent.main, caps.slack - spent.slack, caps.failure - spent.failure)
        delta = opening["budget"]["delta"]
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
            "left": _readable(left, opening["currency"]),
            "one_more": {"epsilon": affordable_epsilon(left, opening["currency"], delta), "delta": delta},
            "not_covered": NOT_COVERED,
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
