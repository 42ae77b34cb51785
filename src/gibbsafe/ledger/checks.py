"""Whether an account is what it says, and all of it as plain data."""

from __future__ import annotations

import re

from gibbsafe._types import JSON
from gibbsafe._validate import fail
from gibbsafe.errors import CertificateError
from gibbsafe.ledger.accounts import Account

__all__ = ["check", "export"]


def export(account: Account) -> JSON:
    """Return the whole account as plain data, with its head: write the head down where the ledger's owner cannot reach it."""
    from gibbsafe.ledger.tables import FORMAT

    state = account._read()
    return {"format": FORMAT, "account": account.name, "head": state.head, "entries": list(state.entries)}


def check(account: Account, head: str | None = None) -> JSON:
    """Recompute an account from its entries; raise `CertificateError` at the first thing that does not fit.

    The account is compared with its anchor, if it has one. With ``head``, the newest hash that is known of it, a ledger that
    ends before that hash is refused: it must be in the chain.
    """
    if head is not None and not re.fullmatch("[0-9a-f]{64}", head):
        fail("head", head, "64 hexadecimal digits, as 'gibbsafe ledger export' prints them")
    state = account._read()
    account._anchored(state)
    if head is not None and head not in {entry["hash"] for entry in state.entries}:
        raise CertificateError(
            f"account {account.name!r}: {head[:16]}... is not in the chain; entries are missing or were rewritten"
        )
    return {
        "account": account.name,
        "entries": len(state.entries),
        "head": state.head,
        "share": {} if state.journal else state.caps.shares(state.spent),
        "status": "consistent",
    }
