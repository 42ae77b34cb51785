"""Coming in and going out."""

from __future__ import annotations

from typing import Annotated

from fastapi import Depends, Request
from starlette.datastructures import FormData
from starlette.responses import Response

from gibbsafe.service.cookies import drop_session, give_session
from gibbsafe.service.desk import Desk
from gibbsafe.service.refusals import Refusal
from gibbsafe.service.web.pages import Sent, form_of, local, moved, pages, show

__all__ = ["routes"]

routes = pages()
#: Where signing in by a provider of identities begins.
OPEN_ID = "/oidc/start"


def _door(request: Request, back: str, refusal: str = "", status: int = 200) -> Response:
    desk: Desk = request.app.state.desk
    values = {"next": local(back), "refusal": refusal, "open_id": desk.settings.open_id, "open_id_path": OPEN_ID}
    return show("sign_in.html", request, None, status, **values)


@routes.get("/sign-in")
def door(request: Request, next: str = "/") -> Response:
    """Show the way in."""
    return _door(request, next)


@routes.post("/sign-in")
def come_in(request: Request, form: Annotated[FormData, Depends(form_of)]) -> Response:
    """Open a session for the holder of a token."""
    desk: Desk = request.app.state.desk
    token, back = (str(form.get(name) or "") for name in ("token", "next"))
    try:
        session = desk.log_in(token.strip())
    except Refusal as refusal:
        return _door(request, back, str(refusal), refusal.status)
    response = moved(request, local(back))
    give_session(response, session, desk.settings)
    return response


@routes.post("/sign-out")
def go_out(sent: Sent) -> Response:
    """End the session."""
    sent.desk.log_out(sent.session.secret)
    response = moved(sent, "/sign-in")
    drop_session(response, sent.desk.settings)
    return response
