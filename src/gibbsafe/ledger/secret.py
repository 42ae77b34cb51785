"""URLs that contain passwords: read from the environment or a file, and never shown."""

from __future__ import annotations

import os
import re
from pathlib import Path
from urllib.parse import unquote

from gibbsafe._text import URL_PASSWORDS, masked
from gibbsafe._validate import fail
from gibbsafe.errors import GibbsafeError

__all__ = ["resolve", "without_secrets"]


def without_secrets(message: str, url: str) -> str:
    """Return a driver's message without the passwords of a URL, or the pieces that a parser may have cut them into."""
    found = [match.group(2) for pattern in URL_PASSWORDS for match in pattern.finditer(url)]
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
