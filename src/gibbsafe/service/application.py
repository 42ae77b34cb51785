"""The application: the JSON API, the pages if they are there, and what surrounds both."""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec

from fastapi import FastAPI

from gibbsafe._version import __version__
from gibbsafe.service.desk import Desk
from gibbsafe.service.settings import Settings

__all__ = ["create_app"]


def create_app(settings: Settings, desk: Desk | None = None) -> FastAPI:
    """Return the application for an ASGI server; the tables are brought up to date first."""
    desk = Desk(settings).open() if desk is None else desk
    app = FastAPI(title="gibbsafe desk", version=__version__, docs_url=None, redoc_url=None)
    app.state.desk = desk
    if find_spec("gibbsafe.service.web") is not None:
        app.include_router(import_module("gibbsafe.service.web").router(desk))
    return app
