"""Where accounts live: a SQLite file, or PostgreSQL by URL. Transactions, and errors in one line."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from gibbsafe._extras import require_extra
from gibbsafe._text import masked
from gibbsafe._validate import fail
from gibbsafe.errors import GibbsafeError, ParameterError
from gibbsafe.ledger.secret import resolve, without_secrets

if TYPE_CHECKING:
    from sqlalchemy import Connection, Engine

__all__ = ["Database", "parse_reference"]

#: How long a transaction waits for another one, in seconds.
PATIENCE = 60


def parse_reference(reference: str) -> tuple[str, str]:
    """Return (URL, account) of ``URL#account``; a plain path is a SQLite file, ``env:NAME`` a URL in a variable.

    >>> parse_reference("ledger.db#clinic")
    ('sqlite:///ledger.db', 'clinic')
    >>> parse_reference("postgresql://host/db#clinic")
    ('postgresql://host/db', 'clinic')
    """
    place, mark, name = reference.rpartition("#") if isinstance(reference, str) else ("", "", "")
    if not (place and mark and name):
        shown = masked(reference) if isinstance(reference, str) else reference
        fail("ledger", shown, "URL#account, for example ledger.db#clinic or postgresql://host/database#clinic")
    place = resolve(place)
    return (place if "://" in place else f"sqlite:///{place}"), name


@dataclass(frozen=True)
class Database:
    """A ledger database by its URL. Every transaction opens a connection of its own, so nothing is shared with forks."""

    url: str = field(repr=False)

    def __post_init__(self) -> None:
        if not isinstance(self.url, str) or not self.url.startswith(("sqlite:///", "postgresql://", "postgresql+psycopg://")):
            shown = masked(self.url) if isinstance(self.url, str) else self.url
            fail("ledger URL", shown, "sqlite:///path or postgresql://user@host/database")

    @property
    def _path(self) -> Path | None:
        """The file of a SQLite ledger."""
        return Path(self.url.removeprefix("sqlite:///")) if self.url.startswith("sqlite") else None

    def __str__(self) -> str:
        if self._path is not None:
            return str(self._path)
        return masked(self.url)

    # -- transactions --------------------------------------------------------------------------------------------

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Yield a connection in a transaction that reads."""
        with self._transaction("BEGIN") as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Yield a connection in a transaction that writes: committed whole at the end, or not at all."""
        with self._transaction("BEGIN IMMEDIATE") as connection:
            yield connection

    @contextmanager
    def _transaction(self, begin: str) -> Iterator[Connection]:
        if self._path is not None and not self._path.is_file():
            reason = "is a directory" if self._path.is_dir() else "does not exist; open an account with 'gibbsafe ledger open'"
            raise GibbsafeError(f"ledger {self}: {reason}")
        with self._reported(), self._engine(begin).begin() as connection:
            self._configure_server(connection)
            self._require_ledger(connection)
            yield connection

    @contextmanager
    def creating(self) -> Iterator[Connection]:
        """Yield a writing connection to a database that may be new; an empty file that this attempt left is removed."""
        from gibbsafe.ledger.tables import metadata

        new_file = self._make_file()
        try:
            with self._reported():
                with self._engine("BEGIN IMMEDIATE").begin() as connection:
                    self._configure_server(connection)
                    if not self._is_ledger(connection):
                        self._refuse_foreign(connection)
                        metadata.create_all(connection)
                    yield connection
                if self._path is not None:  # from now on readers and writers do not block each other: the file remembers
                    self._engine("BEGIN", "PRAGMA journal_mode=WAL").connect().close()
        except BaseException:
            if new_file is not None and new_file.exists() and new_file.stat().st_size == 0:  # nobody has committed anything to it
                new_file.unlink()
            raise

    def _make_file(self) -> Path | None:
        """Make the file of a SQLite ledger if there is none, and return it if this call made it."""
        if self._path is None:
            return None
        try:
            os.close(os.open(self._path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o644))
        except FileExistsError:
            return None
        except OSError as error:
            raise GibbsafeError(f"ledger {self}: cannot be made ({error.strerror})") from error
        return self._path

    def _engine(self, begin: str, *settings: str) -> Engine:
        place = self.url if self._path is None else f"sqlite:///{self._path.absolute()}"  # wherever the process goes later
        try:
            return _made_engine(place, PATIENCE, begin, settings)
        except ValueError:  # a port that is none
            raise GibbsafeError(f"ledger {self}: not the URL of a database; write postgresql://user@host:port/database") from None

    def _configure_server(self, connection: Connection) -> None:
        """PostgreSQL: a commit is on disk before it is acknowledged, whoever configured the role; nobody waits for ever."""
        if self._path is not None:
            return
        if connection.exec_driver_sql("SHOW fsync").scalar() != "on":
            raise GibbsafeError(f"ledger {self}: fsync = off: a crash would forget charges; set fsync = on in postgresql.conf")
        if connection.exec_driver_sql("SHOW synchronous_commit").scalar() not in ("on", "remote_apply"):
            connection.exec_driver_sql("SET LOCAL synchronous_commit = on")
        for setting in ("lock_timeout", "idle_in_transaction_session_timeout"):
            connection.exec_driver_sql(f"SET LOCAL {setting} = '{PATIENCE}s'")

    # -- refusals ------------------------------------------------------------------------------------------------

    @staticmethod
    def _is_ledger(connection: Connection) -> bool:
        from sqlalchemy import inspect

        from gibbsafe.ledger.tables import metadata

        return set(metadata.tables) <= set(inspect(connection).get_table_names())

    def _require_ledger(self, connection: Connection) -> None:
        if not self._is_ledger(connection):
            raise GibbsafeError(f"ledger {self}: not a ledger of gibbsafe; open an account with 'gibbsafe ledger open'")

    def _refuse_foreign(self, connection: Connection) -> None:
        """Refuse a SQLite file that belongs to another program; a PostgreSQL database may hold other tables beside ours."""
        from sqlalchemy import inspect

        if self._path is not None and inspect(connection).get_table_names():
            raise GibbsafeError(f"ledger {self}: a database of another program; choose a new file")

    @contextmanager
    def _reported(self) -> Iterator[None]:
        """Turn whatever a database or its driver raises into one line."""
        from sqlalchemy.exc import SQLAlchemyError

        if self._path is None:
            require_extra("postgres", f"ledger {self}")
        try:
            yield
        except UnicodeEncodeError as error:  # bytes of an argument that are no text
            raise ParameterError(
                f"ledger {self}: a name, key or reason is no text that can be stored; write it in UTF-8"
            ) from error
        except UnicodeDecodeError as error:  # the driver quotes a damaged file
            raise GibbsafeError(f"ledger {self}: the file is damaged; restore it from a backup") from error
        except SQLAlchemyError as error:
            cause = " ".join(without_secrets(str(getattr(error, "orig", None) or error), self.url).split())
            raise GibbsafeError(f"ledger {self}: {cause[:300] or type(error).__name__}") from None  # it may quote the URL


def _decode(content: bytes) -> str:
    """Return a text of a SQLite row; bytes that are none are kept apart, so that the hash of what they say cannot fit."""
    return content.decode("utf-8", "surrogateescape")


@lru_cache(maxsize=64)
def _made_engine(url: str, patience: int, begin: str, settings: tuple[str, ...]) -> Engine:
    """Return an engine that keeps no connection, but what it learned of our statements: making one anew costs milliseconds."""
    from sqlalchemy import create_engine, event
    from sqlalchemy.pool import NullPool

    if not url.startswith("sqlite"):
        place = url.replace("postgresql://", "postgresql+psycopg://", 1)
        # One snapshot for readers; writers lock the account's row first and see what was committed before them.
        isolation = "REPEATABLE READ" if begin == "BEGIN" else "READ COMMITTED"
        return create_engine(place, poolclass=NullPool, isolation_level=isolation, connect_args={"connect_timeout": 10})
    engine = create_engine(url, poolclass=NullPool, connect_args={"timeout": patience})

    @event.listens_for(engine, "connect")
    def _configure(connection: Any, record: Any) -> None:
        connection.isolation_level = None  # transactions begin where `begin` says, not where the driver guesses
        connection.text_factory = _decode
        cursor = connection.cursor()
        for setting in ("PRAGMA synchronous=FULL", *settings):  # an acknowledged charge survives a power cut
            cursor.execute(setting)
        cursor.close()

    @event.listens_for(engine, "begin")
    def _begin(connection: Connection) -> None:
        connection.exec_driver_sql(begin)

    return engine
