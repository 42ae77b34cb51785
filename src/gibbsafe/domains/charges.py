"""How a column says that its bounds or levels were released, and under which charge."""

from __future__ import annotations

import re
from dataclasses import dataclass

from gibbsafe._validate import fail

__all__ = ["NO_CHARGE", "ReleasedFact", "charge_text", "check_charge", "entry_of", "mechanism_of", "parse_charge"]

#: Released without a ledger.
NO_CHARGE = "none"
_FORM = re.compile(r"(\d{1,18}) of account (\S.{0,200}), ledger ([0-9a-f]{8,64}), head ([0-9a-f]{64})")


@dataclass(frozen=True)
class ReleasedFact:
    """Bounds or levels that were released: of which declared column, of which of the table, and under which charge."""

    what: str
    name: str
    column: str
    charge: str


def charge_text(entry: int, account: str, ledger: str, head: str) -> str:
    """Return the charge as a study and a certificate name it."""
    return check_charge("charge", f"{entry} of account {account}, ledger {ledger}, head {head}")


def check_charge(name: str, text: object) -> str:
    """Return a charge if it has the form that `gibbsafe bounds` writes."""
    if not isinstance(text, str) or (text != NO_CHARGE and not _FORM.fullmatch(text)):
        fail(name, text, "as 'gibbsafe bounds' wrote it", "leave it out where bounds and levels are public")
    return text


def mechanism_of(what: str, column: str) -> str:
    """Return what a ledger's entry says that was paid for: ``"bounds"`` or ``"levels"`` of a table's column."""
    return f"private {what} of column {column}"


def parse_charge(text: str) -> tuple[int, str, str, str] | None:
    """Return (entry, account, ledger, head) of a charge; None where there was none.

    >>> parse_charge("none") is None
    True
    """
    match = _FORM.fullmatch(text)
    return None if match is None else (int(match[1]), match[2], match[3], match[4])


def entry_of(text: str) -> str:
    """Return the status of a premise: released under which charge.

    >>> entry_of("none")
    'released under no charge'
    """
    parsed = parse_charge(text)
    return "released under no charge" if parsed is None else f"released under charge {parsed[0]}"
