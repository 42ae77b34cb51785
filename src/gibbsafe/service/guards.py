"""What stands before every route: the size of bodies, the rate of requests, and the headers of every answer."""

from __future__ import annotations

import hashlib
from collections import OrderedDict
from collections.abc import Callable
from typing import TypeAlias

from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gibbsafe.service.cookies import COOKIE
from gibbsafe.service.settings import Settings

__all__ = ["Guards", "Limiter"]

POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; font-src 'self'; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)
HEADERS = {
    "content-security-policy": POLICY,
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "permissions-policy": "camera=(), microphone=(), geolocation=(), browsing-topics=()",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
    "cache-control": "no-store",
}
#: An answer of one line, from a request, a status and the line.
Line: TypeAlias = Callable[[Request, int, str], Response]
UNSAFE = {"POST", "PUT", "PATCH", "DELETE"}
#: Callers that are remembered; the one that was silent longest is forgotten first.
MOST_CALLERS = 10_000


class Limiter:
    """How many requests each caller made in the minute that runs."""

    def __init__(self, per_minute: int | None, clock: Callable[[], float]) -> None:
        self.per_minute, self.clock = per_minute, clock
        self._made: OrderedDict[str, tuple[int, int]] = OrderedDict()

    def admits(self, caller: str, share: float = 1.0) -> bool:
        """Count a request; return whether it is within this share of the limit."""
        if self.per_minute is None:
            return True
        minute = int(self.clock() // 60)
        began, made = self._made.pop(caller, (minute, 0))
        made = made + 1 if began == minute else 1
        self._made[caller] = minute, made
        while len(self._made) > MOST_CALLERS:
            self._made.popitem(last=False)
        return made <= max(1, int(self.per_minute * share))


class Guards:
    """An ASGI layer around the application; ``line`` makes an answer of one line, a page or JSON."""

    def __init__(self, app: ASGIApp, settings: Settings, line: Line) -> None:
        self.app, self.settings, self.line = app, settings, line
        self.limiter = Limiter(settings.requests_per_minute, settings.clock)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let a request pass, or answer it here."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        answered = self._dressed(send)
        refused = self._refused(scope, headers)
        if refused is not None:
            await self._answer(scope, answered, *refused)
            return
        body = _Body(receive, self.settings.largest_body)

        async def unless_too_large(message: Message) -> None:
            if not body.too_large:
                await answered(message)
            elif message["type"] == "http.response.start":  # whatever the application made of a body that broke off
                await self._answer(scope, answered, *self._too_large())

        await self.app(scope, body, unless_too_large)

    def _refused(self, scope: Scope, headers: Headers) -> tuple[int, str] | None:
        """Return why a request does not pass: too large, too often, or a form from another site."""
        stated = headers.get("content-length", "0")
        if not stated.isdecimal() or len(stated) > 15 or int(stated) > self.settings.largest_body:
            return self._too_large()
        address = scope["client"][0] if scope.get("client") else "nobody"
        secret = headers.get("authorization") or (COOKIE in headers.get("cookie", "") and headers["cookie"]) or ""
        caller = hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest() if secret else f"at {address}"
        login = scope["path"] == "/sign-in" and scope["method"] in UNSAFE
        within = self.limiter.admits(caller) and self.limiter.admits(f"all at {address}", 10.0)
        if not within or (login and not self.limiter.admits(f"login at {address}", 0.1)):
            return 429, "too many requests; wait a minute"
        foreign = headers.get("sec-fetch-site", "none") not in ("same-origin", "none")
        if foreign and scope["method"] in UNSAFE and not scope["path"].startswith("/api/"):
            return 403, "form: came from another site's page"
        return None

    async def _answer(self, scope: Scope, send: Send, status: int, text: str) -> None:
        response = self.line(Request(scope), status, text)
        if status == 429:
            response.headers["retry-after"] = "60"
        await response(scope, _nothing_more, send)

    def _too_large(self) -> tuple[int, str]:
        return 413, f"body: larger than {self.settings.largest_body:,} bytes, the most that is read"

    def _dressed(self, send: Send) -> Send:
        """Return what puts the headers of safety on every answer; a route may set a stricter policy of its own."""

        async def dressed(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                if self.settings.secure:
                    headers["strict-transport-security"] = "max-age=31536000"
            await send(message)

        return dressed


class _Body:
    """A body's pieces, until there are too many bytes of it, whatever its header said: it breaks off there."""

    def __init__(self, receive: Receive, largest: int) -> None:
        self.receive, self.left, self.too_large = receive, largest, False

    async def __call__(self) -> Message:
        """Return the next piece."""
        message = await self.receive()
        self.left -= len(message.get("body", b""))
        self.too_large = self.too_large or self.left < 0
        return {"type": "http.disconnect"} if self.too_large else message


async def _nothing_more() -> Message:
    return {"type": "http.disconnect"}
