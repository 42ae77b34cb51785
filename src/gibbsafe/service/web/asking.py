"""The analyst's way in: a question in plain words, columns, a budget; what that buys stands beside it before anybody asks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from starlette.responses import Response

from gibbsafe._types import JSON
from gibbsafe.service.authority import reach
from gibbsafe.service.refusals import Refusal
from gibbsafe.service.views import Choice, Choices, ColumnChoice, Dataset, Preview
from gibbsafe.service.web.bars import bars
from gibbsafe.service.web.pages import Here, Posted, Sent, Visit, moved, pages
from gibbsafe.service.web.toml import toml_text
from gibbsafe.service.web.words import QUESTIONS, brief, declared_words

__all__ = ["routes"]

routes = pages()
#: Coefficients that a preview has room for.
MOST_SPANS = 12
#: Options that a wizard states for a model.
OPTIONS: Mapping[str, JSON] = {"SoftQuantileRegression": {"quantile": 0.5}}


@dataclass(frozen=True)
class Question:
    """A question of the wizard, and which columns may be explained and explain."""

    model: str
    words: str
    means: str
    targets: tuple[ColumnChoice, ...]
    features: tuple[ColumnChoice, ...]
    explains: bool


def _kinds(column: ColumnChoice) -> str:
    return "number" if column.levels is None else "two" if len(column.levels) == 2 else "several"


def questions_of(offered: Choices) -> tuple[Question, ...]:
    """Return the questions that some declared column fits, in the order in which pages list them."""
    takes = dict(offered.models)
    known = [name for name in QUESTIONS if name in takes]
    found = []
    for model in [*known, *(name for name in takes if name not in QUESTIONS)]:
        explains = takes[model] != ("",)
        targets = tuple(column for column in offered.columns if _kinds(column) in takes[model])
        bounded = tuple(column for column in offered.columns if column.levels is not None or column.bounds is not None)
        features = bounded if explains else tuple(column for column in bounded if column.levels is None)
        if model == "LinearRegression":
            targets = tuple(column for column in targets if column.bounds is not None)
        if features and (targets or not explains):
            found.append(Question(model, *QUESTIONS.get(model, (model, "")), targets, features, explains))
    return tuple(found)


def _first(dataset: Dataset, questions: tuple[Question, ...], model: str = "") -> JSON:
    """Return the form as it is shown first: the declared target explained by all the others, at a middling price."""
    chosen = _chosen(questions, model) if model else None
    declared = (dataset.study.get("target") or {}).get("name")
    if chosen is None:
        fitting = [each for each in questions if any(column.name == declared for column in each.targets)]
        chosen = next(iter([*fitting, *questions]), None)
    target = ""
    if chosen is not None and chosen.explains:
        names = [column.name for column in chosen.targets]
        target = declared if declared in names else names[0]
    features = () if chosen is None else tuple(column.name for column in chosen.features if column.name != target)
    return {
        "model": "" if chosen is None else chosen.model,
        "target": target,
        "columns": features,
        "epsilon": brief(min(dataset.policy.request_epsilon, dataset.epsilon / 4), 3),
        "delta": brief(dataset.delta / 10),
        "release": "estimate",
        "purpose": "",
        "study": "",
    }


def _chosen(questions: tuple[Question, ...], model: str) -> Question | None:
    return next((each for each in questions if each.model == model), None)


def _form(sent: Posted, first: JSON, *, by_study: bool) -> JSON:
    found: JSON = {
        name: sent.text(name) for name in ("key", "model", "target", "epsilon", "delta", "release", "purpose", "study")
    }
    found["columns"] = sent.texts("columns")
    return first | (found if not by_study else {name: found[name] for name in ("key", "purpose", "study")})


def _columns(questions: tuple[Question, ...], form: JSON) -> JSON:
    """Return what the fieldset of columns shows for the chosen question."""
    chosen = _chosen(questions, form["model"])
    if chosen is None:
        return {"targets": (), "features": ()}
    features = [{"name": each.name, "words": declared_words(each)} for each in chosen.features]
    return {"targets": [(each.name, each.name) for each in chosen.targets] if chosen.explains else (), "features": features}


def _choice(sent: Posted, questions: tuple[Question, ...]) -> Choice:
    chosen = _chosen(questions, sent.text("model"))
    if chosen is None:
        raise Refusal(422, "question: choose one of the list")
    target = sent.text("target") if chosen.explains else None
    columns = tuple(name for name in sent.texts("columns") if name != target)
    if not columns:
        raise Refusal(422, "columns: choose at least one" + (" to explain it by" if chosen.explains else ""))
    release = sent.text("release")
    point = release == "estimate" and chosen.explains
    return Choice(
        model=chosen.model,
        columns=columns,
        target=target,
        epsilon=sent.number("epsilon", "ε"),
        delta=sent.number("delta", "δ"),
        purpose="estimate" if point else "posterior",
        draws=int(release) if release.isdecimal() and len(release) < 6 else 1,
        options=dict(OPTIONS.get(chosen.model, {})),
    )


def shown_preview(preview: Preview | None) -> JSON:
    """Return the pictures of a preview: expected loss beside knowing everything and nothing, and the widths of intervals."""
    if preview is None or preview.rehearsal is None:
        return {"losses": (), "spans": ()}
    loss, trial = preview.rehearsal["loss"], preview.rehearsal["releases"][0]
    values = [("this release", trial["loss"]["mean"]), ("without privacy, at best", loss["of_truth"])]
    values.append(("knowing nothing", loss["of_nothing"]))
    most = max(value for _, value in values) or 1.0
    known = [(name, each) for name, each in trial["parameters"].items() if each["interval"] is not None][:MOST_SPANS]
    drawn = bars([(each["interval"][0], sum(each["interval"]) / 2, each["interval"][1]) for _, each in known])
    spans = [
        (name, brief(each["interval"][1] - each["interval"][0], 3), bar) for (name, each), bar in zip(known, drawn, strict=True)
    ]
    return {"losses": [(name, brief(value), value / most) for name, value in values], "spans": spans}


@dataclass(frozen=True)
class _Asking:
    """What every page of the wizard needs."""

    here: Visit
    dataset: Dataset
    questions: tuple[Question, ...]
    by_study: bool

    @classmethod
    def of(cls, here: Visit, dataset_id: str, *, by_study: bool) -> _Asking:
        reach(here.actor, "submit request")
        dataset = here.desk.dataset(here.actor, dataset_id)
        return cls(here, dataset, questions_of(here.desk.choices(here.actor, dataset_id)), by_study)

    def page(self, form: JSON, status: int = 200, **values: Any) -> Response:
        preview = values.get("preview")
        shown = {"preview": None, "wrong": "", "refusal": ""} | values
        return self.here.show(
            "ask.html",
            status,
            dataset=self.dataset,
            by_study=self.by_study,
            questions=self.questions,
            form=form,
            **_columns(self.questions, form),
            **shown,
            **shown_preview(preview),
        )

    def stated(self, sent: Posted, form: JSON) -> JSON:
        """Return the study as the desk takes it: the text of a file, or a choice."""
        if not self.by_study:
            return {"choice": _choice(sent, self.questions)}
        if not form["study"]:
            raise Refusal(422, "study: is missing; choose a file or write its text")
        return {"text": form["study"]}

    def preview(self, sent: Posted, form: JSON) -> Preview:
        return sent.desk.preview(sent.actor, self.dataset.id, **self.stated(sent, form))

    def refused(self, sent: Posted, form: JSON, refusal: Refusal) -> Response:
        """Show the form again: what is wrong with the study beside it, what is wrong with the request above it."""
        try:
            found = self.preview(sent, form)
        except Refusal as wrong:
            return self.page(form, wrong.status, wrong=str(wrong))
        return self.page(form, refusal.status, preview=found, refusal=_in_words(refusal))


@routes.get("/datasets/{dataset_id}/ask")
def ask(here: Here, dataset_id: str, by: str = "") -> Response:
    """Show the wizard, or the place for a study file."""
    asking = _Asking.of(here, dataset_id, by_study=by == "study")
    form = _first(asking.dataset, asking.questions) | {"key": here.desk.settings.new_id()}
    return asking.page(form)


@routes.post("/datasets/{dataset_id}/ask/columns")
def columns(sent: Sent, dataset_id: str) -> Response:
    """Show the columns that fit another question."""
    asking = _Asking.of(sent, dataset_id, by_study=False)
    form = _first(asking.dataset, asking.questions, sent.text("model"))
    response = sent.show("ask_columns.html", form=form, **_columns(asking.questions, form))
    response.headers["HX-Trigger-After-Settle"] = "columns"
    return response


@routes.post("/datasets/{dataset_id}/ask/preview")
def preview(sent: Sent, dataset_id: str) -> Response:
    """Show what a choice would buy."""
    asking = _Asking.of(sent, dataset_id, by_study=False)
    found, wrong = None, ""
    try:
        found = asking.preview(sent, {})
    except Refusal as refusal:
        wrong = str(refusal)
    return sent.show("preview.html", preview=found, wrong=wrong, by_study=False, **shown_preview(found))


@routes.post("/datasets/{dataset_id}/ask")
def submit(sent: Sent, dataset_id: str) -> Response:
    """Submit a request, or show what it buys where there is no script."""
    asking = _Asking.of(sent, dataset_id, by_study="study" in sent.form)
    form = _form(sent, _first(asking.dataset, asking.questions), by_study=asking.by_study)
    try:
        if asking.by_study:
            form["study"] = sent.file("study_file") or form["study"]
    except Refusal as refusal:
        return asking.page(form, refusal.status, wrong=str(refusal))
    try:
        if sent.text("do") == "preview":
            return asking.page(form, preview=asking.preview(sent, form))
        given = {"study": None, "choice": None, "text": None} | asking.stated(sent, form)
        study = sent.desk.study_document(sent.actor, dataset_id, **given)
        made = sent.desk.submit(sent.actor, dataset_id, study, form["purpose"], form["key"] or None)
    except Refusal as refusal:
        return asking.refused(sent, form, refusal)
    return moved(sent, f"/requests/{made.id}")


def _in_words(refusal: Refusal) -> str:
    missing = str(refusal).startswith("purpose: is missing")
    return "What is it for? The owner decides by that: write a sentence." if missing else str(refusal)


@routes.get("/datasets/{dataset_id}/study.toml")
def public_study(here: Here, dataset_id: str) -> Response:
    """Return the public study of a data set as a file to begin with."""
    found = here.desk.dataset(here.actor, dataset_id)
    content = toml_text(found.study)
    return Response(content, media_type="application/toml", headers={"Content-Disposition": 'attachment; filename="study.toml"'})
