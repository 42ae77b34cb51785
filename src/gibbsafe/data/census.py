"""The one place that counts rows, caps persons and compares with the plan's n. No model can forget it: models never see it.

**What n counts.** Where every record is a person, n is the number of records. Where a person may have up to k rows, n is the
number of *persons*: replacing a person by one with more or fewer rows keeps it, so under replace-one it is public and compared
with the table, while the number of rows, between n and n·k, is private. Whatever needs a lower bound on rows must take n, and n·k
for an upper one (`Constants.row_bounds`). Under add-remove nothing is compared.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from gibbsafe._types import Values
from gibbsafe.data.blocks import Blocks
from gibbsafe.errors import DomainError, GibbsafeError

__all__ = ["Census", "PersonCap", "Unit", "array_rows", "distinct_persons", "person_key", "rank_among_same"]


@dataclass(frozen=True)
class Unit:
    """What a plan says of rows and persons: at most ``rows_per_person`` rows each, and n of them if n is public."""

    rows_per_person: int = 1
    n: int | None = None

    @property
    def of_persons(self) -> bool:
        """Whether the unit of privacy is a person with several rows."""
        return self.rows_per_person > 1

    def check(self, found: int) -> None:
        """Refuse a number of records (or persons) that is not the plan's, without naming it."""
        if self.n is not None and self.n != found:
            what = "persons" if self.of_persons else "records"
            refusal = f"data: not the n = {self.n} {what} that the plan declares; make a plan for this table"
            raise DomainError(refusal, private=f"there are {found}")


class Census:
    """Counts the rows of a table as they come and keeps those that the unit allows."""

    def __init__(self, unit: Unit, on_invalid: str = "error") -> None:
        self._unit, self._rows = unit, 0
        self._cap = PersonCap(unit.rows_per_person, on_invalid) if unit.of_persons else None

    def admit(self, block: Blocks, rows: int, persons: Values | None) -> Blocks:
        """Return what is kept of the next ``rows`` records, which the model has encoded."""
        if block.n_rows != rows:
            raise GibbsafeError("model: its encoding has not one row per record, so that nobody can tell whose row is which")
        self._rows += rows
        if self._cap is None:
            self._refuse_more(self._rows)
            return block
        if persons is None:
            raise DomainError("persons: rows_per_person is declared, so pass an identifier per row (persons=...)")
        if persons.shape != (rows,):
            raise DomainError("persons: not one identifier per row", private=f"shape {persons.shape} for {rows} rows")
        kept = self._cap.keep(persons)
        self._refuse_more(self._cap.persons)
        return Blocks(block.rows[kept], None if block.targets is None else block.targets[kept])

    def _refuse_more(self, found: int) -> None:
        """Refuse at once what has more than the plan's n already, however long it goes on."""
        if self._unit.n is not None and found > self._unit.n:
            self._unit.check(found)

    def close(self) -> None:
        """Compare with the plan's n."""
        self._unit.check(self._rows if self._cap is None else self._cap.persons)


class PersonCap:
    """Keeps the first ``cap`` rows of every person of a stream. It remembers a 16-byte hash and a count per person.

    A row without an identifier is refused, or with ``on_invalid="replace"`` left out: nobody could say whose cap it counts for.

    >>> PersonCap(2).keep(np.array(["a", "b", "a", "a"])).tolist()
    [True, True, True, False]
    """

    def __init__(self, cap: int, on_invalid: str = "error") -> None:
        self._cap, self._on_invalid = cap, on_invalid
        self._seen: dict[bytes, int] = {}

    @property
    def persons(self) -> int:
        """How many different persons were seen."""
        return len(self._seen)

    def keep(self, persons: Values) -> npt.NDArray[np.bool_]:
        """Return which rows of the next piece are kept."""
        names, codes, missing = distinct_persons(persons)
        absent = missing[codes]
        if absent.any() and self._on_invalid != "replace":
            row = int(np.argmax(absent))
            raise DomainError("persons: a row has no identifier; every row needs one", private=f"row {row} of its piece")
        keys = [person_key(name) for name in names]
        before = np.array([self._seen.get(key, 0) for key in keys], dtype=np.int64)
        kept = np.asarray(~absent & (rank_among_same(codes) + before[codes] < self._cap))
        for key, count, nobody in zip(keys, np.bincount(codes, minlength=len(names)).tolist(), missing, strict=True):
            if not nobody:
                self._seen[key] = min(self._seen.get(key, 0) + count, self._cap)
        return kept


def person_key(name: object) -> bytes:
    """Return a short hash that stands for a person: the same for 1 and 1.0, from piece to piece."""
    return hashlib.blake2b(repr(_plain_name(name)).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def distinct_persons(persons: Values) -> tuple[list[Any], npt.NDArray[np.intp], npt.NDArray[np.bool_]]:
    """Return the different identifiers, each row's position among them, and which of them name nobody."""
    names, codes = _distinct(persons)
    return names, codes, np.array([_is_absent(name) for name in names], dtype=bool)


def _distinct(persons: Values) -> tuple[list[Any], npt.NDArray[np.intp]]:
    """Return the different identifiers and each row's position among them; 1 and 1.0 are the same one."""
    if persons.dtype.kind in "iubSU":
        names, codes = np.unique(persons, return_inverse=True)
        return names.tolist(), codes.reshape(persons.shape)
    order: dict[object, int] = {}
    codes = np.array([order.setdefault(_plain_name(person), len(order)) for person in persons.tolist()], dtype=np.intp)
    return list(order), codes


def _plain_name(person: object) -> Any:
    """Return one name for identifiers that are equal, also from piece to piece, and None for those that are not there."""
    if isinstance(person, np.generic):
        person = person.item()
    if isinstance(person, float | bool) and math.isfinite(person) and person == int(person):
        return int(person)
    if isinstance(person, str | int | bytes | None):
        return person
    return None if _is_absent(person) else f"{type(person).__name__} {person!r}"


def _is_absent(person: object) -> bool:
    """Whether there is no identifier: none, an empty text, or a value that does not equal itself (NaN, NaT, NA)."""
    try:
        return person is None or person in ("", b"") or bool(person != person)  # noqa: PLR0124 - what NaN is
    except Exception:  # missing values of pandas do not compare at all
        return True


def rank_among_same(codes: npt.NDArray[np.intp]) -> npt.NDArray[np.int64]:
    """Return how many earlier rows of the piece are of the same person."""
    order = np.argsort(codes, kind="stable")
    ordered, places = codes[order], np.arange(len(codes))
    starts = np.concatenate([[True], ordered[1:] != ordered[:-1]])[: len(codes)]
    rank = np.empty(len(codes), dtype=np.int64)
    rank[order] = places - np.maximum.accumulate(np.where(starts, places, 0)) if len(codes) else places
    return rank


def array_rows(data: Any) -> int:
    """Return the number of records of an array, or of a tuple (or pair) of arrays: their first axis.

    >>> array_rows((np.zeros((3, 2)), np.zeros(3))), array_rows([1, 0, 1])
    (3, 3)
    """
    first = data[0] if isinstance(data, tuple) and data else data
    if isinstance(data, list) and len(data) == 2 and _axes(data[0]) == 2:  # a pair [X, y]
        first = data[0]
    if isinstance(first, Mapping):
        first = next(iter(first.values()), ())
    try:
        shape = getattr(first, "shape", None)
        return int(shape[0]) if shape else len(first)
    except (TypeError, IndexError):
        raise DomainError("data: must be arrays with one entry per record, or a table") from None


def _axes(values: Any) -> int:
    try:
        return int(np.ndim(values))
    except ValueError:  # rows of different lengths
        return 1
