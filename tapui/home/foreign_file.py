"""Reading a file that others may have written: never waited for, bounded, and whose it is."""

import os
import stat
from pathlib import Path

ROOT = 0
"""The user whose file the administrator's must be."""
_MAX_BYTES = 1024 * 1024


def text_of(path: Path, owner: int | None = None) -> str:
    """Read a file that may be anybody's, or must be `owner`'s alone.

    Raises `OSError` and `UnicodeDecodeError`.
    """
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    try:
        info = os.fstat(fd)
        if not stat.S_ISREG(info.st_mode):
            raise OSError(0, "it is not a file")
        if info.st_size > _MAX_BYTES:
            raise OSError(0, f"it is larger than {_MAX_BYTES:,} bytes")
        if owner is not None and (info.st_uid != owner or info.st_mode & 0o022):
            raise OSError(0, "others than root can write it, so none of it holds")
        with os.fdopen(os.dup(fd), "rb") as file:
            return file.read(_MAX_BYTES + 1).decode()
    finally:
        os.close(fd)
