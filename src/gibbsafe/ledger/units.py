"""Whole numbers of a very small unit: sums that are exact, charges rounded up, caps rounded down."""

from __future__ import annotations

import math
from fractions import Fraction

__all__ = ["as_float", "as_fraction", "at_least", "cap_units", "charge_units"]

#: One unit is 2⁻²⁰⁰: far below any δ that means something, and a sum of whole numbers never rounds.
PER_ONE = 2**200


def charge_units(amount: Fraction | float) -> int:
    """Return what is charged for ``amount`` ≥ 0: rounded up to a whole unit.

    >>> charge_units(0.5) == 2**199, charge_units(1e-300)
    (True, 1)
    """
    return math.ceil(Fraction(amount) * PER_ONE)


def cap_units(amount: Fraction | float) -> int:
    """Return what a cap of ``amount`` ≥ 0 admits: rounded down to a whole unit."""
    return math.floor(Fraction(amount) * PER_ONE)


def as_float(units: int) -> float:
    """Return the amount that these units stand for, to the nearest double.

    >>> as_float(charge_units(0.1) + charge_units(0.2))
    0.30000000000000004
    """
    return float(as_fraction(units))


def as_fraction(units: int) -> Fraction:
    """Return the amount that these units stand for."""
    return Fraction(units, PER_ONE)


def at_least(amount: Fraction) -> float:
    """Return the smallest double that is not below ``amount`` ≥ 0."""
    nearest = float(amount)
    return nearest if Fraction(nearest) >= amount else math.nextafter(nearest, math.inf)
