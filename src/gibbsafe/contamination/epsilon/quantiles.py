"""Order statistics: which of K simulated values bounds a quantile, and with what confidence."""

from __future__ import annotations

import math

from scipy import special

from gibbsafe._validate import count, open_probability
from gibbsafe.errors import ParameterError

__all__ = ["coverage", "interval_orders", "percentile_order", "upper_order"]


def coverage(repeats: int, quantile: float, order: int) -> float:
    """Return the probability that the order-th smallest of K values is at least the quantile: P(Bin(K, q) ≤ order − 1).

    >>> round(coverage(1000, 0.99, 996), 3), round(coverage(1000, 0.99, 990), 2)
    (0.971, 0.4...)
    """
    return float(special.bdtr(order - 1, repeats, quantile)) if order >= 1 else 0.0


def _first_order(repeats: int, quantile: float, level: float) -> int:
    """Return the least order whose coverage reaches the level; one more than the repeats if none does."""
    low, high = 0, repeats + 1
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if coverage(repeats, quantile, middle) >= level else (middle, high)
    return high


def upper_order(repeats: int, quantile: float, confidence: float = 0.95) -> int:
    """Return the least order statistic that is at least the quantile with the given confidence; refuse too few repeats.

    >>> upper_order(1000, 0.99), upper_order(600, 0.99), upper_order(300, 0.99)
    (996, 599, 300)
    """
    q, level = open_probability("quantile", quantile), open_probability("confidence", confidence)
    k = count("repeats", repeats)
    order = _first_order(k, q, level)
    if order > k:
        needed = math.ceil(math.log1p(-level) / math.log(q))
        raise ParameterError(
            f"repeats = {k}: too few to bound the {q:g} quantile with confidence {level:g}; at least {needed} are needed"
        )
    return order


def interval_orders(repeats: int, quantile: float, confidence: float = 0.95) -> tuple[int, int] | None:
    """Return the order statistics of a two-sided confidence interval, or None where there are too few repeats.

    >>> interval_orders(1000, 0.99)
    (983, 997)
    """
    tail = (1 - confidence) / 2
    low, high = _first_order(repeats, quantile, tail) - 1, _first_order(repeats, quantile, 1 - tail)
    return (low, high) if low >= 1 and high <= repeats else None


def percentile_order(repeats: int, quantile: float) -> int:
    """Return the order statistic that the paper reports: the 990th of 1,000, which covers with probability below one half."""
    return max(1, math.ceil(quantile * repeats - 1e-9))
