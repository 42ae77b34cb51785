"""Data sets: what is public of each; registered, limited and paused by their owners."""

from __future__ import annotations

from starlette.responses import Response

from gibbsafe.service.authority import reach
from gibbsafe.service.refusals import Refusal
from gibbsafe.service.studies import parse_study
from gibbsafe.service.views import Dataset, Policy
from gibbsafe.service.web import words
from gibbsafe.service.web.pages import Here, Posted, Sent, Visit, moved, pages

__all__ = ["routes"]

routes = pages()
#: A form for a new data set, as it is shown first.
BLANK = {"name": "", "description": "", "source": "", "study": "", "epsilon": "3", "delta": "1e-6", "request_epsilon": "1"}
BLANK |= {"analyst_share": "100", "automatic_epsilon": ""}


@routes.get("/datasets/new")
def blank(here: Here) -> Response:
    """Show the form for a new data set."""
    reach(here.actor, "register dataset")
    return here.show("register.html", form=BLANK)


@routes.post("/datasets/new")
def register(sent: Sent) -> Response:
    """Register a data set, or say in place what is missing."""
    reach(sent.actor, "register dataset")
    form = {name: sent.text(name) for name in BLANK}
    try:
        form["study"] = sent.file("study_file") or form["study"]
        if not form["study"]:
            raise Refusal(422, "study: is missing; choose a file or write its text")
        made = sent.desk.register_dataset(
            sent.actor,
            name=form["name"],
            source=form["source"],
            description=form["description"],
            study=parse_study(form["study"]),
            epsilon=sent.number("epsilon", "ε in all"),
            delta=sent.number("delta", "δ in all"),
            policy=_policy(sent),
        )
    except Refusal as refusal:
        return sent.show("register.html", refusal.status, form=form, refusal=str(refusal))
    return moved(sent, f"/datasets/{made.id}")


def _policy(sent: Posted) -> Policy:
    automatic = sent.number("automatic_epsilon", "Approve without asking") if sent.text("automatic_epsilon") else None
    part = sent.number("analyst_share", "Share for one analyst") / 100
    return Policy(sent.number("request_epsilon", "ε of one request"), part, automatic)


def _page(here: Visit, dataset: Dataset, refusal: str = "", status: int = 200) -> Response:
    policy = dataset.policy
    automatic = "" if policy.automatic_epsilon is None else words.brief(policy.automatic_epsilon, 6)
    shown = {"request_epsilon": words.brief(policy.request_epsilon, 6), "automatic_epsilon": automatic}
    shown |= {"analyst_share": words.brief(100 * policy.analyst_share, 6)}
    columns = here.desk.choices(here.actor, dataset.id).columns
    listed = [{"name": each.name, "kind": each.kind, "words": words.declared_words(each)} for each in columns]
    return here.show(
        "dataset.html",
        status,
        dataset=dataset,
        columns=listed,
        owns=dataset.source is not None,
        policy_form=shown,
        unit="person" if dataset.study.get("persons") else "record",
        refusal=refusal,
    )


@routes.get("/datasets/{dataset_id}")
def dataset(here: Here, dataset_id: str) -> Response:
    """Show what is public of a data set."""
    return _page(here, here.desk.dataset(here.actor, dataset_id))


@routes.post("/datasets/{dataset_id}/policy")
def limit(sent: Sent, dataset_id: str) -> Response:
    """Change what its owner allows."""
    reach(sent.actor, "set policy")
    try:
        sent.desk.set_policy(sent.actor, dataset_id, _policy(sent))
    except Refusal as refusal:
        if refusal.status in (403, 404):
            raise
        return _page(sent, sent.desk.dataset(sent.actor, dataset_id), str(refusal), refusal.status)
    return moved(sent, f"/datasets/{dataset_id}")


@routes.post("/datasets/{dataset_id}/pause")
def pause(sent: Sent, dataset_id: str) -> Response:
    """Stop all releases of it."""
    sent.desk.pause_dataset(sent.actor, dataset_id, paused=True)
    return moved(sent, f"/datasets/{dataset_id}")


@routes.post("/datasets/{dataset_id}/resume")
def resume(sent: Sent, dataset_id: str) -> Response:
    """Let releases of it go on."""
    sent.desk.pause_dataset(sent.actor, dataset_id, paused=False)
    return moved(sent, f"/datasets/{dataset_id}")
