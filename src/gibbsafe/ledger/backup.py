"""A whole copy of a SQLite ledger, what is still in its write-ahead log included."""

from __future__ import annotations

import contextlib
import sqlite3
from pathlib import Path

from gibbsafe._files import write_whole
from gibbsafe._types import JSON
from gibbsafe.errors import GibbsafeError
from gibbsafe.ledger.accounts import Account
from gibbsafe.ledger.checks import check
from gibbsafe.ledger.database import Database

__all__ = ["backup"]


def backup(database: Database, target: Path | str, *, force: bool = False) -> list[JSON]:
    """Copy a ledger as it is at one moment, while others may be charging; return the check of every account in the copy.

    Copying the file by hand misses the charges that are still in ``-wal``. A copy that is restored later is behind the ledger's
    anchor, and refused: a backup saves the record of what was spent, it never gives budget back.
    """
    if database._path is None:
        raise GibbsafeError(f"ledger {database}: a PostgreSQL ledger is copied with pg_dump")
    for account in accounts_of(database):  # a copy of what is broken would push out one that is not
        account.entries()
    try:
        with (
            contextlib.closing(sqlite3.connect(f"{database._path.absolute().as_uri()}?mode=rw", uri=True)) as source,
            contextlib.closing(sqlite3.connect(":memory:")) as copy,
        ):
            source.backup(copy)
            content = copy.serialize()
    except sqlite3.Error as error:
        raise GibbsafeError(f"ledger {database}: cannot be copied ({error})") from error
    write_whole(target, content, force=force, inputs=[database._path])
    return [check(account) for account in accounts_of(Database(f"sqlite:///{target}"))]


def accounts_of(database: Database) -> list[Account]:
    """Return every account of a ledger, by name."""
    from sqlalchemy import select

    from gibbsafe.ledger.tables import accounts

    with database.reading() as connection:
        names = connection.execute(select(accounts.c.name).order_by(accounts.c.name)).scalars().all()
    return [Account(database, name) for name in names]
