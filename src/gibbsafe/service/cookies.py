"""The session's cookie: for this host alone, never read by scripts, never sent by other sites' pages."""

from __future__ import annotations

from starlette.responses import Response

from gibbsafe.service.settings import Settings
from gibbsafe.service.views import Session

__all__ = ["COOKIE", "drop_session", "give_session"]

COOKIE = "desk_session"


def give_session(response: Response, session: Session, settings: Settings) -> None:
    """Put a session into the browser."""
    response.set_cookie(
        COOKIE, session.secret, max_age=settings.session, path="/", secure=settings.secure, httponly=True, samesite="lax"
    )


def drop_session(response: Response, settings: Settings) -> None:
    """Take it out again."""
    response.delete_cookie(COOKIE, path="/", secure=settings.secure, httponly=True, samesite="lax")
