"""Where the small pictures inside tables have their ends: numbers from 0 to 100, drawn by templates as inline SVG."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

__all__ = ["Bar", "Piece", "Spent", "bars", "spent"]

#: Colours for people; the sixth is everybody else's.
COLOURS = 6


@dataclass(frozen=True)
class Bar:
    """An interval with its middle on a scale from 0 to 100, where 0 lies on it, and whether it lies apart from 0."""

    low: float
    middle: float
    high: float
    zero: float | None
    apart: bool


def bars(intervals: Sequence[tuple[float, float, float]], *, with_zero: bool = True) -> list[Bar]:
    """Return (low, middle, high) each on a scale of its own, in half-widths about 0, so that any units compare; or on one.

    Without zero all share one scale, from the lowest end to the highest.

    >>> bars([(1.0, 2.0, 3.0), (-1.0, 0.0, 1.0)])[1]
    Bar(low=33.3..., middle=50.0, high=66.6..., zero=50.0, apart=False)
    """
    if not intervals:
        return []
    if with_zero:
        halves = [max((high - low) / 2, 1e-300) for low, _, high in intervals]
        scaled = [tuple(end / half for end in ends) for ends, half in zip(intervals, halves, strict=True)]
        reach = min(max(abs(end) for ends in scaled for end in ends), 12.0)
        first, last = -reach, reach
    else:
        scaled = list(intervals)
        first, last = min(ends[0] for ends in scaled), max(ends[2] for ends in scaled)
    width = (last - first) or 1.0

    def place(value: float) -> float:
        return 100 * min(max((value - first) / width, 0.0), 1.0)

    return [
        Bar(place(low), place(middle), place(high), place(0.0) if with_zero else None, with_zero and (low > 0 or high < 0))
        for low, middle, high in scaled
    ]


@dataclass(frozen=True)
class Piece:
    """One charge on the bar of an account: from where to where, in hundredths of the cap, and whose colour."""

    start: float
    width: float
    colour: int
    who: str


@dataclass(frozen=True)
class Spent:
    """What was spent, charge by charge, and by whom."""

    pieces: tuple[Piece, ...]
    people: tuple[tuple[str, int, float], ...]
    left: float


def spent(charges: Iterable[tuple[str, float]]) -> Spent:
    """Return the picture of an account from (who, share of the main cap) of its charges, in their order.

    >>> spent([("ann", 0.25), ("bob", 0.25), ("ann", 0.1)]).people
    (('ann', 0, 0.35), ('bob', 1, 0.25))
    """
    listed = list(charges)
    totals: dict[str, float] = {}
    for who, share in listed:
        totals[who] = totals.get(who, 0.0) + share
    colours = {who: min(k, COLOURS - 1) for k, who in enumerate(totals)}
    pieces, start = [], 0.0
    for who, share in listed:
        pieces.append(Piece(100 * start, 100 * share, colours[who], who))
        start += share
    people = tuple((who, colours[who], total) for who, total in totals.items())
    return Spent(tuple(pieces), people, max(0.0, 1.0 - start))
