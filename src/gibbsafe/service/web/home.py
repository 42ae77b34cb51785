"""The first page, by role, and the lists that several roles read."""

from __future__ import annotations

from starlette.responses import Response

from gibbsafe.service.web.pages import Here, pages

__all__ = ["routes"]

routes = pages()
GREETINGS = {
    "owner": "You decide what is released of your data.",
    "analyst": "Choose a data set, try what a budget buys, and ask.",
    "auditor": "You read ledgers and certificates, and change nothing.",
    "operator": "You let people in.",
}


@routes.get("/")
def home(here: Here) -> Response:
    """Show what waits, and where to go."""
    actor, desk = here.actor, here.desk
    reads = bool(actor.roles & {"owner", "analyst", "auditor"})
    asked = desk.requests(actor) if reads else None
    found = desk.datasets(actor) if reads else None
    own = {each.id for each in found or () if each.source is not None}
    return here.show(
        "home.html",
        greeting=" ".join(GREETINGS[role] for role in GREETINGS if actor.has(role)),
        datasets=found,
        requests=asked,
        waiting=[each for each in asked or () if each.state == "pending" and each.dataset_id in own],
        mine=actor.has("owner"),
        asks=actor.has("analyst"),
    )


@routes.get("/requests")
def requests(here: Here) -> Response:
    """Show all requests that one may see."""
    return here.show("requests.html", requests=here.desk.requests(here.actor))


@routes.get("/certificates")
def certificates(here: Here) -> Response:
    """Show what was released, by certificate."""
    return here.show("certificates.html", requests=here.desk.requests(here.actor, state="released"))
