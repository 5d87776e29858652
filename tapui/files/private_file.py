"""Small secret files and their folders: for their owner only, written whole, removed while ours."""

import contextlib
import errno
import hmac
import os
import stat
from pathlib import Path

_MAX_BYTES = 64 * 1024


def check_own(fd: int) -> os.stat_result:
    """Return what an open file is; raises `OSError` for anything but a file with a single name.

    What is written to a hard link changes a file elsewhere, which may be another program's.
    """
    info = os.fstat(fd)
    if not stat.S_ISREG(info.st_mode):
        raise OSError(errno.EINVAL, "it is not a plain file")
    if info.st_nlink > 1:
        raise OSError(errno.EMLINK, "it is a hard link: the same file has another name")
    return info


def private_folder(base: Path, *parts: str) -> Path:
    """Make a folder below `base`: 0700, no part of it a link. Raises `OSError`."""
    with contextlib.suppress(FileExistsError):  # a file in its way shows when it is opened
        base.mkdir(mode=0o700, parents=True, exist_ok=True)
    fd = os.open(base, os.O_RDONLY | os.O_DIRECTORY)
    try:
        for part in parts:
            with contextlib.suppress(FileExistsError):  # what it is shows when it is opened
                os.mkdir(part, 0o700, dir_fd=fd)
            child = os.open(part, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=fd)
            os.close(fd)
            fd = child
        info = os.fstat(fd)
        if stat.S_IMODE(info.st_mode) != 0o700:
            os.fchmod(fd, 0o700)
    finally:
        os.close(fd)
    return base.joinpath(*parts)


def write(folder: int, name: str, data: bytes, *, is_lasting: bool = True) -> None:
    """Put a file of mode 0600 into the open folder, replacing what has the name.

    A reader sees the old file or the new one, never a part. That holds after a power cut, too,
    where it `is_lasting`: then this waits for the disk. A link of that name is replaced, not
    followed. The caller is the folder's only writer. Raises `OSError`, which names the file.
    """
    fresh = f"{name}.new"
    with contextlib.suppress(FileNotFoundError):  # no earlier attempt was interrupted
        os.unlink(fresh, dir_fd=folder)
    flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    fd = os.open(fresh, flags, 0o600, dir_fd=folder)
    try:
        with open(fd, "wb") as file:  # noqa: PTH123 - of a descriptor
            os.fchmod(fd, 0o600)
            file.write(data)
            file.flush()
            if is_lasting:
                os.fsync(fd)
        os.rename(fresh, name, src_dir_fd=folder, dst_dir_fd=folder)
    except OSError as error:
        with contextlib.suppress(FileNotFoundError):  # it has its new name already
            os.unlink(fresh, dir_fd=folder)
        raise OSError(error.errno, error.strerror, name) from None


def remove_if_holds(folder: int, name: str, data: bytes) -> bool:
    """Remove the file if its content is `data`; return whether it was. Raises `OSError`."""
    try:
        fd = os.open(name, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK, dir_fd=folder)
    except FileNotFoundError:
        return False
    except OSError as error:
        if error.errno == errno.ELOOP:
            return False  # somebody put a link in its place
        raise
    with open(fd, "rb") as file:  # noqa: PTH123 - of a descriptor
        found = file.read(_MAX_BYTES)
    if not hmac.compare_digest(found, data):
        return False
    with contextlib.suppress(FileNotFoundError):  # somebody was faster
        os.unlink(name, dir_fd=folder)
    return True
