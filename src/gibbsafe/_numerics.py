"""Floating-point helpers that know which side is safe.

`least` and `greatest` bisect over the floating-point numbers themselves, so what they return is the last number on the
safe side of a monotone condition: there is no tolerance to choose and nothing left to round.
"""

from __future__ import annotations

import math
import struct
from collections.abc import Callable, Iterable

__all__ = [
    "FLOOR",
    "SLACK",
    "at_most",
    "ceiling",
    "down",
    "exp",
    "greatest",
    "half_square",
    "least",
    "log_excess",
    "root_sum_of_squares",
    "sum_up",
    "up",
]

#: Smallest normal double: an upper bound on a positive number that underflows.
FLOOR = 2.2250738585072014e-308
#: Relative inflation of a computed profile; twice the largest error measured against 60-digit arithmetic.
SLACK = 2.0**-39


def up(value: float) -> float:
    """Return a number a few units in the last place above ``value`` ≥ 0 (room for two or three roundings)."""
    return value * (1 + 2.0**-50)


def down(value: float) -> float:
    """Return a number a few units in the last place below ``value`` ≥ 0."""
    return value * (1 - 2.0**-50)


def half_square(value: float, factor: float = 0.5) -> float:
    """Return an upper bound on ``factor``·value²; positive for a positive value, however small."""
    return max(up(value * value * factor), FLOOR) if value > 0 else 0.0


def root_sum_of_squares(values: Iterable[float]) -> float:
    """Return an upper bound on √Σx² that neither overflows nor underflows."""
    terms = list(values)
    scale = max(terms, default=0.0)
    return up(scale * up(math.sqrt(up(math.fsum((x / scale) ** 2 for x in terms))))) if scale > 0 else 0.0


def sum_up(values: Iterable[float]) -> float:
    """Return the smallest double that is not below the exact sum: a sum that a double holds is returned itself.

    >>> sum_up([0.5, 1.0]), sum_up([0.1] * 10) > 1
    (1.5, True)
    """
    terms = list(values)
    nearest = math.fsum(terms)
    return nearest if math.fsum([*terms, -nearest]) <= 0 else math.nextafter(nearest, math.inf)


def at_most(value: float, digits: int = 6) -> str:
    """Return ``value`` ≥ 0 in a few digits, rounded up: what a sentence "at most …" may print.

    >>> at_most(1.2727922), at_most(0.5)
    ('1.2728', '0.5')
    """
    text = f"{value:.{digits}g}"
    while float(text) < value:
        text = f"{float(text) + 10.0 ** (math.floor(math.log10(value)) + 1 - digits):.{digits}g}"
    return text


def log_excess(gap: float, ratio: float) -> float:
    """Return an upper bound on x − 1 − log x for x = ``ratio`` > 0 that keeps its digits near 1, where ``gap`` = x − 1 is given.

    >>> log_excess(1e-9, 1 + 1e-9), round(log_excess(-0.9, 0.1), 6)
    (4.99999999...e-19, 1.402585)
    """
    if abs(gap) < 0.01:
        total = math.fsum((-gap) ** k / k for k in range(2, 12))
    else:
        total = gap - (math.log(ratio) if gap < -0.5 else math.log1p(gap))
    return total * (1 + 2.0**-43)


def exp(value: float) -> float:
    """Exponential that saturates at infinity instead of raising."""
    return math.exp(value) if value < 709.0 else math.inf


def ceiling(log_value: float) -> float:
    """Return an upper bound in (0, 1] on ``exp(log_value)``: never 0, inflated by `SLACK`."""
    return min(1.0, max(FLOOR, math.exp(min(log_value, 0.0)) * (1 + SLACK)))


def _bits(value: float) -> int:
    return int(struct.unpack("<q", struct.pack("<d", value))[0])


def _float(bits: int) -> float:
    return float(struct.unpack("<d", struct.pack("<q", bits))[0])


def least(condition: Callable[[float], bool], low: float = 0.0, high: float = math.inf) -> float:
    """Return the least double in [low, high] at which an increasing condition holds, infinity if it never does.

    >>> least(lambda x: x * x >= 2.0)
    1.4142135623730951
    """
    if condition(low):
        return low
    top = 1.0 if high == math.inf else high
    while not condition(top):
        if top >= high or top > 1e60:
            return math.inf
        top *= 2.0
    a, b = _bits(low), _bits(top)
    while b - a > 1:
        middle = (a + b) // 2
        if condition(_float(middle)):
            b = middle
        else:
            a = middle
    return _float(b)


def greatest(condition: Callable[[float], bool], high: float = math.inf) -> float:
    """Return the greatest double in [0, high] at which a decreasing condition holds; 0 if none above 0 does.

    >>> greatest(lambda x: x * x <= 2.0)
    1.414213562373095
    """
    if high < math.inf and condition(high):
        return high
    edge = least(lambda x: not condition(x), FLOOR, high)
    if edge == math.inf:
        return math.inf
    return 0.0 if edge <= FLOOR else math.nextafter(edge, 0.0)
