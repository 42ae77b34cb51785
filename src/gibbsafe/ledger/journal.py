"""Entries as text, and the chain of their hashes.

Every entry's hash covers its own text and the hash before it, so the last hash (the *head*) stands for the whole journal. A chain
detects accident and truncation against a head written down elsewhere; it does not stop an owner who rewrites all of it.
"""

from __future__ import annotations

import hashlib
import json
from datetime import UTC, datetime

__all__ = ["START", "canonical", "digest", "link", "now"]

#: What stands before the first entry.
START = "0" * 64


def canonical(content: object) -> str:
    """Return JSON in one form only, as it is hashed."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False)


def digest(text: str) -> str:
    """Return the SHA-256 of a text."""
    return hashlib.sha256(text.encode()).hexdigest()


def link(previous: str, body: str) -> str:
    """Return the hash of an entry.

    >>> link(START, "{}") == digest(START + "{}")
    True
    """
    return digest(previous + body)


def now() -> str:
    """Return the day of an entry, in UTC. When a release ends depends on the data, and the next charge may follow at once."""
    return datetime.now(UTC).date().isoformat()
