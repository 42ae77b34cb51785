"""The desk's pages: one skin over `Desk`, by area. Templates escape everything; the one script is htmx, unmodified."""

from gibbsafe.service.web import asking, datasets, home, ledgers, people, releases, requests, sign_in, static

__all__ = ["AREAS"]

AREAS = (static, sign_in, home, datasets, asking, requests, releases, ledgers, people)
