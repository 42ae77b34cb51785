"""Columns of a study file: features and target, levels from a list or a file, and what is refused by name."""

from __future__ import annotations

from pathlib import Path

from gibbsafe._types import Document
from gibbsafe._validate import choice, fail
from gibbsafe.domains.column import Column
from gibbsafe.errors import GibbsafeError, ParameterError

__all__ = ["COLUMN_KEYS", "read_columns", "read_table", "read_target", "refuse_weights", "require_known"]

COLUMN_KEYS = (
    *(
        "type",
        "bounds",
        "levels",
        "levels_file",
        "transform",
        "edges",
        "knots",
        "nodes",
        "degree",
        "origin",
        "other",
        "missing",
        "scale",
    ),
    *("column", "charge"),
)
TARGET_KEYS = ("name", "labels", *COLUMN_KEYS)
#: Longest file of levels that is read.
LARGEST_LEVELS = 10_000_000


def require_known(where: str, table: Document, allowed: tuple[str, ...]) -> None:
    """Refuse keys that are not known, with the nearest that are."""
    for key in table:
        choice(f"{where}, key", key, allowed)


def read_table(data: Document, name: str, allowed: tuple[str, ...] | None, *, needed: bool = False) -> Document:
    """Return a table of the study with known keys only; an absent one is empty, or refused if it is needed."""
    table = data.get(name, {})
    if not isinstance(table, dict):
        fail(name, table, f"a table: [{name}]")
    if needed and not table:
        raise ParameterError(f"{name}: missing; write a table [{name}]")
    if allowed is not None:
        require_known(name, table, allowed)
    return table


def refuse_weights(data: Document) -> None:
    """Refuse weights of rows under whatever name: one row with a large weight would cost more than a row."""
    model = data.get("model")
    for where, table in (("", data), ("model.", model if isinstance(model, dict) else {})):
        for key in ("weights", "weight", "sample_weight", "case_weights"):
            if key in table:
                raise ParameterError(
                    f"{where}{key}: rows have no weights, since a row of weight w would reveal w times as much; repeat rows and "
                    "cap them by [persons] rows_per_person, or make one study per stratum"
                )


def _levels_of(name: str, place: object, folder: Path) -> list[str]:
    """Return the levels that a text file lists, one per line; it is found relative to the study."""
    if not isinstance(place, str) or not place:
        fail(f"column {name!r}, levels_file", place, "the path of a text file with one level per line")
    path = folder / place
    try:
        with path.open("rb") as file:
            content = file.read(LARGEST_LEVELS + 1)
        text = content.decode("utf-8-sig")
    except OSError as error:
        raise GibbsafeError(f"column {name!r}, levels_file: {path} cannot be read ({error.strerror or error})") from error
    except UnicodeDecodeError:
        raise ParameterError(f"column {name!r}, levels_file: {path} is not UTF-8 text") from None
    if len(content) > LARGEST_LEVELS:
        raise ParameterError(f"column {name!r}, levels_file: {path} is larger than {LARGEST_LEVELS:,} bytes")
    return [line for line in text.splitlines() if line.strip()]


def _column(name: str, table: object, allowed: tuple[str, ...], scale: object, folder: Path) -> Column:
    """Return one declared column; its type follows from what is declared unless it is stated."""
    if not isinstance(table, dict):
        fail(f"column {name!r}", table, f"a table: [columns.{name}]")
    require_known(f"column {name!r}", table, allowed)
    stated = {key: value for key, value in table.items() if key not in ("name", "type", "labels", "levels_file")}
    for key in ("labels", "levels_file"):
        if key in table:
            if "levels" in stated:
                fail(f"column {name!r}, {key}", table[key], "left out beside levels")
            stated["levels"] = table[key] if key == "labels" else _levels_of(name, table[key], folder)
    natural = "label" if "labels" in table else "category" if "levels" in stated else "number"
    kind = table.get("type", natural)
    return Column(name, **{"kind": kind, **({"scale": scale} if kind == "number" else {}), **stated})


def read_columns(tables: object, scale: object, folder: Path | None = None) -> tuple[Column, ...]:
    """Return the columns under ``[columns]``."""
    if not isinstance(tables, dict):
        fail("columns", tables, "tables: [columns.NAME]")
    return tuple(_column(name, table, COLUMN_KEYS, scale, folder or Path()) for name, table in tables.items())


def read_target(data: Document, folder: Path | None = None) -> Column | None:
    """Return the column under ``[target]``, if there is one."""
    table = read_table(data, "target", TARGET_KEYS)
    if not table:
        return None
    name = table.get("name")
    if not isinstance(name, str) or not name:
        fail("target.name", name, "the name of the response column")
    if name in data.get("columns", {}):
        fail("target.name", name, "a column that is not among the features under [columns]")
    return _column(name, table, TARGET_KEYS, "centred", folder or Path())
