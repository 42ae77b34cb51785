"""Budget accounts in SQL: charged before anything is sampled, with caps fixed at opening (see `gibbsafe.ledger.caps`)."""

from gibbsafe.ledger.accounts import Account, Charge
from gibbsafe.ledger.backup import backup as copy_ledger
from gibbsafe.ledger.caps import Caps, caps_for, claimed_delta
from gibbsafe.ledger.checks import check, export
from gibbsafe.ledger.database import Database, parse_reference
from gibbsafe.ledger.grants import apply_grants, grants_sql
from gibbsafe.ledger.opening import FreshKeys, account, open_account, open_journal
from gibbsafe.ledger.quotes import Quote, quote

__all__ = [
    "Account",
    "Caps",
    "Charge",
    "Database",
    "FreshKeys",
    "Quote",
    "account",
    "apply_grants",
    "caps_for",
    "check",
    "claimed_delta",
    "copy_ledger",
    "export",
    "grants_sql",
    "open_account",
    "open_journal",
    "parse_reference",
    "quote",
]
