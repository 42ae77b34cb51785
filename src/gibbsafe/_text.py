"""Text from files on its way to a terminal or a spreadsheet: it is shown, never obeyed."""

from __future__ import annotations

import re
from typing import Any

__all__ = ["URL_PASSWORDS", "cell", "counted", "has_password", "masked", "printable"]

#: Control characters but line feed and tab, marks that turn the direction of writing, other line ends, lone surrogates.
_CONTROLS = re.compile("[\\x00-\\x08\\x0b-\\x1f\\x7f-\\x9f\\u061c\\u200e\\u200f\\u2028-\\u202e\\u2066-\\u2069\\ud800-\\udfff]")
_FORMULA = re.compile(r"\s*[=+\-@\t\r|]")
_USERINFO = re.compile(r"(://[^:@/]*:)(.*)(@)", re.DOTALL)
_QUERY = re.compile(r"([?&][a-z_]*pass[a-z_]*=)([^&#]*)", re.IGNORECASE)
#: Where a URL may hold a password: its second group.
URL_PASSWORDS = (_USERINFO, _QUERY)


def printable(text: str) -> str:
    r"""Return text with control characters spelled out, as they also stand in JSON.

    >>> printable("name\x1b[2Jgone")
    'name\\u001b[2Jgone'
    """
    return _CONTROLS.sub(lambda match: f"\\u{ord(match.group()):04x}", text)


def cell(value: object) -> Any:
    """Return a value for a CSV file: a text that a spreadsheet would run as a formula gets an apostrophe before it.

    >>> cell("=1+1"), cell(-1.5), cell("yes")
    ("'=1+1", -1.5, 'yes')
    """
    return f"'{value}" if isinstance(value, str) and _FORMULA.match(value) else value


def counted(number: int, thing: str) -> str:
    """Return how many there are of a thing, as people say it.

    >>> counted(1, "draw"), counted(20_000, "row")
    ('1 draw', '20,000 rows')
    """
    return f"{number:,} {thing}{'s' * (number != 1)}"


def masked(url: str) -> str:
    """Return a URL as it may be shown, whatever its scheme.

    >>> masked("postgresql://ana:s3cret@host/db"), masked("mysql://host/db?password=s3cret&x=1")
    ('postgresql://ana:***@host/db', 'mysql://host/db?password=***&x=1')
    """
    return _QUERY.sub(r"\1***", _USERINFO.sub(r"\1***\3", url))


def has_password(url: str) -> bool:
    """Whether a URL contains a password."""
    return masked(url) != url
