"""Private quantiles: the exponential mechanism over a public list of numbers, drawn in whole numbers.

For a candidate v and a share q of n records let L = #{x < v}, E = #{x ≤ v}. The loss

    ℓ(v) = a·(qn − E)₊ + b·(L − qn)₊,   a, b ≥ 0,

is 0 where v is a q-quantile. v is drawn with probability proportional to exp(−ℓ(v)), also where there are no records.

**Lemma 14 (docs/theory.md).** The loss difference of neighbours varies over v by at most a + b when one record is replaced, and
by at most max(qa, (1−q)b) + max((1−q)a, qb) ≤ a + b when one is added or removed. So a draw has that bounded range.

a : b = ∛(1−q) : ∛q: far from the middle, where few records lie beyond the quantile, the outer side is punished more. Losses are
exact rational numbers, weights whole numbers of so many bits that their rounding is a share 2⁻⁵² of the price, and the draw is
exact (`gibbsafe.posteriors.exact_law`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt

from gibbsafe._numerics import down, greatest
from gibbsafe._types import Floats
from gibbsafe.errors import BudgetError
from gibbsafe.posteriors.exact_law import ExactLaw, exact_law, needed_bits
from gibbsafe.privacy import Adjacency, BoundedRange, Budget, Composition
from gibbsafe.samplers.trimmed.discrete import draw_positions

__all__ = ["Ranks", "draw_quantile", "loss_range", "price_of_each", "price_of_row", "quantile_law", "slopes"]

Counts = npt.NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Ranks:
    """How many of n records lie below each candidate, and at or below it."""

    below: Counts
    at_or_below: Counts
    n: int

    @classmethod
    def of(cls, pieces: Iterable[Floats], candidates: Sequence[float]) -> Ranks:
        """Count values, piece by piece; those outside the candidates are moved to the nearest end, NaN are left out."""
        points, size = np.array(candidates), len(candidates) + 1
        right, left, n = np.zeros(size, dtype=np.int64), np.zeros(size, dtype=np.int64), 0
        for piece in pieces:
            values = np.clip(piece[~np.isnan(piece)], points[0], points[-1])
            right += np.bincount(np.searchsorted(points, values, side="right"), minlength=size)
            left += np.bincount(np.searchsorted(points, values, side="left"), minlength=size)
            n += len(values)
        return cls(np.cumsum(right)[:-1], np.cumsum(left)[:-1], n)


def _share(quantile: float) -> Fraction:
    """Return the quantile as the decimal number that was written."""
    return Fraction(repr(float(quantile)))


def loss_range(quantile: float, below: Fraction, above: Fraction, adjacency: Adjacency) -> Fraction:
    """Return the exact bound of Lemma 14 on the range of the loss difference of neighbours."""
    q = _share(quantile)
    if adjacency == Adjacency.REPLACE_ONE:
        return below + above
    return max(q * below, (1 - q) * above) + max((1 - q) * below, q * above)


def slopes(quantile: float, price: float, adjacency: Adjacency) -> tuple[Fraction, Fraction]:
    """Return (a, b), of which the range is ``price`` less what rounding of the weights takes."""
    outer, inner = math.cbrt(1 - quantile), math.cbrt(quantile)
    below = Fraction(outer / (outer + inner))
    unit = loss_range(quantile, below, 1 - below, adjacency)
    factor = Fraction(down(price)) / unit
    return factor * below, factor * (1 - below)


def quantile_law(ranks: Ranks, quantile: float, price: float, adjacency: Adjacency) -> ExactLaw:
    """Return the law of a draw over the candidates, of bounded range ``price``."""
    (below, above), target = slopes(quantile, price, adjacency), _share(quantile) * ranks.n
    pairs = list(zip(ranks.below.tolist(), ranks.at_or_below.tolist(), strict=True))
    nothing = Fraction(0)
    losses = {
        (less, most): below * max(target - most, nothing) + above * max(less - target, nothing) for less, most in set(pairs)
    }
    return exact_law([-losses[pair] for pair in pairs], needed_bits(price))


def draw_quantile(law: ExactLaw, candidates: Sequence[float], generator: np.random.Generator, draws: int = 1) -> Floats:
    """Return independent draws of the law, as candidates."""
    return np.array(candidates)[draw_positions(law, draws, generator)]


def price_of_each(budget: Budget, quantiles: int, adjacency: Adjacency) -> tuple[float, Composition]:
    """Return the bounded range r of each of so many quantiles, and what they cost together, within the budget.

    >>> each, whole = price_of_each(Budget(0.2), 2, Adjacency.REPLACE_ONE)
    >>> round(each, 9), whole.epsilon(0.0) <= 0.2
    (0.1, True)
    """

    def whole(each: float) -> Composition:
        return BoundedRange(each, adjacency=adjacency).compose(quantiles)

    each = greatest(lambda r: budget.admits(whole(r)))
    if not 0 < each < math.inf:
        raise BudgetError(f"budget {budget}: buys no {quantiles} quantiles; ask for a larger one")
    return each, whole(each)


def price_of_row(each: float, rows_per_person: int) -> float:
    """Return the bounded range of one row, where a person with up to k of them has ``each``.

    A person who is replaced replaces, adds or removes up to k rows one after the other, and each moves the loss differences by at
    most a + b (by what an added row does where persons are added): the ranges add up.
    """
    return each if rows_per_person == 1 else down(each / rows_per_person)
