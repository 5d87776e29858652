"""The lock of a folder in which processes of tapui write by turns."""

import contextlib
import errno
import fcntl
import os
import time
from collections.abc import Iterator
from pathlib import Path

_SECONDS = 2.0
_PAUSE = 0.02
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


@contextlib.contextmanager
def locked(folder: str | Path) -> Iterator[int]:
    """Hold the lock of a folder, whose descriptor is given.

    Anybody may hold it, so it is waited for only 2 s. Raises `OSError`; not on a loop.
    """
    fd = os.open(folder, _FOLDER)
    try:
        end = time.monotonic() + _SECONDS
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > end:
                    raise OSError(errno.EWOULDBLOCK, "another program has locked it") from None
                time.sleep(_PAUSE)
        yield fd
    finally:
        os.close(fd)
