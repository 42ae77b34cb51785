"""Charges for bounds and levels: before the first random number, and named where they are declared."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeVar, runtime_checkable

import numpy as np

from gibbsafe._types import Document
from gibbsafe.domains.charges import NO_CHARGE, charge_text
from gibbsafe.errors import guarded
from gibbsafe.ledger import Account
from gibbsafe.ledger import account as find_account
from gibbsafe.ledger.journal import canonical, digest
from gibbsafe.privacy import Adjacency, Guarantee
from gibbsafe.randomness import use

__all__ = ["Paid", "adjacency_of", "as_account", "paid"]

Read = TypeVar("Read")


@runtime_checkable
class Paid(Protocol):
    """What a release of bounds or levels says of its charge."""

    @property
    def charge(self) -> str:
        """The charge as a study names it."""


def as_account(ledger: Account | str | None) -> Account | None:
    """Return the account that is named, or the one that is given."""
    return find_account(ledger) if isinstance(ledger, str) else ledger


def adjacency_of(stated: Adjacency | str | None, account: Account | None) -> Adjacency:
    """Return the adjacency asked for, or the account's; replace-one without either, whose price here covers both."""
    if stated is not None:
        return Adjacency.of(stated)
    return Adjacency.REPLACE_ONE if account is None else Adjacency.of(account.status()["adjacency"])


def paid(
    read: Callable[[], Read],
    account: Account | None,
    guarantee: Guarantee,
    *,
    about: Document,
    key: str | None,
    dataset: str | None,
    generator: np.random.Generator | None,
) -> tuple[Read, np.random.Generator, str, str]:
    """Read, then charge, then give what was read, the generator, how random it is, and the charge as a study names it.

    What is refused while reading costs nothing. The default key is the hash of what is asked: the same question again is refused.
    """
    random, randomness = use(generator)
    if account is not None:
        if randomness == "seeded":
            account.refuse_seeded()
        account.refuse_other_data(dataset)
    found = guarded(read, "data: cannot be read")
    if account is None:
        return found, random, randomness, NO_CHARGE
    name = key or f"{about['what']}-{digest(canonical(about))[:32]}"
    mechanism = f"private {about['what']} of column {about['column']}"
    charged = account.spend(guarantee, key=name, mechanism=mechanism, dataset=dataset)
    receipt = charged.receipt or {}
    return found, random, randomness, charge_text(receipt["entry"], receipt["account"], receipt["ledger"], receipt["head"])
