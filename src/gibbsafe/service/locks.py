"""One worker on SQLite: a lock on a file beside the database, which ends with the process that holds it."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.util import find_spec

from gibbsafe.errors import GibbsafeError

__all__ = ["sole_worker"]


@contextmanager
def sole_worker(url: str) -> Iterator[bool]:
    """Hold the worker's lock of a SQLite database; yield whether there can be no other worker. PostgreSQL takes many."""
    if not url.startswith("sqlite") or find_spec("fcntl") is None:
        yield False
        return
    import fcntl

    place = f"{url.removeprefix('sqlite:///')}.worker"
    handle = os.open(place, os.O_CREAT | os.O_RDWR, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise GibbsafeError("worker: another one works on this SQLite database; stop it, or move to PostgreSQL") from None
        yield True
    finally:
        os.close(handle)
