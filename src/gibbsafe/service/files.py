"""A data set's file as the worker finds it: where it really lies, whether it is the one that was registered, and its form."""

from __future__ import annotations

import hashlib
from pathlib import Path

from gibbsafe.data.census import Unit
from gibbsafe.data.files import column_names
from gibbsafe.data.stream import check_count
from gibbsafe.errors import GibbsafeError
from gibbsafe.privacy import Adjacency
from gibbsafe.service.settings import Settings
from gibbsafe.study import Study

__all__ = ["FileRefusal", "fingerprint", "look", "resolved"]


class FileRefusal(GibbsafeError):  # noqa: N818 - the house's word for it
    """What is wrong with a file's form: never what it holds."""


def resolved(source: str, settings: Settings) -> Path:
    """Return where a file really lies: links may not lead out of the folders that are open for data."""
    try:
        path = Path(source).resolve(strict=True)
        folders = [folder.resolve() for folder in settings.data]
    except (OSError, RuntimeError):
        raise FileRefusal("its file is not there; nothing was charged") from None
    if not path.is_file() or not any(path.is_relative_to(folder) for folder in folders):
        raise FileRefusal("its file is not there; nothing was charged")
    return path


def fingerprint(path: Path) -> str:
    """Return the SHA-256 of a file: compared with the one of its registration, and shown to nobody."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except OSError:
        raise FileRefusal("its file cannot be read; nothing was charged") from None


def look(path: Path, study: Study) -> None:
    """Refuse a file without the declared columns or with another number of records than declared: its form, and no value."""
    try:
        table = study.read(path)
        present = column_names(path, study.csv_format)
        missing = [name for name in table.wanted if present.count(name) != 1]
    except GibbsafeError:
        raise FileRefusal("its file is no table that can be read; nothing was charged") from None
    if missing:
        raise FileRefusal(f"its file does not have the column {missing[0]!r} once; nothing was charged")
    try:
        check_count(table, Unit(study.rows_per_person, study.n if study.adjacency == Adjacency.REPLACE_ONE else None))
    except GibbsafeError:
        raise FileRefusal("its file does not have the declared number of records; nothing was charged") from None
