"""Released bounds and levels, written into a study file: lines are put in, nothing else of the file changes."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

from gibbsafe._files import write_whole
from gibbsafe._types import JSON, Document
from gibbsafe.errors import GibbsafeError, ParameterError
from gibbsafe.study.columns import COLUMN_KEYS
from gibbsafe.study.declaration import read_toml

__all__ = ["require_room", "with_declaration", "write_declaration"]

#: What a column must not say yet.
DECLARED = ("bounds", "levels", "levels_file", "charge")


def _toml(value: object) -> str:
    """Return a value as TOML: JSON's texts, numbers, truth values and lists are TOML's."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False).replace("\x7f", "\\u007f")


def _tables(study: Document, column: str) -> tuple[list[str], Document]:
    """Return which table of the study declares a column, and what it says already."""
    target = study.get("target")
    if isinstance(target, dict) and target.get("name") == column:
        return ["target"], target
    columns = study.get("columns", {})
    return ["columns", column], columns.get(column, {}) if isinstance(columns, dict) else {}


def require_room(path: Path, column: str) -> None:
    """Refuse, before anything is spent, a study in which the column is the target or has bounds or levels already."""
    where, table = _tables(read_toml(path), column)
    if where == ["target"]:
        raise ParameterError(f"{path}: {column!r} is the target, whose bounds a plan cannot name as released")
    for key in DECLARED:
        if key in table:
            raise ParameterError(f"{path}: column {column!r} has {key} already; take the line out first")


def with_declaration(text: str, column: str, declaration: JSON) -> str:
    """Return the study's text with the keys of a column put in, behind its header or in a table of its own at the end.

    >>> print(with_declaration("[columns.age]\\n# bounds = [low, high]\\n", "age", {"bounds": [0.0, 90.0]}), end="")
    [columns.age]
    bounds = [0.0, 90.0]
    # bounds = [low, high]
    """
    lines = [f"{key} = {_toml(value)}" for key, value in declaration.items()]
    names = {column, _toml(column), f"'{column}'"}
    header = re.compile(rf"^\s*\[\s*columns\s*\.\s*({'|'.join(map(re.escape, sorted(names)))})\s*\]\s*(#.*)?$")
    found = text.splitlines()
    for place, line in enumerate(found):
        if header.match(line):
            return "\n".join([*found[: place + 1], *lines, *found[place + 1 :]]) + "\n"
    return "\n".join([*found, "", f"[columns.{_toml(column)}]", *lines]) + "\n"


def write_declaration(path: Path, column: str, declaration: JSON) -> None:
    """Write released bounds or levels into a study; the new file says what the old one did, and that, or is not written."""
    before = read_toml(path)
    text = with_declaration(path.read_text(encoding="utf-8-sig"), column, declaration)
    _, table = _tables(before, column)
    expected = {**before, "columns": {**before.get("columns", {}), column: {**table, **declaration}}}
    try:
        same = tomllib.loads(text) == expected and set(declaration) <= set(COLUMN_KEYS)
    except tomllib.TOMLDecodeError:
        same = False
    if not same:
        lines = "; ".join(f"{key} = {_toml(value)}" for key, value in declaration.items())
        raise GibbsafeError(
            f"{path}: could not be changed safely; put these lines under [columns.{_toml(column)}] by hand: {lines}"
        )
    write_whole(path, text.encode(), force=True)
