"""What every part of the desk stands on: settings, the store, time, and the administrative log."""

from __future__ import annotations

from sqlalchemy import Connection, insert

from gibbsafe._text import printable
from gibbsafe.service.authority import Actor
from gibbsafe.service.refusals import Refusal
from gibbsafe.service.settings import Settings
from gibbsafe.service.store import Store
from gibbsafe.service.tables import log

__all__ = ["Base", "said"]


def said(name: str, text: object, longest: int, *, needed: bool = True) -> str:
    """Return a text as it may be stored and shown: one that is not empty, not too long, without control characters."""
    if not isinstance(text, str) or (needed and not text.strip()):
        raise Refusal(422, f"{name}: is missing; write a text")
    if len(text) > longest:
        raise Refusal(422, f"{name}: has {len(text):,} characters, at most {longest:,} are kept; shorten it")
    return printable(text.strip())


class Base:
    """Settings and store, shared by all parts of `Desk`."""

    def __init__(self, settings: Settings) -> None:
        self.settings = settings
        self.store = Store(settings.database)

    def now(self) -> int:
        """Return the time in whole seconds."""
        return int(self.settings.clock())

    def note(self, connection: Connection, actor: Actor, action: str, about: str) -> None:
        """Write a line of the administrative log, in the transaction of what it is about."""
        values = {"time": self.now(), "who": actor.name, "action": action, "about": about[:200]}
        connection.execute(insert(log).values(**values))
