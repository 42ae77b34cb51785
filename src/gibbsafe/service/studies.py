"""Studies that somebody else wrote: read as plain data, held to what the data's owner declared, planned within limits."""

from __future__ import annotations

import json
import math
import tomllib
from collections.abc import Mapping
from typing import Any

from gibbsafe._types import JSON, Document
from gibbsafe.errors import GibbsafeError
from gibbsafe.ledger.journal import canonical
from gibbsafe.planning import Plan
from gibbsafe.service.refusals import Refusal
from gibbsafe.service.settings import Settings
from gibbsafe.service.views import Choice, Choices, ColumnChoice
from gibbsafe.study import Study
from gibbsafe.study.declaration import is_estimated

__all__ = ["MODELS_OFFERED", "choices", "declared", "held_to", "parse_study", "planned", "wizard_study"]

#: What a data set alone says: requests take it over, and may repeat it but not change it.
OF_DATA = ("n", "adjacency", "persons", "csv")
#: What neither owners nor analysts may write: places of files and accounts are the service's.
REFUSED = ("ledger", "contamination")
LARGEST_STUDY, MOST_PARAMETERS, MOST_DRAWS = 200_000, 400, 10_000
#: What a wizard offers, by the kinds of target: "" for none, "two" and "several" for labels, "number".
MODELS_OFFERED: Mapping[str, tuple[str, ...]] = {
    "LogisticRegression": ("two",),
    "MultinomialRegression": ("several",),
    "OrdinalRegression": ("several",),
    "LinearRegression": ("number",),
    "PseudoHuberRegression": ("number",),
    "SoftQuantileRegression": ("number",),
    "CountRegression": ("number",),
    "GaussianMean": ("",),
}


def parse_study(text: str) -> JSON:
    """Return a study file's content; the file itself is TOML.

    >>> parse_study('title = "a"')
    {'title': 'a'}
    """
    if len(text) > LARGEST_STUDY:
        raise Refusal(413, f"study: larger than {LARGEST_STUDY:,} characters, the most that is read")
    try:
        return tomllib.loads(text.removeprefix("\ufeff"))
    except (ValueError, RecursionError) as error:
        raise Refusal(422, f"study: not a TOML file ({' '.join(str(error).split())[:200]})") from None


def _plain(study: object) -> JSON:
    """Return a study as JSON would; dates become texts, which a study's reader takes as well."""
    if not isinstance(study, dict):
        raise Refusal(422, "study: must be a table of keys and values")
    try:
        text = json.dumps(study, default=str, allow_nan=False)
        canonical(study if text is None else json.loads(text)).encode()
    except (TypeError, ValueError, RecursionError):
        raise Refusal(422, "study: holds what is no text, finite number, truth value, list or table") from None
    if len(text) > LARGEST_STUDY:
        raise Refusal(413, f"study: larger than {LARGEST_STUDY:,} characters, the most that is read")
    plain: JSON = json.loads(text)
    return plain


def declared(document: object) -> JSON:
    """Return the public study of a data set, having read it: no file, no account and no estimate may be named in it."""
    study = _plain(document)
    for key in REFUSED:
        if key in study:
            raise Refusal(422, f"{key}: must be left out; the desk keeps accounts, and proved claims only")
    for name, table in _tables(study):
        if isinstance(table, dict) and "levels_file" in table:
            raise Refusal(422, f"column {name!r}, levels_file: the desk reads no file for a study; write levels = [...]")
    if not isinstance(study.get("title", ""), str):
        raise Refusal(422, "title: must be a text")
    if is_estimated(study):
        raise Refusal(422, "budget: an estimated one proves nothing; write epsilon and delta alone")
    _read(study)
    return study


def _tables(study: Document) -> list[tuple[str, Any]]:
    """Return every declared column with its table: features, then the target."""
    columns, target = study.get("columns", {}), study.get("target")
    listed = list(columns.items()) if isinstance(columns, dict) else []
    return [*listed, *([(str(target.get("name")), target)] if isinstance(target, dict) else [])]


def _read(study: JSON) -> Study:
    try:
        return Study.from_dict(study)
    except GibbsafeError as error:
        raise Refusal(422, f"study: {_line(error)}") from None
    except (TypeError, ValueError, AttributeError, LookupError, ArithmeticError, RecursionError):
        raise Refusal(422, "study: a key holds what it cannot; compare it with docs/study.md") from None


def _line(error: Exception) -> str:
    return " ".join(str(error).split())[:500]


# -- held to what was declared ------------------------------------------------------------------------------------------


def held_to(document: object, dataset: Document) -> JSON:
    """Return a request's study with what the data set alone says put in; refuse what lies outside of what is declared there."""
    study = declared({**{key: dataset[key] for key in OF_DATA if key in dataset}, **_plain(document)})
    for key in OF_DATA:
        if study.get(key) != dataset.get(key):
            raise Refusal(422, f"{key}: is the data set's, and not what this study says; leave it out")
    known = {table.get("column", name): table for name, table in _tables(dataset)}
    for name, table in _tables(study):
        column = table.get("column", name)
        if not isinstance(column, str) or column not in known:
            raise Refusal(
                422, f"column {str(column)[:100]!r}: the data set declares none of this name ({', '.join(known)[:300]})"
            )
        _require_within(name, table, known[column])
    ordered: JSON = json.loads(canonical(study))  # as it is stored: whoever plans it again finds columns in the same order
    return ordered


def _levels(table: Document) -> list[Any] | None:
    found = table.get("levels", table.get("labels"))
    return found if isinstance(found, list) else None


def _require_within(name: str, table: Document, known: Document) -> None:
    """Refuse a column that reaches outside of what is declared: bounds within bounds, levels among levels."""
    bounds, levels = known.get("bounds"), _levels(known)
    asked, among = table.get("bounds"), _levels(table)
    if table.get("charge") != known.get("charge") or table.get("origin") != known.get("origin"):
        raise Refusal(422, f"column {name!r}: charge and origin are the data set's; write them as it does")
    if levels is not None and not (among is not None and all(each in levels for each in among)):
        raise Refusal(422, f"column {name!r}, levels: must be among the declared ones")
    if bounds is not None:
        try:
            inside = all(bounds[0] <= each <= bounds[1] for each in (among if asked is None else asked) or [None])
        except TypeError:
            inside = False
        if not inside:
            raise Refusal(422, f"column {name!r}, bounds: must lie within the declared ones, {bounds[0]} to {bounds[1]}")


def planned(study: JSON, settings: Settings) -> Plan:
    """Return the plan of a checked study: within what one request may cost in work, and refused in one line otherwise."""
    read = _read(study)
    try:
        if read.draws > MOST_DRAWS:
            raise Refusal(422, f"draws: at most {MOST_DRAWS:,} in one request")
        if read.model().parameters > MOST_PARAMETERS:
            raise Refusal(422, f"columns: make more than {MOST_PARAMETERS} parameters, the most of one request")
        plan = read.plan()
    except Refusal:
        raise
    except GibbsafeError as error:
        raise Refusal(422, f"study: {_line(error)}") from None
    except (TypeError, ValueError, AttributeError, LookupError, ArithmeticError, RecursionError, MemoryError):
        raise Refusal(422, "study: a number in it is not one that a plan can be made of") from None
    if seconds_of(plan, settings) > settings.longest_work:
        raise Refusal(422, f"work: the plan states more than {settings.longest_work:g} seconds; ask for fewer draws or columns")
    return plan


def seconds_of(plan: Plan, settings: Settings) -> float:
    """Return the plan's stated work in seconds; where nobody may know n, a time that is the same for all."""
    stated = plan.work.seconds
    return settings.unstated_work if stated is None or not math.isfinite(stated) else stated


# -- the wizard ---------------------------------------------------------------------------------------------------------


def _kind(table: Document) -> str:
    return "label" if "labels" in table else "category" if _levels(table) is not None else "number"


def choices(dataset: Document) -> Choices:
    """Return what a wizard offers of a data set."""
    listed = []
    for name, table in _tables(dataset):
        levels, bounds = _levels(table), table.get("bounds")
        ends = None if bounds is None else (bounds[0], bounds[1])
        listed.append(ColumnChoice(name, _kind(table), ends, None if levels is None else tuple(levels), dict(table)))
    return Choices(tuple(listed), dict(MODELS_OFFERED), ("posterior", "estimate"))


def wizard_study(choice: Choice, dataset: Document) -> JSON:
    """Return the study that a wizard's choice stands for: declared columns as they are declared."""
    known = dict(_tables(dataset))
    for name in (*choice.columns, *(() if choice.target is None else (choice.target,))):
        if name not in known:
            raise Refusal(422, f"column {name[:100]!r}: the data set declares none of this name")
    study: JSON = {"draws": choice.draws, "purpose": choice.purpose}
    study |= {"budget": {"epsilon": choice.epsilon, "delta": choice.delta}}
    study["model"] = {**choice.options, "name": choice.model}
    study["columns"] = {name: _as_feature(known[name]) for name in choice.columns if name != choice.target}
    if choice.target is not None:
        table = known[choice.target]
        levels = _levels(table)
        kept = {key: value for key, value in table.items() if key not in ("levels", "labels", "name", "type")}
        study["target"] = {"name": choice.target, **kept, **({} if levels is None else {"labels": levels})}
    return study


def _as_feature(table: Document) -> JSON:
    """Return a column's table as features are written: labels are levels there."""
    kept = {key: value for key, value in table.items() if key not in ("name", "labels")}
    return kept | ({"levels": table["labels"]} if "labels" in table else {})
