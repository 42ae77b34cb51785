"""Files are written whole or not at all."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from gibbsafe.errors import GibbsafeError

__all__ = ["write_whole"]


def write_whole(path: Path | str, content: bytes) -> None:
    """Write ``content`` to a temporary file beside ``path``, flush it to disk, and rename it into place."""
    target = Path(path)
    scratch: str | None = None
    try:
        handle, scratch = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent)
        with os.fdopen(handle, "wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(scratch, 0o666 & ~umask)  # mkstemp's owner-only mode would surprise whoever the file is for
        os.replace(scratch, target)
        scratch = None
    except OSError as error:
        raise GibbsafeError(f"{target}: cannot be written ({error.strerror or error}); choose a path you may write to") from error
    finally:
        if scratch is not None:
            with contextlib.suppress(OSError):
                os.unlink(scratch)
