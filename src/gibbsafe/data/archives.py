"""NumPy archives (``.npz``), read in pieces: what is small on disk and large in memory is never unpacked whole."""

from __future__ import annotations

import io
import lzma
import zipfile
import zlib
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
import numpy.typing as npt

from gibbsafe.errors import DomainError

__all__ = ["ArchiveColumn", "archive_columns", "is_archive"]

#: How a ZIP file begins, with members or without.
MAGIC = (b"PK\x03\x04", b"PK\x05\x06")
#: Longest description of an array, and largest entry of one, in bytes.
LONGEST_HEADER = 10_000
LARGEST_ENTRY = 4096


@dataclass(frozen=True)
class ArchiveColumn:
    """One array of an archive: its form is known, its entries are unpacked as they are asked for."""

    path: Path
    member: str
    shape: tuple[int, ...]
    dtype: np.dtype[np.generic]

    def pieces(self, rows: int) -> Iterator[npt.NDArray[np.generic]]:
        """Yield the entries, ``rows`` at a time."""
        with _one_line(self.path), zipfile.ZipFile(self.path) as archive, archive.open(self.member) as stream:
            _read_form(stream)
            for first in range(0, self.shape[0], rows):
                wanted = min(rows, self.shape[0] - first) * self.dtype.itemsize
                content = stream.read(wanted)
                if len(content) != wanted:
                    raise zipfile.BadZipFile("an array is shorter than it says")
                yield np.frombuffer(content, dtype=self.dtype)


@contextmanager
def _one_line(path: Path) -> Iterator[None]:
    """Turn damage, an unknown packing and a password into a refusal."""
    try:
        yield
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, NotImplementedError, RuntimeError, EOFError) as error:
        raise DomainError(f"{path}: damaged, or not a NumPy archive") from error


def is_archive(path: Path) -> bool:
    """Whether a file is a NumPy archive, whatever its name says."""
    with path.open("rb") as file:
        return file.read(4) in MAGIC


def archive_columns(path: Path, wanted: Collection[str] = ()) -> dict[str, ArchiveColumn]:
    """Return the arrays of an archive by name, or the wanted ones among them; of each only the description is unpacked."""
    columns = {}
    with _one_line(path), zipfile.ZipFile(path) as archive:
        for member in archive.namelist():
            name = member.removesuffix(".npy")
            if not wanted or name in wanted:
                with archive.open(member) as stream:
                    columns[name] = ArchiveColumn(path, member, *_read_form(stream))
    return columns


def _read_form(stream: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[np.generic]]:
    """Return shape and type of an array, and leave the stream at its first entry; objects and long headers are refused."""
    start = stream.read(8)
    width = 2 if start[6:7] == b"\x01" else 4
    length = stream.read(width)
    if start[:6] != b"\x93NUMPY" or start[6:7] not in (b"\x01", b"\x02") or int.from_bytes(length, "little") > LONGEST_HEADER:
        raise ValueError("not an array that NumPy wrote")
    header = io.BytesIO(length + stream.read(int.from_bytes(length, "little")))
    read = np.lib.format.read_array_header_1_0 if width == 2 else np.lib.format.read_array_header_2_0
    shape, _, dtype = read(header)
    if dtype.hasobject or not 0 < dtype.itemsize <= LARGEST_ENTRY or any(length < 0 for length in shape):
        raise ValueError("entries that are no numbers or texts")
    return tuple(shape), dtype
