"""Coming in: tokens, short sessions for browsers, and identities that a provider vouches for."""

from __future__ import annotations

import hmac
from datetime import UTC, datetime
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update

from gibbsafe.service.authority import Actor
from gibbsafe.service.base import Base
from gibbsafe.service.people import hashed
from gibbsafe.service.refusals import Refusal
from gibbsafe.service.tables import sessions, tokens, users
from gibbsafe.service.views import Session

__all__ = ["Sessions"]

#: One sentence for every way in which a token is worth nothing: nobody learns which.
UNKNOWN = "token: not known, expired or revoked; ask the operator for a new one"
ENDED = "session: ended; log in again"


class Sessions(Base):
    """Who is it? Everything else of the desk takes the `Actor` that these return."""

    def authenticate(self, token: str) -> Actor:
        """Return whom a token identifies; its day of use is noted once a day."""
        row = self._token_row(token)
        return Actor(row.user_id, row.name, frozenset(row.roles.split(",")))

    def log_in(self, token: str) -> Session:
        """Open a session for the holder of a token. It ends with the token."""
        row = self._token_row(token)
        return self._open(row, row.token_id, row.expires)

    def log_in_subject(self, issuer: str, subject: str) -> Session:
        """Open a session for whom a provider of identities vouches: ``issuer|subject`` must be some user's."""
        with self.store.reading() as connection:
            wanted = users.c.subject == f"{issuer}|{subject}"
            row = connection.execute(select(users, users.c.id.label("user_id")).where(wanted, users.c.active)).first()
        if row is None:
            raise Refusal(403, "single sign-on: nobody here has this identity; ask the operator to enter it")
        return self._open(row, None, None)

    def resume(self, secret: str) -> Session:
        """Return the session of a cookie."""
        if not secret or len(secret) > 200:
            raise Refusal(401, ENDED)
        query = select(sessions, users.c.name, users.c.roles).join(users, users.c.id == sessions.c.user_id)
        with self.store.reading() as connection:
            row = connection.execute(query.where(sessions.c.sha256 == hashed(secret), users.c.active)).first()
        if row is None or row.expires <= self.now():
            raise Refusal(401, ENDED)
        actor = Actor(row.user_id, row.name, frozenset(row.roles.split(",")))
        return Session(secret, csrf_of(secret), row.expires, actor)

    def log_out(self, secret: str) -> None:
        """End a session."""
        with self.store.writing() as connection:
            connection.execute(delete(sessions).where(sessions.c.sha256 == hashed(secret)))

    @staticmethod
    def require_csrf(session: Session, brought: str) -> None:
        """Refuse a form that another site's page may have sent."""
        if not hmac.compare_digest(session.csrf.encode(), brought.encode("utf-8", "surrogatepass")):
            raise Refusal(403, "form: came from elsewhere, or its session ended; load the page again")

    # -- inside --------------------------------------------------------------------------------------------------

    def _token_row(self, token: str) -> Any:
        if not token or len(token) > 200:
            raise Refusal(401, UNKNOWN)
        query = select(tokens, tokens.c.id.label("token_id"), users.c.name, users.c.roles).join(
            users, users.c.id == tokens.c.user_id
        )
        with self.store.reading() as connection:
            row = connection.execute(query.where(tokens.c.sha256 == hashed(token), users.c.active)).first()
        if row is None or row.revoked or row.expires <= self.now():
            raise Refusal(401, UNKNOWN)
        day = datetime.fromtimestamp(self.now(), UTC).date().isoformat()
        if row.last_day != day:
            with self.store.writing() as connection:
                connection.execute(update(tokens).where(tokens.c.id == row.token_id).values(last_day=day))
        return row

    def _open(self, row: Any, token_id: str | None, latest: int | None) -> Session:
        secret, now = self.settings.new_secret(), self.now()
        expires = min(now + self.settings.session, now + self.settings.session if latest is None else latest)
        with self.store.writing() as connection:
            self._forget(connection, now)
            kept = {"user_id": row.user_id, "token_id": token_id, "created": now, "expires": expires}
            connection.execute(insert(sessions).values(sha256=hashed(secret), **kept))
        actor = Actor(row.user_id, row.name, frozenset(row.roles.split(",")))
        return Session(secret, csrf_of(secret), expires, actor)

    @staticmethod
    def _forget(connection: Connection, now: int) -> None:
        connection.execute(delete(sessions).where(sessions.c.expires <= now))


def csrf_of(secret: str) -> str:
    """Return what the forms of a session bring back: known to its pages alone, and useless as a cookie."""
    return hashed(f"csrf:{secret}")
