"""JSON in one form only when written, and read strictly: every file has one meaning, and reading it costs what its size says."""

from __future__ import annotations

import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

from gibbsafe._types import JSON
from gibbsafe.errors import CertificateError

__all__ = ["LARGEST_FILE", "agrees", "canonical_bytes", "parse_json", "read_json"]

#: Releases, plans and lists of keys above this size are refused unread. Python needs up to some 30 bytes per byte of JSON.
LARGEST_FILE = 100_000_000


def canonical_bytes(content: object) -> bytes:
    """Return JSON as it is hashed and signed: keys in order, no spaces, floats with every digit."""
    return json.dumps(content, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode()


def parse_json(text: bytes | str, what: str) -> Any:
    """Return the content of JSON; refuse in one line duplicate keys, NaN and infinities, deep nesting and endless integers.

    >>> parse_json('{"a": 1, "a": 2}', "plan")
    Traceback (most recent call last):
    gibbsafe.errors.CertificateError: plan: key 'a' stands twice
    """
    if len(text) > LARGEST_FILE:
        raise CertificateError(f"{what}: larger than {LARGEST_FILE:,} bytes, the most that is read")
    try:
        return json.loads(text, object_pairs_hook=_unique(what), parse_constant=_no_constant)
    except CertificateError:
        raise
    except RecursionError as error:
        raise CertificateError(f"{what}: nested too deeply") from error
    except ValueError as error:
        raise CertificateError(f"{what}: not JSON ({str(error)[:200]})") from error


def _unique(what: str) -> Any:
    def build(pairs: list[tuple[str, object]]) -> JSON:
        content = dict(pairs)
        if len(content) != len(pairs):
            twice = Counter(name for name, _ in pairs).most_common(1)[0][0]
            raise CertificateError(f"{what}: key {twice[:50]!r} stands twice")
        return content

    return build


def _no_constant(name: str) -> Any:
    raise ValueError(f"{name} is no number")


def read_json(path: Path | str, what: str) -> Any:
    """Read a JSON file of bounded size."""
    try:
        with Path(path).open("rb") as file:
            content = file.read(LARGEST_FILE + 1)
    except OSError as error:
        raise CertificateError(f"{path}: cannot be read ({error.strerror or error})") from error
    return parse_json(content, f"{path}: {what}")


def agrees(a: object, b: object) -> bool:
    """Whether two contents are the same, of the same types, floats to nine digits.

    >>> agrees({"n": [1, 0.1]}, {"n": [1, 0.1 + 1e-17]}), agrees(1, True)
    (True, False)
    """
    if isinstance(a, float) and isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-9)
    if isinstance(a, list | tuple) and isinstance(b, list | tuple):
        return len(a) == len(b) and all(agrees(x, y) for x, y in zip(a, b, strict=True))
    if isinstance(a, dict) and isinstance(b, dict):
        return a.keys() == b.keys() and all(agrees(a[key], b[key]) for key in a)
    return bool(a == b) and type(a) is type(b)
