"""An account as its journal says it is: chain, terms, caps, sums, keys and states, recomputed from the entries alone.

The account's row keeps head, counter and sums for the eye of a database; nothing is ever decided by them. Every charge recomputes
everything inside its own transaction, and a row or entry that does not fit is a `CertificateError` in one line.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from gibbsafe._types import JSON, Document
from gibbsafe.errors import CertificateError, GibbsafeError
from gibbsafe.ledger.caps import Caps, caps_for, claimed_delta
from gibbsafe.ledger.journal import START, canonical, digest, link
from gibbsafe.ledger.prices import Terms, charged, price
from gibbsafe.privacy import Adjacency, Budget, Guarantee

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = ["State", "recompute"]

#: What the terms of an account say at least; later versions add to them.
TERMS = {"budget", "adjacency", "unit", "currency", "reserve", "caps"}
#: What a journal of estimated claims says: it has neither budget nor caps.
JOURNAL_TERMS = {"journal", "adjacency", "unit"}
#: Entries with a plan of their own: a proved one with its price, or an estimated one without.
PLANNED = ("charge", "estimate")
PARTS = ("main", "slack", "failure")


@dataclass(frozen=True)
class State:
    """What the entries of an account add up to. `entries` are their contents with mechanism, state, previous hash and hash."""

    opening: Document
    terms: Terms
    caps: Caps
    spent: Caps
    entries: tuple[JSON, ...]

    @property
    def journal(self) -> bool:
        """Whether it lists estimated claims, and therefore adds nothing up."""
        return self.opening.get("journal") is True

    @property
    def head(self) -> str:
        """The last hash of the chain."""
        return str(self.entries[-1]["hash"])

    @property
    def ledger_id(self) -> str:
        """The first hash of the chain: no other account has it, since an opening contains random digits."""
        return str(self.entries[0]["hash"])

    def charge_of(self, key: str) -> JSON | None:
        """Return the entry that was charged under a key."""
        return next((entry for entry in self.entries if entry.get("key") == key), None)


def recompute(connection: Connection, row: Any) -> State:
    """Return the state of an account from its entries; raise `CertificateError` at the first thing that does not fit."""
    from sqlalchemy import select

    from gibbsafe.ledger.tables import entries

    query = select(entries).where(entries.c.account == row.name).order_by(entries.c.number)
    journal = connection.execute(query).all()
    with _in_one_line(row.name):
        bodies = _follow_chain(row, journal)
        opening = _read_opening(row, bodies[0])
        estimated = opening.get("journal") is True
        terms = Terms("none" if estimated else opening["currency"], Adjacency.of(opening["adjacency"]), opening["unit"])
        caps = Caps(0, 0, 0) if estimated else _check_caps(row.name, opening)
        spent = Caps(0, 0, 0) if estimated else _add_charges(row.name, bodies, terms)
        _check_sums(row, spent, caps)
        states = _follow_states(row.name, bodies, journal=estimated)
        mechanisms = [{} if entry.plan is None else {"mechanism": _mechanism(entry.plan)} for entry in journal]
    listed = (
        body | mechanism | {"state": state, "previous": entry.previous, "hash": entry.hash}
        for body, mechanism, state, entry in zip(bodies, mechanisms, states, journal, strict=True)
    )
    return State(opening, terms, caps, spent, tuple(listed))


@contextmanager
def _in_one_line(name: str) -> Iterator[None]:
    """Turn whatever a row of any content can raise into a refusal."""
    try:
        yield
    except CertificateError:
        raise
    except (GibbsafeError, ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError) as error:
        kind = type(error).__name__
        raise CertificateError(
            f"account {name!r}: a row of the ledger is malformed ({kind}); restore it from a backup"
        ) from error


def _follow_chain(row: Any, journal: Sequence[Any]) -> list[JSON]:
    """Return the content of every entry, if each is what its text says and follows from the one before."""
    previous, bodies = START, []
    for position, entry in enumerate(journal):
        where = f"account {row.name!r}, entry {position}"
        if entry.previous != previous or entry.hash != link(previous, entry.body):
            raise CertificateError(f"{where}: its hash does not fit; it was altered, or one is missing before it")
        body = json.loads(entry.body)
        stated = (entry.account, entry.number, entry.kind, entry.key)
        if stated != (body["account"], position, body["kind"], body.get("key")) or body["number"] != position:
            raise CertificateError(f"{where}: not what its text says, or one is missing before it")
        if (entry.plan is None) != (entry.kind not in PLANNED) or (entry.plan is not None and not _is_plan(entry.plan, body)):
            raise CertificateError(f"{where}: the plan is not the one that was charged")
        previous = entry.hash
        bodies.append(body)
    if not bodies or row.entries != len(bodies) or row.head != previous:
        raise CertificateError(
            f"account {row.name!r}: has {len(bodies)} entries, but was left with another number or head; some are missing"
        )
    return bodies


def _is_plan(text: str, body: Document) -> bool:
    """Whether a plan is the one of the entry, by its hash and by the guarantee that was charged.

    A guarantee that no currency describes is charged as the (ε, δ) of the plan.
    """
    if body["kind"] == "estimate":
        return digest(text) == body["plan_sha256"] and canonical(body["estimate"]) == canonical(json.loads(text)["estimate"])
    return digest(text) == body["plan_sha256"] and canonical(body["guarantee"]) == _charged(text)


@lru_cache(maxsize=1024)
def _charged(plan: str) -> str:
    """Return the guarantee that a plan is charged for."""
    content = json.loads(plan)
    return canonical(charged(Guarantee.from_dict(content["guarantee"]), Budget(**content["budget"])).to_dict())


@lru_cache(maxsize=1024)
def _mechanism(plan: str) -> str:
    """Return in a few words what a plan releases."""
    content = json.loads(plan)
    if "estimate" in content:
        stated = content["model"]
        return f"{stated.get('model') or stated['own']}, estimated"
    return f"{content.get('model', {}).get('name', 'a plan')}, {content.get('purpose', 'posterior')}"


def _read_opening(row: Any, first: Document) -> JSON:
    """Return the terms of opening from the chain, if the account's row says the same."""
    opening: JSON = json.loads(row.opening)
    if first["kind"] != "opening" or not set(opening) >= (JOURNAL_TERMS if opening.get("journal") is True else TERMS):
        raise CertificateError(f"account {row.name!r}: does not begin with its opening")
    if any(name not in first or canonical(first[name]) != canonical(value) for name, value in opening.items()):
        raise CertificateError(f"account {row.name!r}: budget or caps are not those it was opened with")
    return opening


def _check_caps(name: str, opening: Document) -> Caps:
    """Return the caps, if they are those of the budget and keep its δ."""
    caps, budget = Caps.from_dict(opening["caps"]), Budget(**opening["budget"])
    again, claimed = _caps_again(canonical(opening))
    if not _nearly(caps, again) or claimed > budget.delta * (1 + 1e-12):
        raise CertificateError(f"account {name!r}: its caps are not those of its budget")
    return caps


@lru_cache(maxsize=64)
def _caps_again(opening: str) -> tuple[Caps, float]:
    terms = json.loads(opening)
    budget, currency = Budget(**terms["budget"]), terms["currency"]
    caps = Caps.from_dict(terms["caps"])
    return caps_for(budget, currency, terms["reserve"]), claimed_delta(budget.epsilon, currency, caps)


def _add_charges(name: str, bodies: Sequence[Document], terms: Terms) -> Caps:
    """Return the sum of all charges, each priced again from its guarantee."""
    total, keys = dict.fromkeys(PARTS, 0), set()
    for position, body in enumerate(bodies):
        if body["kind"] not in ("charge", "spend"):
            continue
        stated = Caps.from_dict(body["cost"])
        if min(vars(stated).values()) < 0 or not _nearly(stated, _price_again(canonical(body["guarantee"]), terms)):
            raise CertificateError(f"account {name!r}, entry {position}: the charge is not the price of its guarantee")
        if body["key"] in keys:
            raise CertificateError(f"account {name!r}, entry {position}: its key was charged before")
        keys.add(body["key"])
        for part in PARTS:
            total[part] += getattr(stated, part)
    return Caps(**total)


@lru_cache(maxsize=4096)
def _price_again(guarantee: str, terms: Terms) -> Caps:
    return price(Guarantee.from_dict(json.loads(guarantee)), terms)


def _nearly(a: Caps, b: Caps) -> bool:
    """Whether amounts agree to 1e-9: libraries of another machine may round a conversion differently."""
    return all(
        abs(getattr(a, part) - getattr(b, part)) * 10**9 <= max(getattr(a, part), getattr(b, part)) for part in PARTS
    )  # in whole numbers, since a row may state one that no float holds


def _check_sums(row: Any, spent: Caps, caps: Caps) -> None:
    if spent.to_dict() != {part: getattr(row, f"spent_{part}") for part in PARTS}:
        raise CertificateError(f"account {row.name!r}: its sums are not those of its entries")
    if any(getattr(spent, part) > getattr(caps, part) for part in PARTS):
        raise CertificateError(f"account {row.name!r}: a cap is passed")


def _follow_states(name: str, bodies: Sequence[Document], *, journal: bool) -> list[str]:
    """Return the state of every entry: a charge is *unreleased* until one release of it is recorded.

    A journal has estimates alone, and an account with a budget has none.
    """
    states: list[str] = []
    known = ("estimate",) if journal else ("charge", "spend")
    for position, body in enumerate(bodies):
        kind = body["kind"]
        if kind == "release":
            of = body["charge"]
            if type(of) is not int or not 0 <= of < position or states[of] != "unreleased":
                raise CertificateError(f"account {name!r}, entry {position}: is no release of an unreleased charge")
            states[of] = "released"
        elif kind not in known and (kind != "opening" or position):
            raise CertificateError(f"account {name!r}, entry {position}: of an unknown kind")
        states.append({"charge": "unreleased", "estimate": "unreleased", "spend": "spent"}.get(kind, ""))
    return states
