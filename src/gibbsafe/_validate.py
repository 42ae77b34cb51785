"""Validation of parameters, in one place: message = name, value, condition, remedy."""

from __future__ import annotations

import difflib
import math
import numbers
from collections.abc import Iterable
from typing import NoReturn

from gibbsafe.errors import ParameterError

__all__ = ["choice", "count", "fail", "non_negative", "open_probability", "positive", "probability", "real"]


def fail(name: str, value: object, condition: str, remedy: str = "") -> NoReturn:
    """Raise a `ParameterError` in the house's form."""
    raise ParameterError(f"{name} = {value!r}: must be {condition}" + (f"; {remedy}" if remedy else ""))


def real(name: str, value: object, condition: str = "a finite real number") -> float:
    """Return ``value`` as a float if it is a finite real number (booleans, strings and NaN are not).

    >>> real("epsilon", 1)
    1.0
    >>> real("epsilon", float("nan"))
    Traceback (most recent call last):
    gibbsafe.errors.ParameterError: epsilon = nan: must be a finite real number
    """
    if isinstance(value, bool) or not isinstance(value, numbers.Real):
        fail(name, value, condition)
    try:
        number = float(value)
    except OverflowError:
        fail(name, value, condition)
    if not math.isfinite(number):
        fail(name, value, condition)
    return number


def positive(name: str, value: object, remedy: str = "") -> float:
    """Return ``value`` as a float if it is finite and above zero."""
    condition = "a finite number above 0"
    number = real(name, value, condition)
    if number <= 0:
        fail(name, value, condition, remedy)
    return number


def non_negative(name: str, value: object, remedy: str = "") -> float:
    """Return ``value`` as a float if it is finite and not below zero."""
    condition = "a finite number, 0 or above"
    number = real(name, value, condition)
    if number < 0:
        fail(name, value, condition, remedy)
    return number


def probability(name: str, value: object) -> float:
    """Return ``value`` as a float if it lies in [0, 1)."""
    condition = "in [0, 1)"
    number = real(name, value, condition)
    if not 0 <= number < 1:
        fail(name, value, condition)
    return number


def open_probability(name: str, value: object) -> float:
    """Return ``value`` as a float if it lies in (0, 1)."""
    condition = "in (0, 1)"
    number = real(name, value, condition)
    if not 0 < number < 1:
        fail(name, value, condition)
    return number


#: No table has more rows, and no plan more draws or rounds; beyond it whole numbers stop being floating-point ones.
LARGEST_COUNT = 10**18


def count(name: str, value: object, *, least: int = 1, most: int = LARGEST_COUNT) -> int:
    """Return ``value`` as an int if it is a whole number of at least ``least`` and at most ``most``."""
    limited = most < LARGEST_COUNT or (isinstance(value, numbers.Integral) and int(value) > most)
    condition = f"a whole number from {least} to {most:,}" if limited else f"a whole number, {least} or above"
    if isinstance(value, bool) or not isinstance(value, numbers.Integral):
        fail(name, value, condition)
    number = int(value)
    if not least <= number <= most:
        fail(name, value, condition)
    return number


def choice(name: str, value: object, allowed: Iterable[str]) -> str:
    """Return ``value`` if it is one of the allowed names; otherwise name the nearest ones.

    >>> choice("adjacency", "replace_one", ("replace-one", "add-remove"))
    Traceback (most recent call last):
    gibbsafe.errors.ParameterError: adjacency = 'replace_one': must be one of replace-one, add-remove; did you mean replace-one?
    """
    names = list(allowed)
    if isinstance(value, str) and value in names:
        return value
    near = difflib.get_close_matches(str(value), names, n=3, cutoff=0.5)
    fail(name, value, "one of " + ", ".join(names), f"did you mean {' or '.join(near)}?" if near else "")
