"""The desk: every operation of the service as a typed method. Skins over it (`api`, `web`) touch no table and decide nothing."""

from __future__ import annotations

from gibbsafe.service.books import Books
from gibbsafe.service.people import People
from gibbsafe.service.sessions import Sessions

__all__ = ["Desk"]


class Desk(Books, People, Sessions):
    """Everything that anybody can do, by part: people, sessions, data sets, requests, approvals, previews, questions, ledgers.

    Every method takes the `Actor` who asks, returns frozen values of `views`, and raises `Refusal` alone: a status and one line.
    """

    def open(self) -> Desk:
        """Bring the tables up to date, and return the desk."""
        self.store.migrate()
        return self
