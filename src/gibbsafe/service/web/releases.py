"""Releases: downloaded, read, and asked anything, for free."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from starlette.responses import Response

from gibbsafe._text import cell
from gibbsafe._types import JSON
from gibbsafe.report.page import POLICY
from gibbsafe.service.refusals import Refusal
from gibbsafe.service.studies import choices
from gibbsafe.service.views import ColumnChoice, Prediction, Request
from gibbsafe.service.web.bars import bars
from gibbsafe.service.web.pages import Here, Posted, Sent, Visit, pages
from gibbsafe.service.web.words import brief, declared_words

__all__ = ["read_rows", "routes"]

routes = pages()
LEVELS = (("0.8", "80 times in 100"), ("0.9", "90 times in 100"), ("0.95", "95 times in 100"), ("0.99", "99 times in 100"))
#: Parameters that a page has room for.
MOST_ROWS = 100


def _summary(here: Visit, request_id: str, level: str) -> JSON:
    """Return what the table of parameters shows; a refusal is shown in its place."""
    chosen = level if level in dict(LEVELS) else "0.9"
    shown: JSON = {"level": chosen, "LEVELS": LEVELS, "wrong": "", "rows": [], "note": "", "more": 0}
    shown |= dict.fromkeys(("has_ends", "has_positive", "has_share"), False)
    try:
        found = here.desk.summary(here.actor, request_id, float(chosen))
    except Refusal as refusal:
        if refusal.status in (403, 404, 409):
            raise
        return shown | {"wrong": str(refusal)}
    listed = [dict(row) for row in found.rows[:MOST_ROWS]]
    known = [row for row in listed if row["low"] is not None]
    for row, bar in zip(known, bars([(row["low"], row["mean"], row["high"]) for row in known]), strict=True):
        row["bar"] = bar
    rows = [
        {
            "name": row["parameter"], "mean": row["mean"], "lower": row["low"], "upper": row["high"], "bar": row.get("bar"),
            "positive": row.get("positive"), "decided_by_data": row.get("decided_by_data"),
        }
        for row in listed
    ]  # fmt: skip
    has = {"has_ends": bool(known), "has_positive": any(row["positive"] is not None for row in rows)}
    has["has_share"] = any(row["decided_by_data"] is not None for row in rows)
    return shown | has | {"rows": rows, "note": found.note, "more": len(found.rows) - len(rows)}


def _features(request: Request) -> tuple[ColumnChoice, ...]:
    """Return the columns that a release predicts from: none where it explains nothing."""
    target = (request.study.get("target") or {}).get("name")
    return () if target is None else tuple(each for each in choices(request.study).columns if each.name != target)


def _fields(request: Request) -> list[JSON]:
    found = []
    for column in _features(request):
        middle = "" if column.bounds is None else brief((column.bounds[0] + column.bounds[1]) / 2)
        options = [(str(level), str(level)) for level in column.levels or ()]
        about = {"levels": column.levels, "options": options, "middle": middle}
        found.append({"name": column.name, "words": declared_words(column), **about})
    return found


def _page(here: Visit, request_id: str, status: int = 200, level: str = "0.9", **values: Any) -> Response:
    request = here.desk.request(here.actor, request_id)
    shown = _summary(here, request_id, level)
    blank = {"prediction": None, "wrong_row": "", "synthetic_refusal": "", "file_refusal": ""}
    limits = {"largest_rows": here.desk.settings.largest_rows, "columns": _fields(request)}
    return here.show("release.html", status, request=request, **shown, **(blank | limits | values))


@routes.get("/releases/{request_id}")
def release(here: Here, request_id: str, level: str = "0.9") -> Response:
    """Show a release: what it says, and what it can be asked."""
    return _page(here, request_id, level=level)


@routes.get("/releases/{request_id}/summary")
def summary(here: Here, request_id: str, level: str = "0.9") -> Response:
    """Show the parameters with intervals of another level."""
    request = here.desk.request(here.actor, request_id)
    return here.show("summary.html", request=request, **_summary(here, request_id, level))


def _file(content: str, name: str, kind: str) -> Response:
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return Response(content, media_type=kind, headers=headers)


@routes.get("/releases/{request_id}/release.json")
def download(here: Here, request_id: str) -> Response:
    """Return the signed file."""
    return _file(here.desk.release_file(here.actor, request_id), "release.json", "application/json")


@routes.get("/releases/{request_id}/report")
def report(here: Here, request_id: str) -> Response:
    """Return the report: a page that loads nothing and runs nothing, under the policy that it states itself."""
    content = here.desk.report(here.actor, request_id)
    headers = {"Content-Security-Policy": f"{POLICY}; frame-ancestors 'none'; sandbox", "Cache-Control": "no-store"}
    return Response(content, media_type="text/html", headers=headers)


@routes.get("/public-key")
def public_key(here: Here) -> Response:
    """Return the key that verifies this desk's signatures."""
    return _file(here.desk.public_key(), "desk.pub", "application/x-pem-file")


# -- questions ------------------------------------------------------------------------------------------------------------


def _row(values: Mapping[str, str], columns: Iterable[ColumnChoice], where: str = "") -> JSON:
    """Return one row as the model reads it: numbers as numbers, levels as they are declared."""
    found: JSON = {}
    for column in columns:
        text = (values.get(column.name) or "").strip()
        if column.levels is not None:
            known = {str(level): level for level in column.levels}
            if text not in known and "other" not in column.declared:
                raise Refusal(422, f"{column.name}{where}: must be one of {declared_words(column)}")
            found[column.name] = known.get(text, text)
            continue
        try:
            found[column.name] = float(text)
        except ValueError:
            raise Refusal(422, f"{column.name}{where}: must be a number ({declared_words(column)})") from None
    return found


def read_rows(text: str, columns: Sequence[ColumnChoice], most: int) -> list[JSON]:
    """Return the rows of a CSV file that somebody brought: their own, so that refusals may name the line.

    >>> read_rows("age\\n61\\n80\\n", [ColumnChoice("age", "number", (0, 100), None, {})], 10)
    [{'age': 61.0}, {'age': 80.0}]
    """
    try:
        reader = csv.DictReader(io.StringIO(text), strict=True)
        names = reader.fieldnames or ()
        for column in columns:
            if column.name not in names:
                raise Refusal(
                    422, f"file: has no column {column.name}; its first line must name {', '.join(c.name for c in columns)}"
                )
        rows: list[JSON] = []
        for line, values in enumerate(reader, 2):
            if len(rows) == most:
                raise Refusal(422, f"file: has more than {most:,} rows; split it")
            rows.append(_row(values, columns, f" in line {line}"))
    except csv.Error:
        raise Refusal(422, "file: is no CSV with a first line of names; save it as such") from None
    return rows


def _csv(names: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([cell(name) for name in names])
    writer.writerows([cell(value) for value in row] for row in rows)
    return text.getvalue()


def _told(found: Prediction) -> list[tuple[str, str]]:
    return [
        (name, brief(value) if isinstance(value, float) else str(value))
        for name, value in zip(found.names, found.rows[0], strict=True)
    ]


@routes.post("/releases/{request_id}/predict")
def predict(sent: Sent, request_id: str) -> Response:
    """Predict one row."""
    request = sent.desk.request(sent.actor, request_id)
    columns = _features(request)
    shown: JSON = {"prediction": None, "wrong_row": ""}
    try:
        row = _row({each.name: sent.text(f"x{k}") for k, each in enumerate(columns)}, columns)
        shown["prediction"] = _told(sent.desk.predict(sent.actor, request_id, [row]))
    except Refusal as refusal:
        if refusal.status in (403, 404, 409):
            raise
        shown["wrong_row"] = str(refusal)
    return sent.show("prediction.html", **shown) if sent.quick else _page(sent, request_id, **shown)


@routes.post("/releases/{request_id}/predict-file")
def predict_file(sent: Sent, request_id: str) -> Response:
    """Predict the rows of a file."""
    request = sent.desk.request(sent.actor, request_id)
    try:
        text = sent.file("rows_file")
        if text is None:
            raise Refusal(422, "file: is missing; choose one")
        rows = read_rows(text, _features(request), sent.desk.settings.largest_rows)
        found = sent.desk.predict(sent.actor, request_id, rows)
    except Refusal as refusal:
        return _again(sent, request_id, refusal, "file_refusal")
    return _file(_csv(found.names, found.rows), "predictions.csv", "text/csv")


@routes.post("/releases/{request_id}/synthetic")
def synthetic(sent: Sent, request_id: str) -> Response:
    """Return made-up rows."""
    try:
        found = sent.desk.synthetic(sent.actor, request_id, int(sent.number("rows", "How many")))
    except Refusal as refusal:
        return _again(sent, request_id, refusal, "synthetic_refusal")
    return _file(_csv(found.names, found.rows), "synthetic.csv", "text/csv")


def _again(sent: Posted, request_id: str, refusal: Refusal, place: str) -> Response:
    """Show the page again with a refusal in its place."""
    if refusal.status in (403, 404, 409):
        raise refusal
    return _page(sent, request_id, refusal.status, **{place: str(refusal)})
