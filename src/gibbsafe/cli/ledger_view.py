"""Accounts on a screen: what is claimed, the share of each cap that is spent, and what one more release may cost, in ε."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from gibbsafe.cli import tables
from gibbsafe.cli.application import print_json

if TYPE_CHECKING:
    from collections.abc import Sequence

    from gibbsafe._types import JSON

__all__ = ["show_charges", "show_status"]

#: Charges on a screen; JSON and `export` have all of them.
MOST_SHOWN = 20
#: Amounts as tables write them, and what the smaller parts of a budget are kept for.
SYMBOLS = {"mu": "μ", "rho": "ρ", "epsilon": "ε", "slack": "γ", "delta": "δ", "estimate": "ε̂"}
KEPT = {"slack": "samplers' slack", "delta": "the δ of releases"}


def show_charges(charges: Sequence[JSON]) -> None:
    """Print the last charges: key, mechanism, amount."""
    if not charges:
        return
    rows = [
        (
            str(entry["number"]),
            entry["time"],
            _short_key(entry["key"]),
            entry["mechanism"],
            ", ".join(f"{SYMBOLS[name]} {value:.4g}" for name, value in entry["amounts"].items() if value),
            "no total" if entry["share"] is None else f"{entry['share']:.1%}",
            entry["state"],
            entry["who"],
            entry["reason"],
        )
        for entry in charges[-MOST_SHOWN:]
    ]
    last = f"The last {MOST_SHOWN} of {len(charges)} charges" if len(charges) > MOST_SHOWN else "Charges"
    headings = ("", "day", "key", "mechanism", "amount", "of the budget", "state", "who, as they claim", "reason")
    tables.show("", tables.grid(last, headings, rows, numbers=(5,)))


def _short_key(key: str) -> str:
    """Return a key as a table has room for it: a plan's hash by its beginning."""
    return key if len(key) <= 24 else f"{key[:12]}…"


def _rounded_down(value: float, digits: int = 4) -> str:
    """Return a positive number in a few digits, never above it.

    >>> _rounded_down(2.76589), _rounded_down(0.0123456)
    ('2.765', '0.01234')
    """
    text = f"{value:.{digits}g}"
    step = 10.0 ** (math.floor(math.log10(value)) + 1 - digits) if value > 0 else 0.0
    return text if float(text) <= value else f"{float(text) - step:.{digits}g}"


def show_status(status: JSON, *, as_json: bool, quiet: bool) -> None:
    """Print the status of an account."""
    if as_json:
        print_json(status)
        return
    if quiet:
        return
    if status.get("journal"):
        about = [("about", f"{status['adjacency']}, one {status['unit']}"), ("total", f"none: {status['note']}")]
        about += [("estimates", f"{status['estimates']}, of which {status['unreleased']} unreleased"), ("head", status["head"])]
        tables.show(tables.facts(f"Journal {status['account']} in {status['ledger']}", about))
        return
    claim, main = status["claim"], next(iter(status["caps"]))
    names = {main: {"mu": "μ", "rho": "Σρ", "epsilon": "Σε"}[main], "slack": "slack Σγ", "delta": "Σδ"}
    shares = dict(zip(names, status["share"].values(), strict=True))
    rows = [
        (
            label,
            f"{status['caps'][name]:.6g}",
            f"{status['spent'][name]:.6g}",
            f"{shares[name]:.1%}",
            f"{status['left'][name]:.6g}",
        )
        for name, label in names.items()
    ]
    more = status["one_more"]
    spent = f"{shares[main]:.1%} of the budget"
    kept = [f"{shares[name]:.1%} of what is kept for {what}" for name, what in KEPT.items() if shares[name]]
    room = f"a release planned for at most ε = {_rounded_down(more['epsilon'])} at δ = {more['delta']:g} fits"
    head = [
        ("claim", f"ε = {claim['epsilon']:g}, δ = {claim['delta']:g}: of everything charged, now and later, never less"),
        ("about", f"{status['adjacency']}, one {status['unit']}; currency {status['currency']}"),
        ("spent", ", ".join([spent, *kept])),
        ("one more", room if more["epsilon"] > 0 else "nothing more fits"),
        ("charges", f"{status['charges']}, of which {status['unreleased']} unreleased"),
        ("not covered", status["not_covered"]),
        ("head", status["head"]),
    ]
    title = f"Account {status['account']} in {status['ledger']}"
    numbers = (1, 2, 3, 4)
    tables.show(
        tables.facts(title, head),
        tables.grid("", ("", "cap", "spent", "share of the cap", "one more release may cost"), rows, numbers=numbers),
    )
