"""Dates as numbers: days since a declared origin."""

from __future__ import annotations

import datetime
from typing import Any

import numpy as np

from gibbsafe._types import Floats
from gibbsafe._validate import fail
from gibbsafe.errors import DomainError

__all__ = ["days_since", "origin_of", "read_dates"]

#: Microseconds of a day.
DAY = 86_400_000_000


def origin_of(name: str, origin: object) -> str:
    """Return a declared origin as an ISO date, or refuse it.

    >>> origin_of("origin", "2020-02-30")
    Traceback (most recent call last):
    gibbsafe.errors.ParameterError: origin = '2020-02-30': must be a date like 2020-01-31
    """
    try:
        return (origin if isinstance(origin, datetime.date) else datetime.date.fromisoformat(str(origin))).isoformat()[:10]
    except ValueError:
        fail(name, origin, "a date like 2020-01-31")


def days_since(name: str, value: object, origin: str) -> Any:
    """Return a declared date as days since the origin; a number is days already.

    >>> days_since("bounds", "2020-03-01", "2020-01-01")
    60.0
    """
    if isinstance(value, str | datetime.date):
        last = datetime.date.fromisoformat(origin_of(name, value))
        return float((last - datetime.date.fromisoformat(origin)).days)
    return value


def read_dates(raw: Any, name: str, origin: str, on_invalid: str = "error") -> Floats:
    """Return entries as days since the origin, missing ones as NaN; what is no date is refused, or NaN too.

    >>> read_dates(["2020-01-02", None, "2020-01-01T12:00"], "column 'since'", "2020-01-01")
    array([1. , nan, 0.5])
    """
    if hasattr(raw, "to_numpy"):
        import pyarrow as pa

        dated = hasattr(raw, "type") and (pa.types.is_timestamp(raw.type) or pa.types.is_date(raw.type))
        raw = np.asarray(raw.cast(pa.timestamp("us"), safe=False)) if dated else raw.to_numpy(**_copying(raw))
    entries = np.asarray(raw)
    if entries.dtype.kind in "iufb":
        raise DomainError(f"{name}: numbers where dates are declared; leave origin out, or read dates")
    return np.asarray((_dates(entries, name, on_invalid) - np.datetime64(origin, "us")) / np.timedelta64(DAY, "us"))


def _copying(raw: Any) -> dict[str, bool]:
    return {} if hasattr(raw, "chunks") or not hasattr(raw, "type") else {"zero_copy_only": False}


def _dates(entries: Any, name: str, on_invalid: str) -> Any:
    """Return entries as times in microseconds."""
    try:
        return (
            entries.astype("datetime64[us]") if entries.dtype.kind == "M" else np.array(_texts(entries), dtype="datetime64[us]")
        )
    except (ValueError, TypeError, OverflowError) as error:
        if on_invalid != "replace":
            raise DomainError(f"{name}: an entry is no date like 2020-01-31; clean the table", private=str(error)) from None
    return np.array([_date(entry) for entry in _texts(entries)], dtype="datetime64[us]")


def _texts(entries: Any) -> list[Any]:
    return [None if entry is None or entry == "" or entry != entry else entry for entry in entries.tolist()]  # noqa: PLR0124 - NaN


def _date(entry: object) -> Any:
    try:
        return np.datetime64(entry, "us") if entry is not None else np.datetime64("NaT")  # type: ignore[call-overload]
    except (ValueError, TypeError, OverflowError):
        return np.datetime64("NaT")
