"""The desk's pages: one skin over `Desk`, by area. Templates escape everything; the one script is htmx, unmodified."""

from fastapi import APIRouter

from gibbsafe.service.desk import Desk
from gibbsafe.service.web import asking, datasets, home, ledgers, people, releases, requests, sign_in, static

__all__ = ["router"]

AREAS = (static, sign_in, home, datasets, asking, requests, releases, ledgers, people)


def router(desk: Desk) -> APIRouter:
    """Return every page of a desk, which the application keeps as its state."""
    found = APIRouter()
    for area in AREAS:
        found.include_router(area.routes)
    return found
