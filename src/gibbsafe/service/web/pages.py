"""What every page has: the visitor and their session, templates, and refusals shown in place with the remedy."""

from __future__ import annotations

import math
from collections.abc import AsyncIterator, Callable, Coroutine
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote, urlsplit

from fastapi import APIRouter, Depends, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import APIRoute
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.responses import HTMLResponse, RedirectResponse, Response

from gibbsafe._version import __version__
from gibbsafe.service.authority import Actor
from gibbsafe.service.cookies import COOKIE
from gibbsafe.service.desk import Desk
from gibbsafe.service.refusals import Refusal
from gibbsafe.service.views import Session
from gibbsafe.service.web import words

__all__ = [
    "Here",
    "PageRoute",
    "Posted",
    "Sent",
    "Visit",
    "form_of",
    "local",
    "moved",
    "pages",
    "problem",
    "refused",
    "show",
]

HERE = Path(__file__).parent
HEADINGS = {
    401: "Sign in",
    403: "Not yours to do",
    404: "Not here",
    409: "Not now",
    413: "Too large",
    429: "Too often",
    503: "Not at the moment",
}


def _environment() -> Environment:
    made = Environment(
        loader=FileSystemLoader(HERE / "templates"),
        auto_reload=False,
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    made.filters |= words.FILTERS
    made.globals |= {name: getattr(words, name) for name in ("STATES", "TONES", "KINDS", "RELEASES", "ROLES")}
    made.globals |= {"version": __version__, "refusal": ""}
    return made


TEMPLATES = _environment()


@dataclass(frozen=True)
class Visit:
    """Who looks at which page."""

    desk: Desk
    request: Request
    session: Session

    @property
    def actor(self) -> Actor:
        """Whoever is signed in."""
        return self.session.actor

    @property
    def quick(self) -> bool:
        """Whether htmx asks for a piece of a page."""
        return self.request.headers.get("hx-request") == "true"

    def show(self, name: str, status: int = 200, /, **values: object) -> HTMLResponse:
        """Return a page or a piece of one."""
        return show(name, self.request, self.session, status, **values)


def show(name: str, request: Request, session: Session | None, status: int = 200, /, **values: object) -> HTMLResponse:
    """Return a template as a page; without a session it has no places to go."""
    actor = None if session is None else session.actor
    frame = {
        "actor": actor,
        "csrf_token": "" if session is None else session.csrf,
        "places": () if actor is None else _places(actor),
        "here": request.url.path,
    }
    text = TEMPLATES.get_template(name).render(frame | values)
    return HTMLResponse(text, status, headers={"Cache-Control": "no-store"})


def _places(actor: Actor) -> list[tuple[str, str]]:
    found = [("Home", "/")]
    if actor.roles & {"owner", "analyst", "auditor"}:
        found.append(("Requests", "/requests"))
    if actor.has("auditor"):
        found.append(("Certificates", "/certificates"))
    if actor.has("operator"):
        found.append(("People", "/people"))
    if actor.roles & {"operator", "auditor"}:
        found.append(("Log", "/log"))
    return [*found, ("My tokens", "/tokens")]


# -- who, and what they sent ----------------------------------------------------------------------------------------------


def visit(request: Request) -> Visit:
    """Return who is here; refuse whoever is not signed in."""
    desk: Desk = request.app.state.desk
    return Visit(desk, request, desk.resume(request.cookies.get(COOKIE, "")))


Here = Annotated[Visit, Depends(visit)]


async def form_of(request: Request) -> AsyncIterator[FormData]:
    """Yield the fields of a form, and close its files afterwards; what is too large does not come here."""
    try:
        form = await request.form(max_files=1, max_fields=1000)
    except Exception:  # whatever a hostile body makes of the parser
        raise Refusal(422, "form: cannot be read; load the page again") from None
    try:
        yield form
    finally:
        await form.close()


@dataclass(frozen=True)
class Posted(Visit):
    """A form that came from a page of its own session."""

    form: FormData

    def text(self, name: str) -> str:
        """Return a field's text; empty where there is none."""
        value = self.form.get(name)
        return value.strip() if isinstance(value, str) else ""

    def texts(self, name: str) -> tuple[str, ...]:
        """Return all texts of a field that may be there several times."""
        return tuple(value for value in self.form.getlist(name) if isinstance(value, str))

    def file(self, name: str) -> str | None:
        """Return the text of a file that was sent along; None where there is none."""
        value = self.form.get(name)
        if not isinstance(value, UploadFile) or not value.filename:
            return None
        try:
            return value.file.read().decode("utf-8-sig")
        except UnicodeDecodeError:
            raise Refusal(422, "file: is not UTF-8 text; save it as such") from None

    def number(self, name: str, label: str) -> float:
        """Return a field as a number, or say which one is none."""
        try:
            value = float(self.text(name))
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise Refusal(422, f"{label}: write a number, like 0.5 or 1e-6")
        return value


def posted(here: Here, form: Annotated[FormData, Depends(form_of)]) -> Posted:
    """Return the form if it brings back what the pages of its session know."""
    sent = Posted(here.desk, here.request, here.session, form)
    here.desk.require_csrf(here.session, sent.text("csrf"))
    return sent


Sent = Annotated[Posted, Depends(posted)]


def moved(here: Visit | Request, path: str) -> Response:
    """Return the way to another page."""
    request = here.request if isinstance(here, Visit) else here
    if request.headers.get("hx-request") == "true":
        return Response(status_code=204, headers={"HX-Redirect": path})
    return RedirectResponse(path, 303)


def local(path: str) -> str:
    """Return a path of this site; another site's address becomes the first page.

    >>> local("/datasets/1?by=study"), local("//elsewhere.example/"), local("/\\\\elsewhere.example")
    ('/datasets/1?by=study', '/', '/')
    """
    parts = urlsplit(path)
    inside = path.startswith("/") and not path.startswith("//") and "\\" not in path and not parts.scheme and not parts.netloc
    return path if inside and path.isprintable() else "/"


# -- refusals -------------------------------------------------------------------------------------------------------------


def refused(request: Request, refusal: Refusal) -> Response:
    """Return a refusal as a page: whoever is not signed in is led there first."""
    if refusal.status == 401:
        back = request.url.path if request.method == "GET" else "/"
        return moved(request, f"/sign-in?next={quote(back)}" if back != "/" else "/sign-in")
    desk: Desk = request.app.state.desk
    session: Session | None = None
    try:
        session = desk.resume(request.cookies.get(COOKIE, ""))
    except Refusal:
        session = None
    heading = HEADINGS.get(refusal.status, "That cannot be")
    return show("problem.html", request, session, refusal.status, refusal=str(refusal), heading=heading)


#: What a server calls "Not Found".
ELSEWHERE = {404: "address: there is no such page; go back to the beginning", 405: "address: is not to be used like that"}


def problem(request: Request, status: int, line: str) -> HTMLResponse:
    """Return a page that says one thing, and asks no database who reads it."""
    text = ELSEWHERE.get(status, line)
    return show("problem.html", request, None, status, refusal=text, heading=HEADINGS.get(status, "That cannot be"))


class PageRoute(APIRoute):
    """A route whose refusals are pages."""

    def get_route_handler(self) -> Callable[[Request], Coroutine[Any, Any, Response]]:
        """Return the handler, with refusals turned into pages."""
        handle = super().get_route_handler()

        async def handled(request: Request) -> Response:
            try:
                return await handle(request)
            except Refusal as refusal:
                said = refusal
            except RequestValidationError:
                said = Refusal(422, "address: a part of it is not what this page takes; go back and choose again")
            return await run_in_threadpool(refused, request, said)  # which asks the database who reads it

        return handled


def pages() -> APIRouter:
    """Return a router for pages; the OpenAPI document leaves them out."""
    return APIRouter(route_class=PageRoute, include_in_schema=False, default_response_class=HTMLResponse)
