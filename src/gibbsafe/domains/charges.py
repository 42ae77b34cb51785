"""How a column says that its bounds or levels were released, and under which charge."""

from __future__ import annotations

import re

from gibbsafe._validate import fail

__all__ = ["NO_CHARGE", "charge_text", "check_charge", "entry_of"]

#: Released without a ledger.
NO_CHARGE = "none"
_FORM = re.compile(r"(\d{1,18}) of account (\S.{0,200}), ledger ([0-9a-f]{8,64}), head ([0-9a-f]{64})")


def charge_text(entry: int, account: str, ledger: str, head: str) -> str:
    """Return the charge as a study and a certificate name it."""
    return check_charge("charge", f"{entry} of account {account}, ledger {ledger}, head {head}")


def check_charge(name: str, text: object) -> str:
    """Return a charge if it has the form that `gibbsafe bounds` writes."""
    if not isinstance(text, str) or (text != NO_CHARGE and not _FORM.fullmatch(text)):
        fail(name, text, "as 'gibbsafe bounds' wrote it", "leave it out where bounds and levels are public")
    return text


def entry_of(text: str) -> str:
    """Return the status of a premise: released under which charge.

    >>> entry_of("none")
    'released under no charge'
    """
    match = _FORM.fullmatch(text)
    return "released under no charge" if match is None else f"released under charge {match.group(1)}"
