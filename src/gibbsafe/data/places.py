"""Where a table lies: a path of this machine, or a URL of a file system that PyArrow opens (file, s3, gs, abfs, hdfs)."""

from __future__ import annotations

import csv
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any, TypeAlias

from gibbsafe.errors import DomainError, GibbsafeError

__all__ = ["Place", "RemoteFile", "is_url", "locate", "one_line_errors", "open_file", "open_stream", "shown", "size_of"]


@dataclass(frozen=True, eq=False)
class RemoteFile:
    """A file or directory of a PyArrow file system, by its path inside it; in words it is its URL."""

    system: Any
    inside: str
    url: str

    @property
    def name(self) -> str:
        """The last part of the path."""
        return PurePosixPath(self.inside).name

    @property
    def suffixes(self) -> list[str]:
        """What the name ends in."""
        return PurePosixPath(self.inside).suffixes

    def __str__(self) -> str:
        return self.url


Place: TypeAlias = Path | RemoteFile


def is_url(source: object) -> bool:
    """Whether a table is named by a URL: a scheme of two letters or more, so no drive of Windows.

    >>> is_url("s3://bucket/table"), is_url("C:/table"), is_url("table.csv")
    (True, False, False)
    """
    return isinstance(source, str) and re.match(r"[A-Za-z][A-Za-z0-9+.-]+://", source) is not None


def _plain_url(url: str) -> str:
    """Return a URL without password and options, which no message shows."""
    return re.sub(r"//[^/@]*@", "//", url.split("?", 1)[0].split("#", 1)[0])


def locate(source: str | Path) -> Place:
    """Return the place that a path or a URL names; `RemoteFile` where it is not of this machine."""
    if not is_url(source):
        return Path(source)
    import pyarrow as pa
    from pyarrow import fs

    plain = _plain_url(str(source))
    try:
        system, inside = fs.FileSystem.from_uri(str(source))
    except (pa.ArrowInvalid, NotImplementedError, ImportError) as error:  # the words may hold a password
        words = f"{plain}: no file system that this PyArrow opens (file, s3, gs, abfs, hdfs)"
        raise DomainError(words, private=type(error).__name__) from None
    except OSError as error:
        raise DomainError(f"{plain}: cannot be read ({_reason(error, remote=True)})", private=type(error).__name__) from None
    return Path(inside) if isinstance(system, fs.LocalFileSystem) else RemoteFile(system, inside, plain)


def open_file(place: Place, *, mapped: bool = False) -> Any:
    """Open a file to be read anywhere in it; on this machine also ``mapped`` into memory."""
    import pyarrow as pa

    if isinstance(place, RemoteFile):
        return place.system.open_input_file(place.inside)
    return pa.memory_map(str(place)) if mapped else pa.OSFile(str(place))


def open_stream(place: Place) -> Any:
    """Open a file to be read from its beginning, unpacked if its name says that it is packed."""
    import pyarrow as pa

    if isinstance(place, RemoteFile):
        return place.system.open_input_stream(place.inside, compression="detect")
    return pa.input_stream(str(place))


def size_of(place: Place) -> int:
    """Return a file's size in bytes."""
    if isinstance(place, RemoteFile):
        return int(place.system.get_file_info(place.inside).size or 0)
    return place.stat().st_size


def shown(place: Place | str) -> str:
    """Return a path for a message: names are as public as the path, values in directories named ``column=value`` are not.

    >>> shown("visits/ward=psychiatry/part-0.parquet")
    'visits/ward=…/part-0.parquet'
    """
    plain = re.sub(r"[\x00-\x1f\x7f-\x9f]", "?", str(place).replace("\\", "/"))
    return re.sub(r"(^|/)([^/=]+)=[^/]*(?=/)", r"\1\2=…", plain)


@contextmanager
def one_line_errors(place: Place | str) -> Iterator[None]:
    """Turn what PyArrow, NumPy and the operating system raise about a file into one line, which quotes nothing of the file."""
    import pyarrow as pa

    try:
        yield
    except GibbsafeError:
        raise
    except (pa.ArrowException, OSError, ValueError, EOFError, KeyError, LookupError, csv.Error) as error:
        reason = _reason(error, remote=isinstance(place, RemoteFile))
        private = "" if isinstance(error, OSError) and error.errno else str(error)[:240]
        raise DomainError(f"{shown(place)}: cannot be read ({reason})", private=private) from None


def _reason(error: Exception, *, remote: bool) -> str:
    """Say what the operating system or an object store says: it knows the file's name, not what it holds."""
    if isinstance(error, OSError) and error.errno:
        return os.strerror(error.errno)  # not PyArrow's own words, which quote the path
    if isinstance(error, PermissionError) or re.search(r"ACCESS_DENIED|AccessDenied|Forbidden|HTTP status 40[13]", str(error)):
        return "permission denied; ask for leave to list and read it"
    if isinstance(error, FileNotFoundError):
        return "it does not exist"
    if remote and isinstance(error, OSError):
        return "damaged, or its file system does not answer"
    return "damaged, or not what its name says"
