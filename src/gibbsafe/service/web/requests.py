"""Requests: followed by their analyst, decided by the owner of the data."""

from __future__ import annotations

from collections.abc import Callable

from starlette.responses import Response

from gibbsafe._types import JSON
from gibbsafe.service.refusals import Refusal
from gibbsafe.service.views import Request
from gibbsafe.service.web.pages import Here, Sent, Visit, moved, pages
from gibbsafe.service.web.toml import toml_text

__all__ = ["CAPS", "caps_of", "routes"]

routes = pages()
#: What the caps of an account add up, in words.
CAPS = {"main": "the budget", "slack": "kept for samplers’ slack", "failure": "kept for releases’ own δ"}


def caps_of(spent: dict[str, float], cost: dict[str, float]) -> list[JSON]:
    """Return per cap what is spent and what one release would add; of the smaller ones those that something touches."""
    return [
        {"words": words, "spent": spent.get(name, 0.0), "cost": cost.get(name, 0.0)}
        for name, words in CAPS.items()
        if name == "main" or spent.get(name) or cost.get(name)
    ]


def _path(here: Visit, request: Request) -> JSON:
    actor = here.actor
    pace = max(1, min(15, int(here.desk.settings.slot) // 4))
    return {"request": request, "pace": pace, "opens": bool(actor.roles & {"owner", "analyst"})}


def _page(here: Visit, request_id: str, refusal: str = "", status: int = 200) -> Response:
    request = here.desk.request(here.actor, request_id)
    decides = request.state == "pending" and _owns(here, request)
    values = _path(here, request) | {"decides": decides, "quote": None, "caps": []}
    if decides:
        values |= _price(here, request)
    withdraws = request.state == "pending" and here.actor.has("analyst") and request.analyst == here.actor.name
    values |= {"withdraws": withdraws, "study_text": toml_text(request.study)}
    return here.show("request.html", status, **({"refusal": ""} | values | ({"refusal": refusal} if refusal else {})))


def _owns(here: Visit, request: Request) -> bool:
    return here.actor.has("owner") and here.desk.dataset(here.actor, request.dataset_id).source is not None


def _price(here: Visit, request: Request) -> JSON:
    """Return what an owner decides by: the price as the account stands now, or why it cannot be approved."""
    book = here.desk.book(here.actor, request.dataset_id)
    found: JSON = {"caps": caps_of(book.shares, request.shares)}
    try:
        found["quote"] = here.desk.price(here.actor, request.dataset_id, request.study)
    except Refusal as refusal:
        found["refusal"] = str(refusal)
    return found


@routes.get("/requests/{request_id}")
def request(here: Here, request_id: str) -> Response:
    """Show a request, and where it stands."""
    return _page(here, request_id)


@routes.get("/requests/{request_id}/path")
def path(here: Here, request_id: str) -> Response:
    """Show where a request stands; a page that waits asks again. Once it is decided or released, the whole page is shown anew."""
    found = here.desk.request(here.actor, request_id)
    response = here.show("request_path.html", **_path(here, found))
    if found.state in ("released", "failed"):
        response.headers["HX-Refresh"] = "true"
    return response


def _done(sent: Sent, request_id: str, act: Callable[[], object]) -> Response:
    """Do something about a request and show it again; a refusal stands in its page."""
    try:
        act()
    except Refusal as refusal:
        if refusal.status in (403, 404):
            raise
        return _page(sent, request_id, str(refusal), refusal.status)
    return moved(sent, f"/requests/{request_id}")


@routes.post("/requests/{request_id}/approve")
def approve(sent: Sent, request_id: str) -> Response:
    """Approve the plan that was shown."""
    return _done(sent, request_id, lambda: sent.desk.approve(sent.actor, request_id, sent.text("plan_sha256")))


@routes.post("/requests/{request_id}/refuse")
def refuse(sent: Sent, request_id: str) -> Response:
    """Refuse with a reason."""
    return _done(sent, request_id, lambda: sent.desk.refuse(sent.actor, request_id, sent.text("reason")))


@routes.post("/requests/{request_id}/withdraw")
def withdraw(sent: Sent, request_id: str) -> Response:
    """Take a request back."""
    return _done(sent, request_id, lambda: sent.desk.withdraw(sent.actor, request_id))
