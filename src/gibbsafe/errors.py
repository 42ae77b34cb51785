"""Every way in which gibbsafe refuses.

A refusal is one line that names the thing, its value, the condition it breaks and, where there is one, the remedy. Values are
public ones only: what depends on records (a value, a row's number, a count of rows) is shown to nobody but the curator who asks
for it, by `showing_values`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TypeVar

__all__ = [
    "BudgetError",
    "CertificateError",
    "DomainError",
    "GibbsafeError",
    "ParameterError",
    "PremiseError",
    "guarded",
    "showing_values",
]

Result = TypeVar("Result")
_SHOWN: ContextVar[bool] = ContextVar("gibbsafe_values_shown", default=False)


@contextmanager
def showing_values(shown: bool = True) -> Iterator[None]:
    """Let refusals inside say what depends on records: values, rows, counts. For the curator's eyes, never for an analyst's.

    >>> with showing_values():
    ...     print(DomainError("y: not a declared label", private="row 3 is 'x'"))
    y: not a declared label (row 3 is 'x')
    >>> print(DomainError("y: not a declared label", private="row 3 is 'x'"))
    y: not a declared label
    """
    before = _SHOWN.set(shown or _SHOWN.get())
    try:
        yield
    finally:
        _SHOWN.reset(before)


class GibbsafeError(Exception):
    """Base class of every error that gibbsafe raises on purpose."""


class ParameterError(GibbsafeError, ValueError):
    """A parameter is outside its documented domain (``epsilon = -1``, an unknown name, a NaN)."""


class PremiseError(GibbsafeError, ValueError):
    """A theorem's hypothesis fails, or cannot be established from what was declared."""


class DomainError(GibbsafeError, ValueError):
    """Data or bounds do not fit the declared public domain.

    ``private`` is what depends on records; it is dropped unless `showing_values` asks for it.
    """

    def __init__(self, message: str = "", *, private: str = "") -> None:
        super().__init__(f"{message} ({' '.join(private.split())})" if private and _SHOWN.get() else message)


class BudgetError(GibbsafeError, ValueError):
    """A release would cost more than its budget, or a ledger refuses the charge."""


class CertificateError(GibbsafeError, ValueError):
    """A release file is torn, foreign, altered, or claims what its own constants do not give."""


def guarded(function: Callable[[], Result], failure: str, *, trusted: tuple[type[Exception], ...] = (GibbsafeError,)) -> Result:
    """Return what the function returns; what it raises says nothing that depends on records, unless `showing_values`.

    Refusals of the ``trusted`` kinds keep their words. Anything else (PyArrow, NumPy and Python quote the value they stumble
    over) becomes a `DomainError`, or where nothing is trusted a `GibbsafeError`, with the words of ``failure`` and the kind of
    the error alone. No cause or context is left for a traceback or a log to print.
    """
    if _SHOWN.get():
        return function()
    try:
        return function()
    except trusted as error:
        refusal: Exception = error
    except MemoryError:
        raise
    except Exception as error:
        words = f"{failure} ({type(error).__name__}); the curator sees why with show_values=True"
        refusal = DomainError(words) if GibbsafeError in trusted else GibbsafeError(words)
    refusal.__cause__ = refusal.__context__ = None
    refusal.__suppress_context__ = True
    raise refusal
