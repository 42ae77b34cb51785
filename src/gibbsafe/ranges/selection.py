"""Stable selection: which values of a category are released, each by a coin whose bias depends on its count alone.

A value with count c is released with probability π(c), π(0) = 0, and otherwise

    π(c) = min(e^ε π(c−1) + δ,  1 − e^{−ε}(1 − π(c−1) − δ),  1)

(Desfontaines, Voss, Gipson, Mandayam 2022, Theorem 1): no other rule with this guarantee releases any value more often. Adding or
removing a record moves one count by one, which the recursion makes (ε, δ)-DP; replacing one moves two counts, two such steps.

Probabilities are whole numbers over 2⁸⁰, rounded down from exact arithmetic with e^ε bounded from below and e^{−ε} from above:
both inequalities of the guarantee hold for the numbers that are drawn with, and coins are exact.
"""

from __future__ import annotations

from fractions import Fraction
from functools import lru_cache

import numpy as np

from gibbsafe._validate import fail
from gibbsafe.privacy import Adjacency, ApproximateDP, Budget

__all__ = ["BITS", "coin", "probabilities", "share_of", "whole_price"]

BITS = 80
#: Most steps of the recursion: a value that needs more records than that is not looked for.
MOST_STEPS = 20_000


def share_of(budget: Budget, adjacency: Adjacency, rows_per_person: int = 1) -> tuple[Fraction, Fraction]:
    """Return the (ε, δ) of one count's step: half of each where a replaced record moves two counts.

    A person with k rows moves up to k counts by one each (`count_values` counts persons, not rows), twice as many if replaced.
    """
    steps = (2 if adjacency == Adjacency.REPLACE_ONE else 1) * rows_per_person
    return Fraction(budget.epsilon) / steps, Fraction(budget.delta) / steps


def whole_price(budget: Budget, adjacency: Adjacency) -> ApproximateDP:
    """Return what a selection within this budget guarantees: all of it, which needs a δ above 0."""
    if not budget.delta > 0:
        fail(
            "delta", budget.delta, "above 0 for levels", "a value that one record has can be kept back only with some probability"
        )
    return ApproximateDP(budget.epsilon, budget.delta, adjacency=adjacency)


def _exponential_below(epsilon: Fraction) -> Fraction:
    """Return a rational lower bound on e^ε, above 1: a partial sum of its series, all terms of which are positive."""
    small = epsilon / 2**10
    partial = term = Fraction(1)
    for k in range(1, 24):
        term = _cut(term * small / k, 400)
        partial += term
    for _ in range(10):
        partial = _cut(partial * partial, 400)
    return partial


def _cut(value: Fraction, bits: int) -> Fraction:
    """Return the value rounded down to so many bits behind the point."""
    return Fraction((value.numerator << bits) // value.denominator, 1 << bits)


@lru_cache(maxsize=16)
def probabilities(epsilon: Fraction, delta: Fraction) -> tuple[int, ...]:
    """Return π(0), π(1), …, up to the first that is 1, each times 2⁸⁰ and whole.

    >>> listed = probabilities(Fraction(1), Fraction(1, 10**6))
    >>> listed[0], listed[-1] == 2**BITS, len(listed)
    (0, True, 29)
    """
    one, growth = 1 << BITS, _exponential_below(epsilon)
    listed = [0]
    while listed[-1] < one and len(listed) < MOST_STEPS:
        before = Fraction(listed[-1], one)
        first = growth * before + delta
        second = 1 - (1 - before - delta) / growth if before + delta < 1 else Fraction(1)
        best = min(first, second, Fraction(1))
        listed.append((best.numerator << BITS) // best.denominator)
        if listed[-1] <= listed[-2]:
            fail("delta", float(delta), f"at least {2.0**-BITS:.1g}, the step of the probabilities")
    if listed[-1] < one:
        fail("epsilon", float(epsilon), f"larger: fewer than {MOST_STEPS:,} records should release a level for certain")
    return tuple(listed)


def coin(chance: int, generator: np.random.Generator) -> bool:
    """Return True with probability ``chance``/2⁸⁰, exactly."""
    return int.from_bytes(generator.bytes(BITS // 8), "little") < chance
