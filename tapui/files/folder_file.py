"""Files of a folder that others may write to: opened without blocking, never outside of it."""

import errno
import os
import stat
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class NotInFolderError(OSError):
    """A path that leads out of its folder."""


def open_within(folder: str, path: str) -> tuple[int, os.stat_result]:
    """Open a regular file below `folder`, which has no links in it, for reading.

    Links within the folder are followed. `path` is absolute or relative to `folder`. Raises
    `NotInFolderError`, and `OSError` for what is not there or is no file: nothing else is opened.
    """
    real = real_path(Path(folder, path))
    parts = inner_parts(folder, real)
    if not parts:
        raise NotInFolderError(errno.EXDEV, "it leads out of the folder")
    fd = os.open(folder, _FOLDER)
    try:
        for part in parts[:-1]:
            inner = os.open(part, _FOLDER, dir_fd=fd)
            os.close(fd)
            fd = inner
        if not stat.S_ISREG(os.stat(parts[-1], dir_fd=fd, follow_symlinks=False).st_mode):
            raise OSError(errno.EINVAL, "it is not a file")
        file = os.open(parts[-1], _FILE, dir_fd=fd)
    finally:
        os.close(fd)
    info = os.fstat(file)
    if not stat.S_ISREG(info.st_mode):
        os.close(file)
        raise OSError(errno.EINVAL, "it is not a file")
    return file, info


def read_up_to(fd: int, most: int) -> bytes:
    """Read at most so many bytes from the beginning. Raises `OSError`."""
    parts = []
    left = most
    while left > 0 and (part := os.read(fd, min(left, 1024 * 1024))):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def real_path(path: Path) -> str:
    """Return a path without links; raises `OSError` for one that no file can have."""
    try:
        return os.path.realpath(path)
    except ValueError as error:
        raise OSError(errno.EINVAL, str(error)) from None


def inner_parts(folder: str, real: str) -> tuple[str, ...] | None:
    """Return the names that lead from a folder to a path in it, both without links; else None."""
    if real == folder or not Path(real).is_relative_to(folder):
        return None
    return Path(real).relative_to(folder).parts


def reason(error: OSError) -> str:
    """Return in words why something failed, without the path."""
    return error.strerror or str(error) or type(error).__name__
