"""Whether an account is what it says: chain, sums, caps and keys recomputed from its entries."""

from __future__ import annotations

import json
from typing import Any

from gibbsafe.errors import CertificateError
from gibbsafe.ledger.account import Account, read_entries
from gibbsafe.ledger.caps import Caps, caps_for, claimed_delta
from gibbsafe.ledger.journal import START, canonical, digest, link
from gibbsafe.ledger.prices import Terms, price
from gibbsafe.privacy import Adjacency, Budget, Guarantee

__all__ = ["check", "export"]


def export(account: Account) -> dict[str, Any]:
    """Return the whole account as plain data, with its head: write the head down where the ledger's owner cannot reach it."""
    from gibbsafe.ledger.tables import FORMAT

    with account.database.reading() as connection:
        row = account._locked(connection, lock=False)
        listed = read_entries(connection, account.name)
    return {"format": FORMAT, "account": account.name, "head": row.head, "entries": listed}


def check(account: Account, head: str | None = None) -> dict[str, Any]:
    """Recompute an account from its entries; raise `CertificateError` at the first thing that does not fit.

    With ``head``, a hash that `export` printed earlier, entries that have gone missing since are detected: the hash must still be
    in the chain.
    """
    from sqlalchemy import select

    from gibbsafe.ledger.tables import entries

    with account.database.reading() as connection:
        row = account._locked(connection, lock=False)
        query = select(entries).where(entries.c.account == account.name).order_by(entries.c.number)
        journal = connection.execute(query).all()
    hashes = _check_chain(account, row, journal)
    if head is not None and head not in hashes:
        raise CertificateError(
            f"account {account.name!r}: {head[:16]}... is not in the chain; entries are missing or were rewritten"
        )
    opening = _check_opening(account, row, journal)
    total = _check_charges(account, journal, opening)
    if {part: str(value) for part, value in vars(total).items()} != {p: getattr(row, f"spent_{p}") for p in vars(total)}:
        raise CertificateError(f"account {account.name!r}: its sums are not those of its entries")
    caps = Caps.from_dict(opening["caps"])
    if any(getattr(total, part) > getattr(caps, part) for part in vars(caps)):
        raise CertificateError(f"account {account.name!r}: a cap is passed")
    return {
        "account": account.name,
        "entries": len(journal),
        "head": row.head,
        "share": caps.shares(total),
        "status": "consistent",
    }


def _check_chain(account: Account, row: Any, journal: list[Any] | Any) -> set[str]:
    previous, hashes = START, set()
    for position, entry in enumerate(journal):
        body = json.loads(entry.body)
        stated = (entry.account, entry.number, entry.kind, entry.key)
        if stated != (body["account"], position, body["kind"], body.get("key")) or body["number"] != position:
            raise CertificateError(
                f"account {account.name!r}, entry {position}: not what its text says, or one is missing before it"
            )
        if entry.previous != previous or entry.hash != link(previous, entry.body):
            raise CertificateError(f"account {account.name!r}, entry {position}: its hash does not fit; it was altered")
        if entry.plan is not None and digest(entry.plan) != body["plan_sha256"]:
            raise CertificateError(f"account {account.name!r}, entry {position}: the plan is not the one that was charged")
        previous = entry.hash
        hashes.add(previous)
    if row.entries != len(journal) or row.head != previous:
        raise CertificateError(
            f"account {account.name!r}: has {len(journal)} entries, but was left with {row.entries}; some are missing"
        )
    return hashes


def _check_opening(account: Account, row: Any, journal: Any) -> dict[str, Any]:
    """Return the terms of opening, if the caps are those of the budget and keep its δ."""
    opening: dict[str, Any] = json.loads(row.opening)
    written = json.loads(journal[0].body)
    if any(written.get(name) != value for name, value in opening.items()):
        raise CertificateError(f"account {account.name!r}: budget or caps are not those it was opened with")
    budget = Budget(**opening["budget"])
    caps = Caps.from_dict(opening["caps"])
    again = caps_for(budget, opening["currency"], opening["reserve"])
    close = all(abs(getattr(caps, part) - getattr(again, part)) <= getattr(again, part) * 1e-9 for part in vars(caps))
    if not close or claimed_delta(budget.epsilon, opening["currency"], caps) > budget.delta * (1 + 1e-12):
        raise CertificateError(f"account {account.name!r}: its caps are not those of its budget")
    return opening


def _check_charges(account: Account, journal: Any, opening: dict[str, Any]) -> Caps:
    """Return the sum of all charges, each priced again from its guarantee."""
    terms = Terms(opening["currency"], Adjacency.of(opening["adjacency"]), opening["unit"])
    main = slack = failure = 0
    prices: dict[str, Caps] = {}  # equal guarantees cost the same
    for entry in journal:
        if entry.kind not in ("charge", "spend"):
            continue
        body = json.loads(entry.body)
        stated, guarantee = Caps.from_dict(body["cost"]), canonical(body["guarantee"])
        if guarantee not in prices:
            prices[guarantee] = price(Guarantee.from_dict(body["guarantee"]), terms)
        if not _nearly(stated, prices[guarantee]):
            raise CertificateError(
                f"account {account.name!r}, entry {entry.number}: the charge is not the price of its guarantee"
            )
        main, slack, failure = main + stated.main, slack + stated.slack, failure + stated.failure
    return Caps(main, slack, failure)


def _nearly(a: Caps, b: Caps) -> bool:
    """Whether two prices agree to 1e-9: libraries of another machine may round a conversion differently."""
    return all(abs(getattr(a, part) - getattr(b, part)) <= 1e-9 * max(getattr(a, part), getattr(b, part)) for part in vars(a))
