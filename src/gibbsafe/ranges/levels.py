"""Private levels: the values of a category that enough records share, released at a price, to be declared in a study."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from gibbsafe._types import JSON
from gibbsafe._validate import fail
from gibbsafe.data.files import CsvFormat
from gibbsafe.domains.column import Column
from gibbsafe.ledger import Account
from gibbsafe.privacy import Adjacency, ApproximateDP, Budget
from gibbsafe.ranges.columns import OneColumn, count_values
from gibbsafe.ranges.receipts import Payer, adjacency_of
from gibbsafe.ranges.selection import coin, probabilities, share_of, whole_price

__all__ = ["PrivateLevels", "private_levels"]

Level = str | int | bool


@dataclass(frozen=True)
class PrivateLevels:
    """Levels that were released, and what they cost. ``other`` stands for every value that was not."""

    column: str
    levels: tuple[Any, ...]
    other: Any
    budget: Budget
    guarantee: ApproximateDP
    adjacency: Adjacency
    charge: str
    randomness: str
    rows_per_person: int = 1

    def declaration(self) -> JSON:
        """Return the keys of the column in a study file."""
        return {"levels": [*self.levels, self.other], "other": self.other, "charge": self.charge}

    def to_column(self, **options: Any) -> Column:
        """Return the declared category, in which missing entries go to ``other``, too."""
        return Column(self.column, **{"kind": "category", "missing": self.other, **self.declaration(), **options})

    def to_dict(self) -> JSON:
        """Return plain data."""
        return {
            "column": self.column,
            "levels": list(self.levels),
            "other": self.other,
            "claim": {"epsilon": self.budget.epsilon, "delta": self.budget.delta},
            "guarantee": self.guarantee.to_dict(),
            "adjacency": self.adjacency.value,
            "rows_per_person": self.rows_per_person,
            "charge": self.charge,
            "randomness": self.randomness,
        }

    def __str__(self) -> str:
        listed = ", ".join(map(str, self.levels)) or "none was common enough"
        price = f"{self.guarantee}, {self.adjacency}"
        seeded = "" if self.randomness == "secure" else "\n  randomness   seeded: for tests only, do not publish"
        told = f"Levels of {self.column}: {listed}\n  others       {self.other}\n  price        {price}"
        return f"{told}\n  charge       {self.charge}{seeded}"


def private_levels(
    data: object,
    column: str,
    budget: Budget,
    *,
    other: Level = "other",
    adjacency: Adjacency | str | None = None,
    ledger: Account | str | None = None,
    key: str | None = None,
    dataset: str | None = None,
    rows_per_person: int = 1,
    persons: object = None,
    untrusted: bool = False,
    csv_format: CsvFormat | None = None,
    generator: np.random.Generator | None = None,
) -> PrivateLevels:
    """Release which values of a category enough records share, for categories whose values are not public.

    Every value that occurs is released or not by a coin of its own, whose bias depends on how often it occurs
    (`gibbsafe.ranges.selection`: (ε, δ)-DP, exact, and no other rule at that price releases more). A value that one record has is
    released with probability at most δ. Counts are not released.

    Args:
        data: a file, a table, a dict of columns, or the column itself as an array.
        column: its name.
        budget: ε and a δ above 0.
        other: the level for every value that is not released, and for missing ones.
        adjacency: by default that of the account, or replace-one, whose price also holds under add-remove.
        rows_per_person, persons: the unit of privacy is a person, of whom so many rows count at most; a value is then counted by
            the persons who have it.
        ledger, key, dataset, untrusted, csv_format, generator: as in `private_bounds`.

    >>> wards = ["surgery"] * 400 + ["medicine"] * 500 + ["the mayor's own room"]
    >>> found = private_levels({"ward": wards}, "ward", Budget(0.5, 1e-6), generator=np.random.default_rng(0))
    >>> found.levels
    ('medicine', 'surgery')
    """
    if not isinstance(budget, Budget):
        fail("budget", budget, "a gibbsafe.Budget")
    if not isinstance(other, str | int) or other == "":
        fail("other", other, "a level: a text that is not empty, or a whole number")
    payer, source = Payer(ledger, key, dataset, untrusted), OneColumn(data, column, csv_format, rows_per_person, persons)
    relation = adjacency_of(adjacency, payer.account)
    guarantee = whole_price(budget, relation)
    chances = probabilities(*share_of(budget, relation, rows_per_person))
    about = {"what": "levels", "column": column, "rows_per_person": rows_per_person,
             "epsilon": budget.epsilon, "delta": budget.delta}  # fmt: skip
    paid = payer.pay(lambda: count_values(source), guarantee, source.unit, about, generator)
    counts = paid.found
    # In an order that depends on the values alone, which is also the order of the list.
    ordered = sorted(counts, key=lambda value: (str(type(value)), value))
    kept = [value for value in ordered if coin(chances[min(counts[value], len(chances) - 1)], paid.random)]
    levels = tuple(value for value in kept if value != other)
    if levels and isinstance(other, str) != isinstance(levels[0], str):
        other = _other_than(levels) if not isinstance(levels[0], str) else str(other)
    return PrivateLevels(column, levels, other, budget, guarantee, relation, paid.charge, paid.randomness, rows_per_person)


def _other_than(levels: tuple[Any, ...]) -> int:
    """Return a whole number that is no released level: levels are all numbers, so the catch-all has to be one."""
    return min(0, *map(int, levels)) - 1
