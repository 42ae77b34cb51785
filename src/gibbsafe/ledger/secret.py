"""URLs that contain passwords: read from the environment or a file, and never shown."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import unquote

from gibbsafe._validate import fail
from gibbsafe.errors import GibbsafeError

__all__ = ["has_password", "masked", "resolve", "without_secrets"]

_USERINFO = re.compile(r"(://[^:@/]*:)(.*)(@)", re.DOTALL)
_QUERY = re.compile(r"([?&][a-z_]*pass[a-z_]*=)([^&#]*)", re.IGNORECASE)


def masked(url: str) -> str:
    """Return a URL as it may be shown, whatever its scheme.

    >>> masked("postgresql://ana:s3cret@host/db"), masked("mysql://host/db?password=s3cret&x=1")
    ('postgresql://ana:***@host/db', 'mysql://host/db?password=***&x=1')
    """
    return _QUERY.sub(r"\1***", _USERINFO.sub(r"\1***\3", url))


def has_password(url: str) -> bool:
    """Whether a URL contains a password."""
    return masked(url) != url


def without_secrets(message: str, url: str) -> str:
    """Return a driver's message without the passwords of a URL, or the pieces that a parser may have cut them into."""
    found = [match.group(2) for pattern in (_USERINFO, _QUERY) for match in pattern.finditer(url)]
    pieces = {piece for secret in found for text in (secret, unquote(secret)) for piece in (text, *re.split("[@:/?#&]", text))}
    for piece in sorted(pieces, key=len, reverse=True):
        if len(piece) >= 3:
            message = message.replace(piece, "***")
    return masked(message)


def resolve(place: str) -> str:
    """Return what ``env:NAME`` (a variable) or ``file:PATH`` (a file's first line) stands for; others as they are."""
    kind, mark, name = place.partition(":")
    if not mark or kind not in ("env", "file") or place.startswith("file://"):
        return place
    if kind == "env":
        value = os.environ.get(name, "")
    else:
        try:
            value = Path(name).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise GibbsafeError(f"{place}: cannot be read ({getattr(error, 'strerror', None) or 'not a text file'})") from error
    first = value.strip().splitlines()[:1]
    if not first:
        fail(place, "", "the URL of a database", "set the variable, or write the URL into the file's first line")
    return first[0].strip()
