"""Folders and their locks: private ones with one writer, and those that are written by turns."""

import contextlib
import errno
import fcntl
import os
import re
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from tapui.files import private_file

FOLDER_MODE = 0o700
FILE_MODE = 0o600

_FOLDER_FLAGS = os.O_RDONLY | os.O_DIRECTORY
_LOCK_FLAGS = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
_OUTSIDE = re.compile(r"[^A-Za-z0-9._-]")
_NAME_LENGTH = 64
_WAIT_SECONDS = 2.0
_WAIT_PAUSE = 0.02
_LOCKLESS = {errno.ENOLCK, errno.EOPNOTSUPP, errno.ENOSYS}


def make_path(path: Path) -> list[int]:
    """Make the folder and its missing parents, 0700 each.

    Returns descriptors of the folders that got a new entry, to be synced and closed. Raises
    `OSError`.
    """
    missing = []
    while not path.exists():
        missing.append(path)
        path = path.parent
    changed: list[int] = []
    try:
        for folder in reversed(missing):
            with contextlib.suppress(FileExistsError):  # another process was faster
                folder.mkdir(FOLDER_MODE)
            changed.append(os.open(folder.parent, _FOLDER_FLAGS))
    except OSError:
        for fd in changed:
            os.close(fd)
        raise
    return changed


class FolderHeldError(OSError):
    """Another writer holds the folder's lock."""


def folder_name(identity: str) -> str:
    """Return `identity` (a session id, a provider's name) as the name of a folder.

    Only `[A-Za-z0-9._-]` remains and at most 64 characters; where that changed the identity, or
    it was empty, `.` or `..`, a hash of it follows, so that two identities keep two folders.
    """
    name = _OUTSIDE.sub("_", identity)[:_NAME_LENGTH]
    if name == identity and name.strip("."):
        return name
    import hashlib  # here, as in `private_file`

    digest = hashlib.sha256(identity.encode("utf-8", "surrogatepass")).hexdigest()[:16]
    return f"{name.strip('.') or '_'}-{digest}"


class LockedFolder:
    """A folder that only this process writes to, once `open()` has locked it.

    `base` is trusted (links in it are followed); the `parts` below it are made
    with mode 0700 where they are missing, and none of them may be a link. With `makes_base` the
    base is made too. `fd` is the open folder, -1 while it is closed.
    """

    __slots__ = (
        "_base",
        "_lock",
        "_makes_base",
        "_parts",
        "fd",
        "is_locked",
        "named",
        "path",
        "unsynced",
    )

    def __init__(self, base: Path, *parts: str, makes_base: bool = False) -> None:
        self._base = base
        self._parts = parts
        self._makes_base = makes_base
        self._lock = -1
        self.path = base.joinpath(*parts)
        self.fd = -1
        self.is_locked = False
        self.unsynced: list[int] = []
        """Descriptors of folders that got a new entry: to be synced once, then closed."""
        self.named: set[str] = set()
        """Collections whose file's name is, or is about to be, synced with the folder."""

    def open(self) -> None:
        """Make and open the folder and take its lock.

        Raises `FolderHeldError` when another writer has it, `OSError` when it cannot be made or
        opened. Where the file system knows no locks the folder is used without (`is_locked` is
        False).
        """
        fd = -1
        try:
            fd = self._open_base()
            for part in self._parts:
                child = self._enter(fd, part)
                os.close(fd)
                fd = child
            info = os.fstat(fd)
            if stat.S_IMODE(info.st_mode) != FOLDER_MODE:
                os.fchmod(fd, FOLDER_MODE)
            self._take_lock(fd)
        except OSError:
            if fd >= 0:
                os.close(fd)
            self._forget_unsynced()
            raise
        self.fd = fd

    def _open_base(self) -> int:
        if "\0" in str(self._base) or not self._base.is_absolute():
            raise OSError(errno.EINVAL, "not an absolute path")
        if self._makes_base:
            self.unsynced += make_path(self._base)
        return os.open(self._base, _FOLDER_FLAGS)

    def _enter(self, parent: int, name: str) -> int:
        try:
            os.mkdir(name, FOLDER_MODE, dir_fd=parent)
        except FileExistsError:
            pass  # what it is shows when it is opened
        else:
            self.unsynced.append(os.dup(parent))
        try:
            return os.open(name, _FOLDER_FLAGS | os.O_NOFOLLOW, dir_fd=parent)
        except NotADirectoryError:
            # Linux has this error for a link, too; the message should tell the two apart.
            info = os.stat(name, dir_fd=parent, follow_symlinks=False)
            if stat.S_ISLNK(info.st_mode):
                raise OSError(errno.ELOOP, f"{name} is a link") from None
            raise OSError(errno.ENOTDIR, f"{name} is not a folder") from None

    def _take_lock(self, fd: int) -> None:
        lock = os.open(".lock", _LOCK_FLAGS, FILE_MODE, dir_fd=fd)
        try:
            private_file.check_own(lock)  # it is cut below
        except OSError:
            os.close(lock)
            raise
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            os.ftruncate(lock, 0)
            os.pwrite(lock, b"%d\n" % os.getpid(), 0)
            self.is_locked = True
        except BlockingIOError:
            holder = os.pread(lock, 20, 0).decode("ascii", "replace").strip()
            os.close(lock)
            who = f"process {holder}" if holder.isdigit() else "another process"
            raise FolderHeldError(errno.EWOULDBLOCK, f"{who} writes there") from None
        except OSError as error:
            if error.errno == errno.ENOSPC:
                self.is_locked = True  # the lock is held, only its note of the process is missing
            elif error.errno not in _LOCKLESS:
                os.close(lock)
                raise
        self._lock = lock

    def close(self) -> None:
        if self.fd >= 0:
            os.close(self.fd)
            os.close(self._lock)
            self.fd = self._lock = -1
            self.is_locked = False
        self._forget_unsynced()

    def _forget_unsynced(self) -> None:
        for fd in self.unsynced:
            os.close(fd)
        self.unsynced = []


@contextlib.contextmanager
def locked(folder: str | Path) -> Iterator[int]:
    """Hold the lock of a folder in which processes of tapui write by turns; yield its descriptor.

    Any program may hold it, so it is waited for only 2 s. Raises `OSError`; blocks.
    """
    fd = os.open(folder, _FOLDER_FLAGS | os.O_NOFOLLOW | os.O_CLOEXEC)
    try:
        end = time.monotonic() + _WAIT_SECONDS
        while True:
            try:
                fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > end:
                    raise OSError(errno.EWOULDBLOCK, "another program has locked it") from None
                time.sleep(_WAIT_PAUSE)
        yield fd
    finally:
        os.close(fd)
