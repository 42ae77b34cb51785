"""Released bounds and levels, written into a study file: lines are put in, nothing else of the file changes."""

from __future__ import annotations

import json
import re
import tomllib
from collections.abc import Sequence
from pathlib import Path

from gibbsafe._files import write_whole
from gibbsafe._types import JSON, Document
from gibbsafe.errors import GibbsafeError, ParameterError
from gibbsafe.study.columns import COLUMN_KEYS
from gibbsafe.study.declaration import read_toml

__all__ = ["place_of", "require_room", "with_declaration", "write_declaration"]

#: What a column must not say yet.
DECLARED = ("bounds", "levels", "levels_file", "charge")


def _toml(value: object) -> str:
    """Return a value as TOML: JSON's texts, numbers, truth values and lists are TOML's."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False).replace("\x7f", "\\u007f")


def place_of(study: Document, column: str) -> tuple[list[str], Document]:
    """Return which table of the study declares a column of the data, and what it says already."""
    target = study.get("target")
    if isinstance(target, dict) and target.get("column", target.get("name")) == column:
        return ["target"], target
    columns = study.get("columns", {})
    tables = {name: table for name, table in columns.items() if isinstance(table, dict)} if isinstance(columns, dict) else {}
    reading = [name for name, table in tables.items() if table.get("column", name) == column]
    if len(reading) > 1:
        raise ParameterError(
            f"columns {', '.join(reading)}: all read {column!r}; declare it once, and let a formula transform it"
        )
    if not reading and column in tables:
        raise ParameterError(f"column {column!r}: reads {tables[column]['column']!r} of the table; rename it in the study first")
    name = reading[0] if reading else column
    return ["columns", name], tables.get(name, {})


def require_room(path: Path, column: str, *, levels: bool = False) -> None:
    """Refuse, before anything is spent, a study in which the column has bounds or levels already, or could not be written."""
    document = read_toml(path)
    where, table = place_of(document, column)
    if where == ["target"] and (levels or "labels" in table or "column" in table):
        raise ParameterError(
            f"{path}: {column!r} is the target, of which only bounds of a number can be released under its own name"
        )
    for key in DECLARED:
        if key in table:
            raise ParameterError(f"{path}: column {column!r} has {key} already; take the line out first")
    _changed(path, document, column, {"levels": ["x"]} if levels else {"bounds": [0.0, 1.0]})


def with_declaration(text: str, where: Sequence[str], declaration: JSON) -> str:
    """Return the study's text with keys put in, behind the header of their table or in a table of its own at the end.

    >>> print(with_declaration("[columns.age]\\n# bounds = [low, high]\\n", ["columns", "age"], {"bounds": [0.0, 90.0]}), end="")
    [columns.age]
    bounds = [0.0, 90.0]
    # bounds = [low, high]
    """
    lines = [f"{key} = {_toml(value)}" for key, value in declaration.items()]
    written = (f"({'|'.join(map(re.escape, (name, _toml(name), chr(39) + name + chr(39))))})" for name in where)
    header = re.compile(r"^\s*\[\s*" + r"\s*\.\s*".join(written) + r"\s*\]\s*(#.*)?$")
    found = text.removesuffix("\n").split("\n")
    for place, line in enumerate(found):
        if header.match(line):
            return "\n".join([*found[: place + 1], *lines, *found[place + 1 :]]) + "\n"
    own = ".".join([where[0], *map(_toml, where[1:])])
    return "\n".join([*found, "", f"[{own}]", *lines]) + "\n"


def _changed(path: Path, before: Document, column: str, declaration: JSON) -> str:
    """Return the new text: it says what the old one did, and the declaration; or refuse."""
    where, table = place_of(before, column)
    with path.open(encoding="utf-8-sig", newline="") as file:
        text = with_declaration(file.read().replace("\r\n", "\n"), where, declaration)
    changed = {**table, **declaration}
    expected = {**before, **({"target": changed} if len(where) == 1 else {})}
    if len(where) > 1:
        expected["columns"] = {**before.get("columns", {}), where[1]: changed}
    try:
        same = tomllib.loads(text) == expected and set(declaration) <= set(COLUMN_KEYS)
    except tomllib.TOMLDecodeError:
        same = False
    if not same:
        lines = "; ".join(f"{key} = {_toml(value)}" for key, value in declaration.items())
        raise GibbsafeError(
            f"{path}: cannot be changed safely; give [{'.'.join(where)}] a header, or write these lines under it: {lines}"
        )
    return text


def write_declaration(path: Path, column: str, declaration: JSON) -> str:
    """Write released bounds or levels into a study; return under which header."""
    before = read_toml(path)
    write_whole(path, _changed(path, before, column, declaration).encode(), force=True)
    return ".".join(place_of(before, column)[0])
