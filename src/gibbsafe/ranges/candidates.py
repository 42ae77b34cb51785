"""The numbers that a private quantile may be: a public list of round ones inside a declared range.

Bounds need few digits. Where nothing is known but that values lie between −10⁹ and 10⁹, numbers of two digits (or fewer: the
preferred numbers of ISO 3) say enough of a bound, on every scale at once, and tied values are met by candidates of their own; a
list of evenly spaced numbers would give nearly all its weight to the far ends. Narrow ranges far from 0 (years, say) get evenly
spaced round numbers besides.
"""

from __future__ import annotations

import math
from functools import cache

import numpy as np

from gibbsafe._types import Floats
from gibbsafe._validate import fail, real

__all__ = ["check_range", "round_numbers"]

#: How many powers of ten below the farthest end are told apart; what is smaller counts as 0.
DECADES = 12
#: Fewest steps of the evenly spaced numbers; there are up to ten times as many.
STEPS = 100
#: Narrowest range: below it numbers lose their digits.
NARROWEST = 1e-300
#: Leading digits by how many there are per power of ten: preferred numbers, and all of two digits.
LEADING = {
    10: ("1", "1.25", "1.6", "2", "2.5", "3.15", "4", "5", "6.3", "8"),
    20: (*("1", "1.12", "1.25", "1.4", "1.6", "1.8", "2", "2.24", "2.5", "2.8"),
         *("3.15", "3.55", "4", "4.5", "5", "5.6", "6.3", "7.1", "8", "9")),
    90: tuple(f"{m / 10:g}" for m in range(10, 100)),
}  # fmt: skip


def check_range(limits: object) -> tuple[float, float]:
    """Return (low, high), or refuse what is reversed, empty or not finite.

    >>> check_range((10, -10))
    Traceback (most recent call last):
    gibbsafe.errors.ParameterError: range = [10.0, -10.0]: must be a pair (low, high) of finite numbers with low < high
    """
    condition = "a pair (low, high) of finite numbers with low < high"
    if not isinstance(limits, tuple | list) or len(limits) != 2:
        fail("range", limits, condition)
    low, high = (real("range", end, condition) for end in limits)
    if not low < high or not math.isfinite(high - low):
        fail("range", [low, high], condition)
    if high - low < NARROWEST:
        fail("range", [low, high], f"at least {NARROWEST:g} wide")
    return low, high


@cache
def round_numbers(low: float, high: float, per_decade: int) -> tuple[float, ...]:
    """Return the candidates in increasing order: both ends, 0, so many numbers per power of ten, and evenly spaced ones.

    >>> [x for x in round_numbers(-1e9, 1e9, 20) if 10 <= x <= 20]
    [10.0, 11.2, 12.5, 14.0, 16.0, 18.0, 20.0]
    >>> round_numbers(1900.0, 2030.0, 20)[:3]
    (1900.0, 1901.0, 1902.0)
    """
    if per_decade not in LEADING:
        fail("per_decade", per_decade, f"one of {', '.join(map(str, LEADING))}")
    top = math.floor(math.log10(max(abs(low), abs(high))))
    powers = range(max(top - DECADES + 1, -300), top + 1)
    sizes = [float(f"{digits}e{power}") for power in powers for digits in LEADING[per_decade]]
    step = math.floor(math.log10((high - low) / STEPS))
    first, last = (math.floor(end / 10.0**step) for end in (low, high))
    even = [float(f"{m}e{step}") for m in range(first, last + 1)]
    listed: Floats = np.unique([low, high, 0.0, *sizes, *(-size for size in sizes), *even])
    return tuple(listed[(listed >= low) & (listed <= high)].tolist())
