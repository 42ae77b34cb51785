"""Neighbouring data sets must run the same mechanism: also the hostile ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from gibbsafe._text import counted
from gibbsafe._types import JSON, Document
from gibbsafe.audit.clock import Clock
from gibbsafe.audit.records import columns_of, corners_of, hostile_copies, join, persons_for, replace_record
from gibbsafe.errors import GibbsafeError
from gibbsafe.planning import Plan
from gibbsafe.privacy import Adjacency

__all__ = ["Difference", "SameMechanism", "hostile_neighbours", "same_mechanism"]

#: How a run is described: by what its certificate says of sampler, grid, steps and slack.
FIELDS = ("sampler", "grid", "slack", "stages", "inverse_temperature", "prior", "theorem", "claim", "draws")
Describe = Callable[[object], Document]


@dataclass(frozen=True, eq=False)
class Difference:
    """Two neighbouring data sets on which something else ran: what differed, and the pair."""

    situation: str
    field: str
    first: object
    second: object
    data: object
    neighbour: object

    def __str__(self) -> str:
        return f"{self.situation}: {self.field} is {self.first!r} on one data set and {self.second!r} on its neighbour"


@dataclass(frozen=True, eq=False)
class SameMechanism:
    """The outcome: every situation tried, and the first difference found (None if there is none)."""

    situations: tuple[str, ...]
    difference: Difference | None

    @property
    def refuted(self) -> bool:
        """Whether neighbours were treated differently."""
        return self.difference is not None

    def __str__(self) -> str:
        if self.difference is not None:
            return str(self.difference)
        return f"the same mechanism ran on both data sets of {counted(len(self.situations), 'hostile pair')}"


def describe_release(release: Any) -> JSON:
    """Return what must not depend on the data: the certificate's words on how it was drawn, and the shape of the draws."""
    certificate = release.certificate
    return {name: certificate[name] for name in FIELDS if name in certificate} | {"shape": np.shape(release.draws)}


def same_mechanism(
    plan: Plan,
    data: object = None,
    *,
    mechanism: Callable[[object], object] | None = None,
    describe: Describe = describe_release,
    records: list[object] | None = None,
    pairs: Iterable[tuple[str, object, object]] | None = None,
    seconds: float | None = None,
) -> SameMechanism:
    """Release on hostile neighbours and compare how: both must release, with the same sampler, grid, steps and slack.

    Args:
        plan: the plan; under replace-one its n is the size of the data sets.
        data: a data set to start from; by default corners of the domain in turn.
        mechanism: what to run on a data set instead of `plan.release` (with invalid entries replaced).
        describe: from what the mechanism returns to the fields that are compared; by default a release's certificate.
        records: extreme records, data sets of one; by default the model's own `corners`.
        pairs: (situation, data set, neighbour) to compare instead of all these.
        seconds: stop after this long, with the situations that were looked at until then.

    The situations: one record differs and with it all labels are equal or a column is constant, a record at the clip, at 1e300,
    with a NaN replaced, a person with more rows or fewer, and under add-remove the last record removed.
    """
    run = mechanism or (lambda each: plan.release(each, on_invalid="replace", progress=False, **persons_for(plan, each)))
    clock = Clock.within(seconds)
    tried = []
    for situation, first, second in hostile_neighbours(plan, data, records) if pairs is None else pairs:
        tried.append(situation)
        seen = [_described(run, describe, each) for each in (first, second)]
        for field in seen[0].keys() | seen[1].keys():
            one, other = seen[0].get(field), seen[1].get(field)
            if one != other:
                return SameMechanism(tuple(tried), Difference(situation, field, one, other, first, second))
        if clock.is_over():
            break
    return SameMechanism(tuple(tried), None)


def _described(run: Callable[[object], object], describe: Describe, data: object) -> JSON:
    try:
        return {"outcome": "released", **describe(run(data))}
    except (GibbsafeError, ArithmeticError, ValueError) as error:
        return {"outcome": f"refused ({type(error).__name__})"}


def hostile_neighbours(plan: Plan, data: object = None, records: list[object] | None = None) -> Iterator[tuple[str, Any, Any]]:
    """Yield (situation, data set, neighbour)."""
    corners = corners_of(plan.model) if records is None else list(records)
    rows = plan.rows_per_person
    persons = plan.n if plan.n is not None and plan.adjacency == Adjacency.REPLACE_ONE else None
    size = 12 if persons is None else persons - 1 + rows
    mixed = data if data is not None else join([(corners[k % len(corners)], 1) for k in range(size)])
    for record, other in zip(corners, corners[1:] + corners[:1], strict=True):
        # All records alike, so all labels are equal and every column is constant, and one that is not.
        alike = join([(record, len(columns_of(mixed)[0]))])
        yield _name(record, other), alike, replace_record(alike, 0, other)
    for hostile in hostile_copies(corners[0], invalid=True):
        yield "a record far outside or not a number", mixed, replace_record(mixed, 0, hostile)
    if rows > 1 and persons is not None:  # n counts persons: how many rows one of them brings is private
        others = [(corners[-1], persons - 1)]
        for many in (rows, 3 * rows):
            yield f"a person with 1 row, or with {many}", join([(corners[0], 1), *others]), join([(corners[0], many), *others])
    if plan.adjacency == Adjacency.ADD_REMOVE:
        for record in corners:
            yield "one record or none", join([(record, 1)]), join([(record, 0)])


def _name(record: object, other: object) -> str:
    def plain(each: object) -> str:
        return ", ".join(str(column[0].tolist()) for column in columns_of(each))

    return f"all records ({plain(record)}), or one of them ({plain(other)})"
