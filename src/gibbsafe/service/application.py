"""The application: the JSON API, the pages if they are there, and what surrounds both."""

from __future__ import annotations

import logging

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.responses import JSONResponse, Response

from gibbsafe._text import printable
from gibbsafe._version import __version__
from gibbsafe.service import api, open_id
from gibbsafe.service.desk import Desk
from gibbsafe.service.guards import Guards
from gibbsafe.service.refusals import Refusal
from gibbsafe.service.settings import Settings
from gibbsafe.service.tickets import Ticket
from gibbsafe.service.web import AREAS
from gibbsafe.service.web.pages import problem

__all__ = ["create_app"]

logger = logging.getLogger("gibbsafe.service")


def create_app(settings: Settings, desk: Desk | None = None, ticket: Ticket | None = None) -> FastAPI:
    """Return the application for an ASGI server; the tables are brought up to date first.

    ``ticket`` lets one browser in once, which `gibbsafe ui` opens.
    """
    app = FastAPI(
        title="gibbsafe desk", version=__version__, docs_url=None, redoc_url=None, openapi_url="/api/v1/openapi.json",
        description="Differentially private releases: asked for, approved, charged, signed.",
    )  # fmt: skip
    app.state.desk = Desk(settings).open() if desk is None else desk
    app.add_exception_handler(Refusal, _refused)
    app.add_exception_handler(RequestValidationError, _misunderstood)
    app.add_exception_handler(HTTPException, _not_served)
    app.add_exception_handler(Exception, _failed)
    for area in AREAS:  # before the API, one by one: a route is looked for in their order, and people wait for pages
        app.include_router(area.routes)
    app.include_router(api.router)
    if ticket is not None:
        ticket.attach(app)
    if settings.open_id is not None:
        open_id.attach(app, settings, settings.open_id)
    app.add_middleware(TrustedHostMiddleware, allowed_hosts=list(settings.hosts))
    app.add_middleware(Guards, settings=settings, line=_line)
    return app


def _line(request: Request, status: int, text: str) -> Response:
    """Return one line: as JSON to programs, as a page to people."""
    line = printable(" ".join(text.split()))[:1000]
    return JSONResponse({"detail": line}, status) if request.url.path.startswith("/api/") else problem(request, status, line)


async def _refused(request: Request, error: Exception) -> Response:
    return _line(request, error.status if isinstance(error, Refusal) else 500, str(error))


async def _misunderstood(request: Request, error: Exception) -> Response:
    """Say which field is wrong and why, without repeating what was sent."""
    first = error.errors()[0] if isinstance(error, RequestValidationError) else {}
    where = ".".join(str(part) for part in first.get("loc", ()) if part != "body") or "body"
    return _line(request, 422, f"{where}: {first.get('msg', 'not understood')}")


async def _not_served(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    response = _line(request, error.status_code, str(error.detail))
    response.headers.update(error.headers or {})
    return response


async def _failed(request: Request, error: Exception) -> Response:
    """What nobody foresaw: whoever asked learns nothing of it, and the log its kind alone."""
    logger.error("a request failed: %s", type(error).__name__)
    return _line(request, 500, "something went wrong here, and nothing more is said of it; tell the operator when it happened")
