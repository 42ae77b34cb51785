"""The second place: what a ledger ends with, written where whoever restores an old copy of the ledger does not reach.

Every charge appends a *mark* (account, ledger id, number of entries, head) to a file, to a table of another database, or prints
it for a log. A ledger that ends before its newest mark, or whose chain does not contain it, was rolled back, replaced or
rewritten: it is refused. Marks are written after the charge is committed and before anything is sampled, so that no draw exists
whose charge is not marked, and a crash in between leaves a mark behind the ledger, never ahead of it.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar, Protocol, TypeVar

from gibbsafe._files import BINARY, flush_folder
from gibbsafe.errors import CertificateError, GibbsafeError
from gibbsafe.ledger.database import Database
from gibbsafe.ledger.journal import canonical
from gibbsafe.ledger.recompute import State
from gibbsafe.ledger.secret import resolve

if TYPE_CHECKING:
    from sqlalchemy import Connection

__all__ = ["Anchor", "DatabaseAnchor", "FileAnchor", "Mark", "PrintedAnchor", "anchor_at", "require_anchored"]

FORMAT = "gibbsafe/anchor/1"
T = TypeVar("T")


@dataclass(frozen=True)
class Mark:
    """That an account of a ledger had this many entries, the last one with this hash."""

    account: str
    ledger: str
    entries: int
    head: str

    @classmethod
    def of(cls, account: str, state: State) -> Mark:
        """Return the mark of an account as it is now."""
        return cls(account, state.ledger_id, len(state.entries), state.head)

    def to_json(self) -> str:
        """Return the mark in one line."""
        return canonical({"format": FORMAT, **asdict(self)})


class Anchor(Protocol):
    """A place that keeps marks; from most they can be read back."""

    readable: ClassVar[bool]

    def newest(self, account: str) -> Mark | None:
        """Return the mark with the most entries of an account, or None if there is none (or nobody can tell)."""

    def append(self, mark: Mark) -> None:
        """Add a mark; it is on disk when this returns."""


@dataclass(frozen=True)
class FileAnchor:
    """Lines of a file that are only ever appended to (``chattr +a`` suits it)."""

    path: Path

    readable: ClassVar[bool] = True

    def __str__(self) -> str:
        return str(self.path)

    def newest(self, account: str) -> Mark | None:
        """Return the account's mark with the most entries; a line torn by a crash is of a charge that released nothing."""
        marks = [mark for mark in self._marks() if mark.account == account]
        return max(marks, key=lambda mark: mark.entries, default=None)

    def _marks(self) -> list[Mark]:
        """Return every mark; refuse a file of something else, so that no mark is ever written into a ledger or a table."""
        try:
            content = self.path.read_bytes()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise GibbsafeError(f"anchor {self}: cannot be read ({error.strerror or error})") from error
        marks = [mark for mark in map(_read_line, content.splitlines()) if mark is not None]
        if content.strip() and not marks and not content.startswith(b'\n{"account":'):  # the first mark, torn by a crash
            raise GibbsafeError(f"anchor {self}: a file of something else, without a mark; choose another name")
        return marks

    def append(self, mark: Mark) -> None:
        """Add a line in one write and flush it to disk, with the folder if the file is new; another file is left alone."""
        self._marks()
        try:
            new = not self.path.exists()
            handle = os.open(self.path, os.O_WRONLY | os.O_APPEND | os.O_CREAT | BINARY, 0o644)
            try:
                os.write(handle, f"\n{mark.to_json()}\n".encode())  # begins a line of its own, whatever stands before
                os.fsync(handle)
            finally:
                os.close(handle)
            if new:
                flush_folder(self.path.parent)
        except OSError as error:
            raise GibbsafeError(f"anchor {self}: cannot be written ({error.strerror or error})") from error


def _read_line(line: bytes) -> Mark | None:
    try:
        content = json.loads(line)
        if content.pop("format") != FORMAT:
            return None
        mark = Mark(**content)
    except (AttributeError, KeyError, RecursionError, TypeError, ValueError):
        return None
    sound = type(mark.entries) is int and all(isinstance(each, str) for each in (mark.account, mark.ledger, mark.head))
    return mark if sound else None


@dataclass(frozen=True)
class DatabaseAnchor:
    """A table ``gibbsafe_anchors`` in another database, whose writer needs INSERT and SELECT only."""

    url: str = field(repr=False)

    readable: ClassVar[bool] = True

    def __str__(self) -> str:
        return str(Database(self.url))

    def newest(self, account: str) -> Mark | None:
        """Return the account's mark with the most entries."""
        from sqlalchemy import select

        from gibbsafe.ledger.tables import anchors

        query = select(anchors).where(anchors.c.account == account).order_by(anchors.c.entries.desc()).limit(1)
        row = self._run(lambda connection: connection.execute(query).first())
        return None if row is None else Mark(row.account, row.ledger, row.entries, row.head)

    def append(self, mark: Mark) -> None:
        """Insert a mark."""
        from sqlalchemy import insert

        from gibbsafe.ledger.tables import anchors

        self._run(lambda connection: connection.execute(insert(anchors).values(**asdict(mark))))

    def _run(self, work: Callable[[Connection], T]) -> T:
        from gibbsafe.ledger.tables import anchors_metadata

        place = Database(self.url)
        with place._reported(), place._engine("BEGIN IMMEDIATE").begin() as connection:
            place._configure_server(connection)
            anchors_metadata.create_all(connection)
            return work(connection)


@dataclass(frozen=True)
class PrintedAnchor:
    """Standard output, for a log that others keep; it cannot be read back, so `check --head` is how it is compared."""

    readable: ClassVar[bool] = False

    def __str__(self) -> str:
        return "standard output"

    def newest(self, account: str) -> Mark | None:
        """Return None: what was printed is not here."""
        return None

    def append(self, mark: Mark) -> None:
        """Print the mark in one line."""
        sys.stdout.write(mark.to_json() + "\n")
        sys.stdout.flush()


def anchor_at(place: str) -> Anchor:
    """Return the anchor that a text names: ``-`` prints, a URL is a database, anything else a file.

    >>> anchor_at("-"), anchor_at("marks.jsonl")
    (PrintedAnchor(), FileAnchor(path=PosixPath('marks.jsonl')))
    """
    if place == "-":
        return PrintedAnchor()
    found = resolve(place)
    return DatabaseAnchor(found) if "://" in found else FileAnchor(Path(found))


def require_anchored(account: str, state: State, anchor: Anchor) -> None:
    """Refuse a ledger that is not the one its anchor knows, or ends before it."""
    if not anchor.readable:
        return
    mark = anchor.newest(account)
    if mark is None:
        raise CertificateError(
            f"account {account!r}: anchor {anchor} has no mark of it; write the first one with 'gibbsafe ledger anchor'"
        )
    if mark.ledger != state.ledger_id:
        raise CertificateError(
            f"account {account!r}: is not the one that anchor {anchor} knows, but another of the same name; restore that one"
        )
    if mark.entries > len(state.entries):
        raise CertificateError(
            f"account {account!r}: has {len(state.entries)} entries, but anchor {anchor} knows {mark.entries}; "
            "an old copy was restored"
        )
    if mark.entries < 1 or state.entries[mark.entries - 1]["hash"] != mark.head:
        raise CertificateError(f"account {account!r}: its chain is not the one that anchor {anchor} knows; it was rewritten")
