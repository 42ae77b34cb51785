"""Archives that are small on disk and large in memory are refused by what they declare, before anything is unpacked."""

from __future__ import annotations

import zipfile
from pathlib import Path

from gibbsafe.errors import DomainError

__all__ = ["require_room"]


def require_room(path: Path | str, memory: int | None) -> None:
    """Refuse a NumPy archive whose arrays would take more than ``memory`` bytes: they are unpacked whole.

    Text tables under gzip are read piece by piece and need no such check. What an archive declares is what is unpacked of it.
    """
    if memory is None or Path(path).suffix.lower() != ".npz":
        return
    try:
        with zipfile.ZipFile(path) as archive:
            total = sum(member.file_size for member in archive.infolist())
    except (OSError, zipfile.BadZipFile):
        return  # whoever reads it says why it cannot be read
    if total > memory:
        raise DomainError(f"{path}: unpacks to more than --memory allows; allow more, or store its columns as .npy or Parquet")
