"""Private bounds: quantiles of a column within a declared range, released at a price, to be declared in a study."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from gibbsafe._types import JSON
from gibbsafe._validate import fail, open_probability
from gibbsafe.data.files import CsvFormat
from gibbsafe.domains.column import Column
from gibbsafe.domains.dates import origin_of
from gibbsafe.ledger import Account
from gibbsafe.privacy import Adjacency, Budget, Guarantee
from gibbsafe.ranges.candidates import check_range, round_numbers
from gibbsafe.ranges.columns import OneColumn, read_numbers
from gibbsafe.ranges.quantiles import Ranks, draw_quantile, price_of_each, price_of_row, quantile_law
from gibbsafe.ranges.receipts import Payer, adjacency_of

__all__ = ["PrivateBounds", "private_bounds"]


@dataclass(frozen=True)
class PrivateBounds:
    """Quantiles that were released, and what they cost.

    Attributes:
        quantiles, values: which quantiles, and what was drawn for each.
        bounds: from the smallest of them to the largest; where they are equal, one round number wider on either side.
        guarantee: what was charged, under ``adjacency``.
        charge: the ledger's entry as a study names it.
    """

    column: str
    range: tuple[float, float]
    per_decade: int
    quantiles: tuple[float, ...]
    values: tuple[float, ...]
    budget: Budget
    guarantee: Guarantee
    adjacency: Adjacency
    charge: str
    randomness: str
    rows_per_person: int = 1

    @property
    def bounds(self) -> tuple[float, float]:
        """(low, high) for a study, low < high: a function of the released values alone."""
        low, high = min(self.values), max(self.values)
        if low < high:
            return low, high
        listed = round_numbers(*self.range, self.per_decade)
        place = listed.index(low)
        return listed[max(place - 1, 0)], listed[min(place + 1, len(listed) - 1)]

    def declaration(self) -> JSON:
        """Return the keys of the column in a study file."""
        return {"bounds": list(self.bounds), "charge": self.charge}

    def to_column(self, **options: Any) -> Column:
        """Return the declared column; options are those of `gibbsafe.domains.Column`, like ``transform``."""
        return Column(self.column, bounds=self.bounds, charge=self.charge, **options)

    def to_dict(self) -> JSON:
        """Return plain data."""
        return {
            "column": self.column,
            "range": list(self.range),
            "quantiles": dict(zip(map(str, self.quantiles), self.values, strict=True)),
            "bounds": list(self.bounds),
            "claim": {"epsilon": self.budget.claim(self.guarantee), "delta": self.budget.delta},
            "guarantee": self.guarantee.to_dict(),
            "adjacency": self.adjacency.value,
            "rows_per_person": self.rows_per_person,
            "charge": self.charge,
            "randomness": self.randomness,
        }

    def __str__(self) -> str:
        low, high = self.bounds
        drawn = ", ".join(f"{q:g}-quantile {value:g}" for q, value in zip(self.quantiles, self.values, strict=True))
        price = f"{self.guarantee}, {self.adjacency}, within the budget {self.budget}"
        seeded = "" if self.randomness == "secure" else "\n  randomness   seeded: for tests only, do not publish"
        told = f"Bounds of {self.column}: [{low:g}, {high:g}]\n  drawn        {drawn}\n  price        {price}"
        return f"{told}\n  charge       {self.charge}{seeded}"


def private_bounds(
    data: object,
    column: str,
    range: tuple[float, float],
    budget: Budget,
    *,
    quantiles: Sequence[float] = (0.01, 0.99),
    adjacency: Adjacency | str | None = None,
    ledger: Account | str | None = None,
    key: str | None = None,
    dataset: str | None = None,
    rows_per_person: int = 1,
    persons: object = None,
    origin: str | None = None,
    per_decade: int = 90,
    on_invalid: str = "error",
    untrusted: bool = False,
    csv_format: CsvFormat | None = None,
    generator: np.random.Generator | None = None,
) -> PrivateBounds:
    """Release quantiles of a column as bounds for a study.

    Each quantile is drawn exactly by the exponential mechanism from the round numbers in the declared range (bounded range r,
    Durfee, Rogers 2019; `docs/theory.md`, Lemma 14); several are a composition, together within the budget. The charge comes
    before the first random number.

    Args:
        data: a file, a table, a dict of columns, or the column itself as an array.
        column: its name.
        range: public (low, high) in which the quantiles are looked for; values outside count at its ends. It may be generous.
        budget: what all the quantiles together may cost.
        quantiles: which ones, each in (0, 1).
        adjacency: by default that of the account, or replace-one. The price of replace-one also holds under add-remove.
        ledger: the account to charge (or its name, ``ledger.db#clinic``), or None to keep the budget by yourself.
        key, dataset: name of the charge, by default the question's hash; id of the data set, if the account is bound to one.
        rows_per_person, persons: the unit of privacy is a person, of whom so many rows count at most: the price is that of all of
            them. ``persons`` is the column that identifies them, or one identifier per row.
        origin: for a column of dates: range, quantiles and bounds are days since that date, as in a study's column.
        per_decade: how many round numbers per power of ten may be released, 90, 20 or 10; fewer of them need fewer records.
        on_invalid: ``"error"`` refuses entries that are no numbers, ``"replace"`` leaves them out, as missing ones are.
        untrusted: whoever asks is not trusted with refusals: the charge comes before a record is decoded, entries are replaced.
        csv_format, generator: how a CSV file is written; a seeded generator for tests, None for secure randomness.

    Released alike whatever the data hold: all equal, all outside the range, or, under add-remove, no record at all.

    >>> values = np.random.default_rng(0).lognormal(10, 1, 20_000)
    >>> private_bounds({"x": values}, "x", (-1e9, 1e9), Budget(0.5), generator=np.random.default_rng(1)).bounds
    (2200.0, 220000.0)
    """
    payer, source = Payer(ledger, key, dataset, untrusted), OneColumn(data, column, csv_format, rows_per_person, persons)
    invalid, relation = payer.on_invalid(on_invalid), adjacency_of(adjacency, payer.account)
    asked = _Question(check_range(range), _check_quantiles(quantiles), budget, relation, per_decade, origin)
    return asked.answer(source, payer, invalid, generator)


@dataclass(frozen=True)
class _Question:
    """Which quantiles are drawn from which candidates at which price: public numbers alone."""

    range: tuple[float, float]
    quantiles: tuple[float, ...]
    budget: Budget
    relation: Adjacency
    per_decade: int
    origin: str | None

    def __post_init__(self) -> None:
        if not isinstance(self.budget, Budget):
            fail("budget", self.budget, "a gibbsafe.Budget")
        if self.origin is not None:
            object.__setattr__(self, "origin", origin_of("origin", self.origin))

    def answer(self, source: OneColumn, payer: Payer, on_invalid: str, generator: np.random.Generator | None) -> PrivateBounds:
        """Charge, read and draw."""
        each, guarantee = price_of_each(self.budget, len(self.quantiles), self.relation)
        candidates, rows = round_numbers(*self.range, self.per_decade), source.rows_per_person
        about = {"what": "bounds", "column": source.name, "range": list(self.range), "quantiles": list(self.quantiles),
                 "per_decade": self.per_decade, "rows_per_person": rows, "origin": self.origin,
                 "epsilon": self.budget.epsilon, "delta": self.budget.delta}  # fmt: skip
        pieces = read_numbers(source, on_invalid, self.origin)
        paid = payer.pay(lambda: Ranks.of(pieces, candidates), guarantee, source.unit, about, generator)
        laws = [quantile_law(paid.found, q, price_of_row(each, rows), self.relation) for q in self.quantiles]
        values = tuple(float(draw_quantile(law, candidates, paid.random)[0]) for law in laws)
        return PrivateBounds(
            source.name, self.range, self.per_decade, self.quantiles, values, self.budget, guarantee, self.relation, paid.charge,
            paid.randomness, rows,
        )  # fmt: skip


def _check_quantiles(quantiles: object) -> tuple[float, ...]:
    if isinstance(quantiles, str) or not isinstance(quantiles, Sequence) or not quantiles:
        fail("quantiles", quantiles, "a list of numbers in (0, 1)")
    asked = tuple(open_probability("quantile", each) for each in quantiles)
    if len(set(asked)) != len(asked) or sorted(asked) != list(asked):
        fail("quantiles", list(asked), "different, in increasing order")
    return asked
