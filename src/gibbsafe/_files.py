"""Files are written whole or not at all, and nothing that exists is lost.

A file gets its name only when all of it is on disk, by a link that fails if the name is taken: of two writers to one path one is
refused and nothing is overwritten. Until then it has no name at all (Linux), so that a killed process leaves nothing behind.
"""

from __future__ import annotations

import contextlib
import os
import secrets
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from gibbsafe.errors import GibbsafeError

__all__ = ["BINARY", "alone_in", "flush_folder", "require_free", "write_whole"]

#: Whether a folder can be opened, to lock it or to flush its names: on Windows none can.
FOLDERS_OPEN = os.name != "nt"
#: On Windows a file is opened for bytes by a flag of its own.
BINARY = getattr(os, "O_BINARY", 0)
#: How files begin that are never overwritten, not even by force: a ledger is one.
DATABASE = b"SQLite format 3\0"
BESIDE_DATABASES = ("-wal", "-shm", "-journal")


def require_free(path: Path | str, *, force: bool = False, inputs: Iterable[Path | str] = ()) -> None:
    """Refuse, before anything is spent, a name that is taken, an input, a ledger, or a place that cannot be written to.

    With ``force`` an ordinary file may be overwritten; an input of the same command and a database may not.
    """
    target = Path(path)
    for source in inputs:
        with contextlib.suppress(OSError):
            if os.path.samefile(target, source):
                raise GibbsafeError(f"{target}: is an input of this command; choose another name")
    if os.path.lexists(target) and not (force and target.is_file()):
        if target.is_file():
            raise GibbsafeError(f"{target}: exists already; choose another name or --force")
        raise GibbsafeError(f"{target}: exists already and cannot be written, being no file; choose another name")
    if _belongs_to_database(target):
        raise GibbsafeError(f"{target}: belongs to a database; choose another name")
    with _refusals(target), _unnamed(target.parent) as handle:
        os.write(handle, b"room?")


def _belongs_to_database(target: Path) -> bool:
    names = [target.name, *(target.name.removesuffix(end) for end in BESIDE_DATABASES if target.name.endswith(end))]
    for name in names:
        with contextlib.suppress(OSError), (target.parent / name).open("rb") as file:
            if file.read(len(DATABASE)) == DATABASE:
                return True
    return False


def write_whole(
    path: Path | str, content: bytes, *, force: bool = False, inputs: Iterable[Path | str] = (), private: bool = False
) -> None:
    """Write a new file; with ``force`` an existing one may be replaced, with ``private`` only its owner may read it.

    The same content again is no clash. File and folder are flushed to disk before this returns.
    """
    target = Path(path)
    if not force and _has(target, content):
        return
    require_free(target, force=force, inputs=inputs)
    with _refusals(target), _unnamed(target.parent, 0o600 if private else 0o666) as handle:
        _write_all(handle, content)
        os.fsync(handle)
        _publish(handle, target, force=force)
        flush_folder(target.parent)


def _has(target: Path, content: bytes) -> bool:
    try:
        return target.is_file() and target.stat().st_size == len(content) and target.read_bytes() == content
    except OSError:
        return False


def _write_all(handle: int, content: bytes) -> None:
    left = memoryview(content)
    while left:
        left = left[os.write(handle, left) :]


@contextmanager
def _refusals(target: Path) -> Iterator[None]:
    try:
        yield
    except FileExistsError as error:
        raise GibbsafeError(f"{target}: exists already; choose another name or --force") from error
    except OSError as error:
        raise GibbsafeError(f"{target}: cannot be written ({error.strerror or error}); choose a path you may write to") from error


#: Names of scratch files by their handles, where the system knows no files without a name.
_NAMES: dict[int, str] = {}


@contextmanager
def _unnamed(folder: Path, mode: int = 0o666) -> Iterator[int]:
    """Yield the handle of a file without a name, or with a hidden one where the system has none such; it applies the umask."""
    name = None
    try:
        handle = os.open(folder, os.O_TMPFILE | os.O_WRONLY, mode)
    except (AttributeError, OSError) as error:
        if isinstance(error, FileNotFoundError | NotADirectoryError | PermissionError):
            raise
        name = str(folder / f".gibbsafe-{secrets.token_hex(8)}")
        handle = os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY | BINARY, mode)
        _NAMES[handle] = name
    try:
        yield handle
    finally:
        _NAMES.pop(handle, None)
        os.close(handle)
        if name is not None:
            with contextlib.suppress(OSError):
                os.unlink(name)


def _publish(handle: int, target: Path, *, force: bool) -> None:
    """Give a file its name: by a link, which fails where the name is taken; by force through a hidden name that replaces it."""
    if not force:
        _link(handle, target)
        return
    hidden = target.parent / f".gibbsafe-{secrets.token_hex(8)}"
    _link(handle, hidden)
    try:
        os.replace(hidden, target)
    except OSError:
        os.unlink(hidden)
        raise


def _link(handle: int, name: Path) -> None:
    scratch = _NAMES.get(handle)
    if scratch is None:
        folder = os.open(name.parent, os.O_RDONLY)
        try:  # naming a folder makes the system follow /proc's link to the file without a name
            os.link(f"/proc/self/fd/{handle}", name.name, dst_dir_fd=folder, follow_symlinks=True)
        finally:
            os.close(folder)
        return
    try:
        os.link(scratch, name)
    except FileExistsError:
        raise
    except OSError:  # a file system without links: take the name first, which fails if it is taken, then fill it in one step
        os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
        os.replace(scratch, name)


@contextmanager
def alone_in(folder: Path) -> Iterator[None]:
    """Let one process at a time read and replace a file of this folder, where the system knows locks."""
    with _opened_folder(folder) as handle:
        if handle is not None:
            with contextlib.suppress(ImportError, OSError):
                import fcntl

                fcntl.flock(handle, fcntl.LOCK_EX)
        yield


@contextmanager
def _opened_folder(folder: Path) -> Iterator[int | None]:
    """Yield a handle of a folder; None on Windows, which opens none."""
    if not FOLDERS_OPEN:
        yield None
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        yield handle
    finally:
        os.close(handle)


def flush_folder(folder: Path) -> None:
    """Flush the names in a folder to disk."""
    with _opened_folder(folder) as handle:
        if handle is not None:
            with contextlib.suppress(OSError):  # some file systems do not flush folders
                os.fsync(handle)
