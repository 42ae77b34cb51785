"""Products of declared columns: a slope per level, a surface of two numbers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import reduce

import numpy as np

from gibbsafe._types import Floats
from gibbsafe._validate import fail
from gibbsafe.domains.column import Column

__all__ = ["Interaction", "read_interactions"]


@dataclass(frozen=True)
class Interaction:
    """The products of all encoded columns of two or more declared columns, in the table's units after their transforms.

    A linear model divides each by the largest size that the bounds allow, and moves nothing: a coefficient is a slope within a
    level. Of a category one column is 1, splines sum to 1, so the products of one row have norm at most 1 together.

    >>> both = Interaction((Column("age", bounds=(0, 100)), Column("ward", kind="category", levels=("a", "b"))))
    >>> both.encoded_names, both.limits().tolist()
    (('age:ward=a', 'age:ward=b'), [[0.0, 0.0], [100.0, 100.0]])
    """

    columns: tuple[Column, ...]

    @property
    def encoded_names(self) -> tuple[str, ...]:
        """The factors' names, the last one's running fastest."""
        return reduce(lambda first, then: tuple(f"{a}:{b}" for a in first for b in then), (c.encoded_names for c in self.columns))

    @property
    def width(self) -> int:
        """How many columns of numbers it becomes."""
        return len(self.encoded_names)

    @property
    def one_hot(self) -> bool:
        """Whether exactly one of its columns is 1, and the others 0."""
        return all(column.one_hot for column in self.columns)

    def limits(self) -> Floats:
        """Return the lowest and the highest value of every product, in two rows; 0 is always between them."""
        low = high = np.ones(1)
        for column in self.columns:
            ends = np.array([[column.interval.low], [column.interval.high]])
            corners = np.concatenate([low * ends, high * ends])
            low, high = corners.min(axis=0), corners.max(axis=0)
        return np.array([[min(float(low[0]), 0.0)] * self.width, [max(float(high[0]), 0.0)] * self.width])

    def design(self, parts: Mapping[str, Floats]) -> Floats:
        """Return (n, width) products of the factors' columns, in the table's units."""
        found = parts[self.columns[0].name]
        for column in self.columns[1:]:
            then = parts[column.name]
            found = (found[:, :, None] * then[:, None, :]).reshape(len(found), found.shape[1] * then.shape[1])
        return found


def read_interactions(texts: object, columns: Sequence[Column]) -> tuple[Interaction, ...]:
    """Return the interactions that are declared like ``["age:ward"]``, each of declared columns.

    >>> read_interactions(["age:sex"], [Column("age", bounds=(0, 100))])
    Traceback (most recent call last):
    gibbsafe.errors.ParameterError: interactions = 'age:sex': must be of declared columns joined by ':' (age)
    """
    if not isinstance(texts, tuple | list):
        fail("interactions", texts, 'a list like ["age:ward"]')
    known = {column.name: column for column in columns}
    found: dict[frozenset[str], Interaction] = {}
    for text in texts:
        names = _factors(text, known) if isinstance(text, str) else None
        if names is None:
            fail("interactions", text, f"of declared columns joined by ':' ({', '.join(known)})")
        if len(names) < 2 or len(set(names)) != len(names) or frozenset(names) in found:
            fail("interactions", text, "of two or more different columns, each interaction once")
        found[frozenset(names)] = Interaction(tuple(known[name] for name in names))
    return tuple(found.values())


def _factors(text: str, known: Mapping[str, Column]) -> list[str] | None:
    """Return the columns whose names are joined by colons; a name may itself have one."""
    if text in known:
        return [text]
    for place in (k for k, letter in enumerate(text) if letter == ":"):
        if text[:place] in known and (rest := _factors(text[place + 1 :], known)) is not None:
            return [text[:place], *rest]
    return None
