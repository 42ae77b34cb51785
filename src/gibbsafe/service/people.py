"""Users, their tokens, and the administrative log."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, delete, insert, select, update

from gibbsafe._types import JSON
from gibbsafe.service.authority import ROLES, Actor, decide
from gibbsafe.service.base import Base, said
from gibbsafe.service.refusals import Refusal, no_such
from gibbsafe.service.tables import log, sessions, tokens, users
from gibbsafe.service.views import LogEntry, NewToken, Token, User

__all__ = ["SYSTEM", "People", "hashed"]

#: Whoever has a shell on the machine: makes the first operator.
SYSTEM = Actor("system", "system", frozenset({"operator"}))
DAY = 86_400


def hashed(secret: str) -> str:
    """Return what is kept of a secret of 256 random bits: its SHA-256. There is nothing to guess, so nothing to slow down."""
    return hashlib.sha256(secret.encode("utf-8", "surrogatepass")).hexdigest()


def user_of(row: Any) -> User:
    """Return a user as others see them."""
    return User(row.id, row.name, tuple(row.roles.split(",")), row.active, row.subject, row.created)


def token_of(row: Any) -> Token:
    """Return a token as lists show it."""
    return Token(row.id, row.user_id, row.label, row.created, row.expires, row.revoked, row.last_day)


class People(Base):
    """Users and tokens: the operator's, and everybody's own tokens."""

    def create_user(self, actor: Actor, name: str, roles: Sequence[str], subject: str | None = None) -> User:
        """Make a user; ``subject`` is what the provider of identities calls them."""
        decide(actor, "create user")
        name = said("name", name, 100)
        subject = None if subject is None else said("subject", subject, 300)
        row: JSON = {"id": self.settings.new_id(), "name": name, "roles": _roles(roles), "active": True, "subject": subject}
        with self.store.writing() as connection:
            if connection.execute(select(users.c.id).where(users.c.name == name)).first() is not None:
                raise Refusal(409, "name: somebody has it already; choose another")
            connection.execute(insert(users).values(**row, created=self.now()))
            self.note(connection, actor, "create user", name)
            return user_of(_user(connection, row["id"]))

    def users(self, actor: Actor) -> tuple[User, ...]:
        """Return everybody, by name."""
        decide(actor, "list users")
        with self.store.reading() as connection:
            return tuple(map(user_of, connection.execute(select(users).order_by(users.c.name))))

    def change_user(self, actor: Actor, user_id: str, *, roles: Sequence[str] | None = None, active: bool | None = None) -> User:
        """Change somebody's roles, or shut them out: their sessions end at once, their tokens stop working."""
        decide(actor, "change user")
        changed: dict[str, object] = {} if roles is None else {"roles": _roles(roles)}
        changed |= {} if active is None else {"active": active}
        if not changed:
            raise Refusal(422, "user: nothing is to change; state roles or active")
        if user_id == actor.user_id:
            raise Refusal(409, "user: nobody changes themselves; another operator does it")
        with self.store.writing() as connection:
            row = _user(connection, user_id)
            connection.execute(update(users).where(users.c.id == user_id).values(**changed))
            connection.execute(delete(sessions).where(sessions.c.user_id == user_id))
            told = ", ".join(f"{key} = {value}" for key, value in sorted(changed.items()))
            self.note(connection, actor, "change user", f"{row.name}: {told}")
            return user_of(_user(connection, user_id))

    # -- tokens --------------------------------------------------------------------------------------------------

    def create_token(self, actor: Actor, user_id: str, label: str, days: int = 90) -> NewToken:
        """Make a token of 256 random bits; its text is returned this once."""
        decide(actor, "create token", dict.fromkeys(ROLES, user_id))
        label = said("label", label, 100)
        if not 1 <= days <= self.settings.token_days:
            raise Refusal(422, f"days: must be from 1 to {self.settings.token_days}")
        text, now = self.settings.new_secret(), self.now()
        row: JSON = {"id": self.settings.new_id(), "user_id": user_id, "label": label, "sha256": hashed(text), "created": now}
        row |= {"expires": now + days * DAY, "revoked": False}
        with self.store.writing() as connection:
            name = _user(connection, user_id).name
            connection.execute(insert(tokens).values(**row))
            self.note(connection, actor, "create token", f"{name}: {label}")
            return NewToken(text, token_of(_token(connection, row["id"])))

    def tokens(self, actor: Actor, user_id: str) -> tuple[Token, ...]:
        """Return somebody's tokens, newest first."""
        decide(actor, "list tokens", dict.fromkeys(ROLES, user_id))
        with self.store.reading() as connection:
            _user(connection, user_id)
            found = select(tokens).where(tokens.c.user_id == user_id).order_by(tokens.c.created.desc(), tokens.c.id)
            return tuple(map(token_of, connection.execute(found)))

    def revoke_token(self, actor: Actor, token_id: str) -> Token:
        """Make a token and the sessions that it opened worthless, at once and for good."""
        with self.store.writing() as connection:
            found = connection.execute(select(tokens).where(tokens.c.id == token_id)).first()
            decide(actor, "revoke token", dict.fromkeys(ROLES, None if found is None else found.user_id))
            row = _token(connection, token_id)
            connection.execute(update(tokens).where(tokens.c.id == token_id).values(revoked=True))
            connection.execute(delete(sessions).where(sessions.c.token_id == token_id))
            self.note(connection, actor, "revoke token", f"{_user(connection, row.user_id).name}: {row.label}")
            return token_of(_token(connection, token_id))

    # -- the administrative log ----------------------------------------------------------------------------------

    def log(self, actor: Actor, before: int | None = None, most: int = 100) -> tuple[LogEntry, ...]:
        """Return lines of the administrative log, newest first; ``before`` a line's number for older ones."""
        decide(actor, "read log")
        query = select(log).order_by(log.c.number.desc()).limit(min(max(most, 1), 1000))
        query = query if before is None else query.where(log.c.number < min(before, 2**62))
        with self.store.reading() as connection:
            return tuple(LogEntry(*row) for row in connection.execute(query))


def _roles(roles: Sequence[str]) -> str:
    if not roles or not set(roles) <= set(ROLES):
        raise Refusal(422, f"roles: must be one or more of {', '.join(ROLES)}")
    return ",".join(role for role in ROLES if role in roles)


def _user(connection: Connection, user_id: str) -> Any:
    row = connection.execute(select(users).where(users.c.id == user_id)).first()
    if row is None:
        raise no_such("user")
    return row


def _token(connection: Connection, token_id: str) -> Any:
    row = connection.execute(select(tokens).where(tokens.c.id == token_id)).first()
    if row is None:
        raise no_such("token")
    return row
