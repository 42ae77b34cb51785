"""A data set's file as the worker finds it: where it really lies, whether it is the one that was registered, and its form."""

from __future__ import annotations

import contextlib
import hmac
import os
from pathlib import Path

from gibbsafe.data.census import Unit
from gibbsafe.data.directories import column_names
from gibbsafe.data.places import is_url, locate, open_file
from gibbsafe.data.stream import check_count
from gibbsafe.errors import GibbsafeError
from gibbsafe.privacy import Adjacency
from gibbsafe.service.settings import Settings
from gibbsafe.study import Study

__all__ = ["FileRefusal", "fingerprint", "look", "resolved", "worker_secret"]


class FileRefusal(GibbsafeError):  # noqa: N818 - the house's word for it
    """What is wrong with a file's form: never what it holds."""


def resolved(source: str, settings: Settings) -> Path | str:
    """Return where a file really lies: in a folder that is open for data, and by no link in there. A URL stays what it is.

    A link could lead to another owner's records, and give them a second account.
    """
    if is_url(source):
        if not any(source.startswith(store) for store in settings.stores):
            raise FileRefusal("its store is not open any more; nothing was charged")
        return source
    try:
        stated = Path(source)
        path = stated.resolve(strict=True)
        inside = [folder for folder in map(Path.absolute, settings.data) if stated.is_relative_to(folder)]
        plain = any(path == folder.resolve() / stated.relative_to(folder) for folder in inside)
    except (OSError, RuntimeError):
        raise FileRefusal("its file is not there; nothing was charged") from None
    if not path.is_file() or not plain:
        raise FileRefusal("its file is not there; nothing was charged")
    return path


def fingerprint(place: Path | str, secret: bytes) -> str:
    """Return a file's HMAC: compared with the one of its registration. Whoever sees it but not the secret can test no guess."""
    made = hmac.new(secret, digestmod="sha256")
    try:
        with open_file(locate(place)) as file:
            while piece := file.read(2**20):
                made.update(piece)
    except (OSError, GibbsafeError):
        raise FileRefusal("its file cannot be read; nothing was charged") from None
    return made.hexdigest()


def worker_secret(settings: Settings) -> bytes:
    """Return the secret of fingerprints, a file beside the signing key that the first worker makes."""
    place = Path(f"{settings.key}.secret")
    with contextlib.suppress(FileExistsError):
        handle = os.open(place, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
        with os.fdopen(handle, "wb") as file:
            file.write(os.urandom(32))
    found = place.read_bytes()
    if len(found) != 32:
        raise GibbsafeError(f"{place}: is not a worker's secret; restore it from a backup, or register data sets anew")
    return found


def look(path: Path | str, study: Study) -> None:
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
