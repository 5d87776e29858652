"""Files that another user may control, opened without blocking.

`text_of` reads one, bounded, its owner checked; `open_within` stays within a folder. `decoded` is
the text of any file that a person's editor may have written.
"""

import codecs
import errno
import os
import stat
from pathlib import Path
from typing import Literal

ROOT = 0
"""The user who must own the administrator's file."""
_MAX_BYTES = 1024 * 1024
_UTF_16 = "it is UTF-16: save it as UTF-8"
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


class NotOwnersFileError(OSError):
    """A file that belongs to another user than its owner must be, or that others can write."""


def decoded(data: bytes, errors: Literal["strict", "replace"] = "strict") -> str:
    """Return a file's text without the byte order mark that some editors put first.

    Line ends stay. With `replace` any bytes are a text, UTF-16 is read too. Else raises
    `UnicodeDecodeError`, which `encoding_fault` tells in words.
    """
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        if errors == "strict":
            raise UnicodeDecodeError("utf-8", data, 0, 2, _UTF_16)
        return data.decode("utf-16", errors)
    return data.decode("utf-8-sig", errors)


def encoding_fault(error: UnicodeDecodeError) -> tuple[int, str]:
    """Return the line (from 1) at which a file is not UTF-8, and what to tell the person."""
    line = error.object.count(b"\n", 0, error.start) + 1
    return line, _UTF_16 if error.reason == _UTF_16 else "not valid UTF-8"


def rewritten(text: str, before: bytes) -> bytes:
    """Return a file's new text with the byte order mark and the line ends that the file had."""
    if before.count(b"\n") == before.count(b"\r\n") > 0:
        text = text.replace("\r\n", "\n").replace("\n", "\r\n")
    return codecs.BOM_UTF8 * before.startswith(codecs.BOM_UTF8) + text.encode()


def text_of(path: Path, owner: int | None = None) -> str:
    """Read a file, `decoded`. With `owner`, it must be that user's, writable by no other, no link.

    Raises `NotOwnersFileError`, other `OSError`s and `UnicodeDecodeError`.
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
            raise NotOwnersFileError(0, "it belongs to another user, or others can write it")
        with os.fdopen(os.dup(fd), "rb") as file:
            return decoded(file.read(_MAX_BYTES + 1))
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
        raise ManagedFileError("line {}: {}".format(*encoding_fault(error))) from None
    except NotOwnersFileError:
        why = "others than root can write it, so none of it holds"
        raise ManagedFileError(why) from None
    except OSError as error:
        why = "it is a link" if error.errno == errno.ELOOP else error.strerror or str(error)
        raise ManagedFileError(why) from None


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
