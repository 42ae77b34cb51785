"""Studies as TOML text: the standard library reads it and does not write it."""

from __future__ import annotations

import json

from gibbsafe._types import Document

__all__ = ["toml_text"]


def toml_text(document: Document) -> str:
    """Return plain data as TOML.

    >>> print(toml_text({"n": 4, "budget": {"epsilon": 1.0}, "columns": {"a b": {"levels": ["x", "y"]}}}), end="")
    n = 4
    <BLANKLINE>
    [budget]
    epsilon = 1.0
    <BLANKLINE>
    [columns."a b"]
    levels = ["x", "y"]
    """
    return "\n".join(_table(document, ())).lstrip("\n") + "\n"


def _table(table: Document, path: tuple[str, ...]) -> list[str]:
    plain = [
        f"{_key(key)} = {_value(value)}" for key, value in table.items() if not isinstance(value, dict) and value is not None
    ]
    head = ["", f"[{'.'.join(map(_key, path))}]"] if path and (plain or not table) else []
    inner = [line for key, value in table.items() if isinstance(value, dict) for line in _table(value, (*path, key))]
    return [*head, *plain, *inner]


def _key(name: str) -> str:
    return name if name.isascii() and name.replace("_", "").replace("-", "").isalnum() else _text(name)


def _text(text: str) -> str:
    """Return a TOML string: JSON's escapes are TOML's."""
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")


def _value(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        return f"[{', '.join(map(_value, value))}]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{_key(key)} = {_value(each)}" for key, each in value.items()) + "}"
    return _text(value) if isinstance(value, str) else repr(value)
