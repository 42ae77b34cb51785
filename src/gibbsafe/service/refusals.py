"""The one way in which the desk says no: a status and one line."""

from __future__ import annotations

from gibbsafe.errors import GibbsafeError

__all__ = ["Refusal", "no_such"]


class Refusal(GibbsafeError):  # noqa: N818 - the house's word for it
    """What the desk refuses: ``status`` is HTTP's, the message one line for whoever asked. Never a value of a record."""

    def __init__(self, status: int, message: str) -> None:
        super().__init__(message)
        self.status = status


def no_such(what: str) -> Refusal:
    """Return the refusal of something that is not there, or not there for whoever asked: nobody can tell which."""
    return Refusal(404, f"{what}: there is none of this id for you")
