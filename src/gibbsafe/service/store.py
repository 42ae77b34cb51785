"""The service's database: connections, transactions, and what goes wrong with them in one line."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Engine, create_engine, event
from sqlalchemy.exc import IntegrityError, SQLAlchemyError

from gibbsafe._extras import require_extra
from gibbsafe._text import masked
from gibbsafe.errors import GibbsafeError
from gibbsafe.service.refusals import Refusal

if TYPE_CHECKING:
    from alembic.config import Config

__all__ = ["DOWN", "Store"]

#: What everybody hears who comes while a database does not answer.
DOWN = "the desk's database does not answer; nothing was done, try again in a minute"
#: Seconds that a transaction waits for another one.
PATIENCE = 30

logger = logging.getLogger("gibbsafe.service")


class Store:
    """The tables' database by its URL, ``sqlite:///path`` or ``postgresql://...``."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.postgres = url.startswith("postgresql")
        if self.postgres:
            require_extra("postgres", f"database {masked(url)}")
        elif not url.startswith("sqlite:///"):
            raise GibbsafeError(f"database {masked(url)}: not sqlite:///path or postgresql://user@host/database")

    @cached_property
    def engine(self) -> Engine:
        """The engine, with connections kept for the next transaction."""
        if self.postgres:
            url = self.url.replace("postgresql://", "postgresql+psycopg://", 1)
            options = f"-c lock_timeout={PATIENCE}s -c idle_in_transaction_session_timeout={PATIENCE}s"
            arguments = {"connect_timeout": 10, "options": options}
            return create_engine(url, pool_size=10, pool_pre_ping=True, connect_args=arguments)
        engine = create_engine(self.url, connect_args={"timeout": PATIENCE, "check_same_thread": False})

        @event.listens_for(engine, "connect")
        def _configure(connection: Any, record: Any) -> None:
            connection.isolation_level = None  # transactions begin where `writing` says
            cursor = connection.cursor()
            for setting in ("PRAGMA journal_mode=WAL", "PRAGMA synchronous=FULL", "PRAGMA foreign_keys=ON"):
                cursor.execute(setting)
            cursor.close()

        @event.listens_for(engine, "begin")
        def _begin(connection: Connection) -> None:
            connection.exec_driver_sql(connection.get_execution_options().get("begin", "BEGIN"))

        return engine

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Yield a connection in a transaction that reads."""
        with self._reported(), self.engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Yield a connection in a transaction that writes: committed whole at the end, or not at all."""
        with self._reported(), self.engine.connect() as connection:
            chosen = connection.execution_options(begin="BEGIN IMMEDIATE")
            with chosen.begin():
                yield chosen

    @contextmanager
    def _reported(self) -> Iterator[None]:
        try:
            yield
        except IntegrityError:
            raise Refusal(409, "this is there already, or was changed by somebody else meanwhile; look again") from None
        except SQLAlchemyError as error:
            logger.error("database: %s", type(error).__name__)  # its text may quote what was sent
            raise Refusal(503, DOWN) from None

    # -- migrations ----------------------------------------------------------------------------------------------

    def migrate(self) -> None:
        """Bring the tables up to this version's, from an empty database or an older one."""
        from alembic import command

        with self._reported(), self.engine.connect() as connection, connection.begin():
            command.upgrade(self._config(connection), "head")

    def _config(self, connection: Connection) -> Config:
        from alembic.config import Config

        config = Config()
        config.set_main_option("script_location", str(Path(__file__).parent / "migrations"))
        config.attributes["connection"] = connection
        return config
