"""What an installation decides: where its tables, its ledger and its key are, how long things last, how much anybody may ask."""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path

from gibbsafe._validate import count, fail, positive
from gibbsafe.data.places import is_url

__all__ = ["OpenIdProvider", "Settings"]


def new_id() -> str:
    """Return a name that nobody has: 64 random bits."""
    return secrets.token_hex(8)


def new_secret() -> str:
    """Return a secret of 256 random bits."""
    return secrets.token_urlsafe(32)


@dataclass(frozen=True)
class OpenIdProvider:
    """A provider of identities: its address, and what it knows this service by."""

    issuer: str
    client_id: str
    client_secret: str = field(repr=False)
    label: str = "single sign-on"


@dataclass(frozen=True)
class Settings:
    """Everything an installation states. Nothing of it comes from data.

    Attributes:
        database: of the service's own tables, ``sqlite:///path`` or ``postgresql://...``.
        ledger: URL of the ledger's database; on PostgreSQL it may be the same, a SQLite ledger is a file of its own.
        key: private key that signs releases (`gibbsafe key new`); the worker's alone. Its public half stands beside it.
        data: folders in which data sets may lie; owners name nothing outside them.
        stores: beginnings of URLs of object stores in which data sets may lie, such as ``s3://bucket/desk/``.
        own_folders: whether an owner's files lie in a folder of their own name in there, so that no owner names another's.
        anchor: where the ledger's accounts leave their marks, or None.
        secure: whether browsers reach it by HTTPS: cookies are then sent over nothing else.
        hosts: names by which it may be called; others are refused.
        slot: seconds of a slot: results appear at whole slots only, and what is late slips by whole ones.
        speed: how many stated seconds of work a worker's core does in a second, for the time at which results appear.
        session: seconds that a session lasts.
        token_days: days after which tokens end, at most.
        requests_per_minute: of one caller; None for no limit. Logins have a tenth of it.
        largest_body: bytes of a request's body, at most.
        largest_rows: rows that one question to a release may be about, at most.
        most_pending: requests of one analyst that wait for an answer, at most.
        longest_work: stated seconds of a plan's work, at most.
        unstated_work: seconds that stand for the work of plans which cannot state it, n being private.
        preview_rows: rows of the made-up tables of a preview, at most.
        lease: seconds without a sign of life after which a worker counts as dead.
        open_id: a provider of identities, or None.
        clock, new_id, new_secret: time, names and secrets; tests bring their own.
    """

    database: str = field(repr=False)
    ledger: str = field(repr=False)
    key: Path
    data: tuple[Path, ...] = ()
    stores: tuple[str, ...] = ()
    own_folders: bool = False
    anchor: str | None = None
    secure: bool = True
    hosts: tuple[str, ...] = ("localhost", "127.0.0.1")
    slot: int = 60
    speed: float = 0.5
    session: int = 3600
    token_days: int = 365
    requests_per_minute: int | None = 600
    largest_body: int = 2_000_000
    largest_rows: int = 10_000
    most_pending: int = 50
    longest_work: float = 3600.0
    unstated_work: float = 300.0
    preview_rows: int = 5_000
    lease: float = 120.0
    open_id: OpenIdProvider | None = None
    clock: Callable[[], float] = time.time
    new_id: Callable[[], str] = new_id
    new_secret: Callable[[], str] = new_secret

    def __post_init__(self) -> None:
        for name in ("speed", "longest_work", "unstated_work", "lease"):
            positive(name, getattr(self, name))
        for name in ("slot", "session", "token_days", "largest_body", "largest_rows", "most_pending", "preview_rows"):
            count(name, getattr(self, name))
        for store in self.stores:
            if not is_url(store) or store.startswith("file:") or not store.endswith("/"):
                fail("stores", store, "the beginning of a URL of an object store, ending in '/': s3://bucket/folder/")
        if self.requests_per_minute is not None:
            count("requests_per_minute", self.requests_per_minute)
        if self.database == self.ledger and self.database.startswith("sqlite"):
            fail("ledger", self.ledger, "a SQLite file of its own, beside the service's")

    @property
    def public_key(self) -> Path:
        """The public half of the signing key."""
        return Path(f"{self.key}.pub")
