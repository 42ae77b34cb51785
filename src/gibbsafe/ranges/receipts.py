"""Charges for bounds and levels: before the first random number, and named where they are declared."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from gibbsafe._types import Document
from gibbsafe._validate import choice, fail
from gibbsafe.domains.charges import NO_CHARGE, charge_text, mechanism_of
from gibbsafe.errors import guarded
from gibbsafe.ledger import Account
from gibbsafe.ledger import account as find_account
from gibbsafe.ledger.journal import canonical, digest
from gibbsafe.privacy import Adjacency, Guarantee
from gibbsafe.randomness import use

__all__ = ["Paid", "Payer", "adjacency_of"]

Read = TypeVar("Read")


@dataclass(frozen=True, eq=False)
class Paid(Generic[Read]):
    """What was read under a charge, the generator to draw with, how random it is, and the charge as a study names it."""

    found: Read
    random: np.random.Generator
    randomness: str
    charge: str


@dataclass(frozen=True, eq=False)
class Payer:
    """Who pays for a question, and when: before a record is decoded if whoever asks is not trusted with refusals."""

    ledger: Account | str | None
    key: str | None
    dataset: str | None
    untrusted: bool = False

    def __post_init__(self) -> None:
        if isinstance(self.ledger, str):
            object.__setattr__(self, "ledger", find_account(self.ledger))
        if self.untrusted and self.ledger is None:
            fail("ledger", None, "an account to charge with untrusted=True")

    @property
    def account(self) -> Account | None:
        """The account that is charged."""
        return self.ledger if isinstance(self.ledger, Account) else None

    def on_invalid(self, stated: str) -> str:
        """Return what becomes of invalid entries: never a refusal for somebody who is not trusted with them."""
        return "replace" if self.untrusted else choice("on_invalid", stated, ("error", "replace"))

    def pay(
        self, read: Callable[[], Read], guarantee: Guarantee, unit: str, about: Document, generator: np.random.Generator | None
    ) -> Paid[Read]:
        """Read, then charge: what is refused while reading costs nothing. The other way round for the untrusted.

        The default key is the hash of what is asked: the same question again is refused.
        """
        random, randomness = use(generator)
        account = self.account
        if account is None:
            return Paid(guarded(read, "data: cannot be read"), random, randomness, NO_CHARGE)
        if randomness == "seeded":
            account.refuse_seeded()
        account.refuse_other_data(self.dataset)
        key = self.key or f"{about['what']}-{digest(canonical(about))[:32]}"
        mechanism = mechanism_of(about["what"], about["column"])

        def charge() -> Document:
            return account.spend(guarantee, key=key, unit=unit, mechanism=mechanism, dataset=self.dataset).receipt or {}

        before = charge() if self.untrusted else None
        found = guarded(read, "data: cannot be read")
        named = charge() if before is None else before
        return Paid(found, random, randomness, charge_text(named["entry"], named["account"], named["ledger"], named["head"]))


def adjacency_of(stated: Adjacency | str | None, account: Account | None) -> Adjacency:
    """Return the adjacency asked for, or the account's; replace-one without either, whose price here covers both."""
    if stated is not None:
        return Adjacency.of(stated)
    return Adjacency.REPLACE_ONE if account is None else Adjacency.of(account.status()["adjacency"])
