"""Read a file that another user may control: without a wait, bounded, its owner checked."""

import errno
import os
import stat
from pathlib import Path

ROOT = 0
"""The user who must own the administrator's file."""
_MAX_BYTES = 1024 * 1024


def text_of(path: Path, owner: int | None = None) -> str:
    """Read a file that may be anybody's, or must be `owner`'s alone and no link.

    Raises `OSError` and `UnicodeDecodeError`.
    """
    no_link = 0 if owner is None else os.O_NOFOLLOW
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | no_link)
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


class ManagedFileError(Exception):
    """The administrator's file is there and cannot be read. The text says why.

    What it forbids is not known then: settings are not loaded, and no rule allows anything.
    """


def managed_text(path: Path, owner: int = ROOT) -> str | None:
    """Return the administrator's file, None where there is none. Raises `ManagedFileError`.

    Its folder counts as the file does: who can write it can take the file away.
    """
    try:
        folder = path.parent.stat()
        if folder.st_uid != owner or folder.st_mode & 0o022:
            raise OSError(0, f"others than root can write {path.parent}")
        return text_of(path, owner)
    except FileNotFoundError:
        if path.parent.is_symlink() and not path.parent.exists():
            raise ManagedFileError(f"{path.parent} is a link that leads nowhere") from None
        return None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        raise ManagedFileError(f"line {line} is not valid UTF-8") from None
    except OSError as error:
        why = "it is a link" if error.errno == errno.ELOOP else error.strerror or str(error)
        raise ManagedFileError(why) from None
