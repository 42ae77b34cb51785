"""Users and tokens: the operator's pages, and everybody's own tokens."""

from __future__ import annotations

from starlette.responses import Response

from gibbsafe.service.refusals import Refusal, no_such
from gibbsafe.service.views import NewToken, User
from gibbsafe.service.web.pages import Here, Sent, Visit, moved, pages

__all__ = ["routes"]

routes = pages()
#: Lines of the log on one page.
LINES = 100


def _everybody(here: Visit, form: dict[str, object], refusal: str = "", status: int = 200) -> Response:
    values = {"users": here.desk.users(here.actor), "open_id": here.desk.settings.open_id}
    return here.show("people.html", status, form=form, refusal=refusal, **values)


@routes.get("/people")
def everybody(here: Here) -> Response:
    """Show who may come in."""
    return _everybody(here, {"name": "", "roles": (), "subject": ""})


@routes.post("/people")
def add(sent: Sent) -> Response:
    """Add somebody."""
    name, roles, subject = sent.text("name"), sent.texts("roles"), sent.text("subject")
    try:
        made = sent.desk.create_user(sent.actor, name, roles, subject or None)
    except Refusal as refusal:
        if refusal.status == 403:
            raise
        return _everybody(sent, {"name": name, "roles": roles, "subject": subject}, str(refusal), refusal.status)
    return moved(sent, f"/people/{made.id}")


def _person(here: Visit, user_id: str, refusal: str = "", status: int = 200, new_token: NewToken | None = None) -> Response:
    own = here.request.url.path.startswith("/tokens")
    return here.show(
        "person.html",
        status,
        user=_user(here, user_id),
        own=own,
        tokens=here.desk.tokens(here.actor, user_id),
        most_days=here.desk.settings.token_days,
        new_token=new_token,
        refusal=refusal,
    )


def _user(here: Visit, user_id: str) -> User:
    actor = here.actor
    if user_id == actor.user_id:
        return User(actor.user_id, actor.name, tuple(sorted(actor.roles)), True, None, 0)
    for each in here.desk.users(actor):
        if each.id == user_id:
            return each
    raise no_such("user")


def _token(sent: Sent, user_id: str) -> Response:
    try:
        made = sent.desk.create_token(sent.actor, user_id, sent.text("label"), int(sent.number("days", "days")))
    except Refusal as refusal:
        if refusal.status in (403, 404):
            raise
        return _person(sent, user_id, str(refusal), refusal.status)
    return _person(sent, user_id, new_token=made)


@routes.get("/tokens")
def own_tokens(here: Here) -> Response:
    """Show one's own tokens."""
    return _person(here, here.actor.user_id)


@routes.post("/tokens")
def own_token(sent: Sent) -> Response:
    """Make a token for oneself."""
    return _token(sent, sent.actor.user_id)


@routes.post("/tokens/{token_id}/revoke")
def revoke(sent: Sent, token_id: str) -> Response:
    """Make a token worthless."""
    sent.desk.revoke_token(sent.actor, token_id)
    user_id = sent.text("user_id")
    other = sent.actor.has("operator") and user_id not in ("", sent.actor.user_id) and user_id.isalnum()
    return moved(sent, f"/people/{user_id}" if other else "/tokens")


@routes.get("/people/{user_id}")
def person(here: Here, user_id: str) -> Response:
    """Show somebody, with their tokens."""
    here.desk.users(here.actor)
    return _person(here, user_id)


@routes.post("/people/{user_id}/tokens")
def token(sent: Sent, user_id: str) -> Response:
    """Make a token for somebody."""
    sent.desk.users(sent.actor)
    return _token(sent, user_id)


def _changed(sent: Sent, user_id: str, *, roles: tuple[str, ...] | None = None, active: bool | None = None) -> Response:
    try:
        sent.desk.change_user(sent.actor, user_id, roles=roles, active=active)
    except Refusal as refusal:
        if refusal.status in (403, 404):
            raise
        return _person(sent, user_id, str(refusal), refusal.status)
    return moved(sent, f"/people/{user_id}")


@routes.post("/people/{user_id}/roles")
def roles(sent: Sent, user_id: str) -> Response:
    """Change what somebody is here."""
    return _changed(sent, user_id, roles=sent.texts("roles"))


@routes.post("/people/{user_id}/shut-out")
def shut_out(sent: Sent, user_id: str) -> Response:
    """Let somebody in no more."""
    return _changed(sent, user_id, active=False)


@routes.post("/people/{user_id}/let-in")
def let_in(sent: Sent, user_id: str) -> Response:
    """Let somebody in again."""
    return _changed(sent, user_id, active=True)


@routes.get("/log")
def log(here: Here, before: int | None = None) -> Response:
    """Show the administrative log."""
    entries = here.desk.log(here.actor, before, LINES)
    return here.show("log.html", entries=entries, older=entries[-1].number if len(entries) == LINES else None)
