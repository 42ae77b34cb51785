"""A ticket for the browser that `gibbsafe ui` opens: it lets one in, once, within minutes."""

from __future__ import annotations

import hmac
import threading
from dataclasses import dataclass, field

from fastapi import FastAPI, Request
from starlette.responses import RedirectResponse, Response

from gibbsafe.service.cookies import give_session
from gibbsafe.service.desk import Desk
from gibbsafe.service.refusals import Refusal

__all__ = ["Ticket"]


@dataclass
class Ticket:
    """A secret that is worth a session of a token, until it was used or its time is over."""

    secret: str = field(repr=False)
    token: str = field(repr=False)
    expires: float
    _used: threading.Lock = field(default_factory=threading.Lock, repr=False)

    def attach(self, app: FastAPI) -> None:
        """Add the route that takes it."""

        @app.get("/ticket/{secret}", include_in_schema=False)
        def come_in(request: Request, secret: str) -> Response:
            desk: Desk = request.app.state.desk
            right = hmac.compare_digest(secret.encode("utf-8", "replace"), self.secret.encode())
            if not right or desk.settings.clock() > self.expires or not self._used.acquire(blocking=False):
                raise Refusal(403, "ticket: was used, or its time is over; start gibbsafe ui again")
            response = RedirectResponse("/", 303)
            give_session(response, desk.log_in(self.token), desk.settings)
            return response
