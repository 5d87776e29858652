"""The ledgers on disk: a file for each session in the state folder, appended to and synced.

The file of an open session is the gateway's alone. Before each line, and before it is let go, it
must be as the last line left it; what another process did to it in between is reported, a new file
is begun, and the altered one is kept aside.
"""

import os
import stat
from pathlib import Path
from typing import NamedTuple

from tapui.files import private_file
from tapui.files.locked_folder import FILE_MODE, LockedFolder, folder_name

FOLDER = "ledgers"
NAME = "ledger.jsonl"
_ALTERED = "ledger.altered-{}.jsonl"
ALTERED_NAMES = r"ledger\.altered-\d\.jsonl"
_KEPT = 3
"""Altered files that are kept of a session: the first ones, and the newest."""
MAX_BYTES = 64 * 1024 * 1024
"""Beyond that a ledger takes no more lines: what happens then is not proven."""
_READING = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FLAGS = os.O_RDWR | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC


def folder_of(state: Path, session_id: str) -> Path:
    """Return where the ledger of a session is, if it has one."""
    return state / FOLDER / folder_name(session_id)


def content_of(state: Path, session_id: str) -> bytes:
    """Return what the ledger of a session holds that no gateway has open. Raises `OSError`."""
    fd = os.open(folder_of(state, session_id) / NAME, _READING)
    try:
        private_file.check_own(fd)
        return _content(fd)
    finally:
        os.close(fd)


def altered_ledgers(state: Path) -> list[Path]:
    """Return the files that were kept because something other than tapui changed them."""
    return sorted((state / FOLDER).glob(f"*/{_ALTERED.format('[0-9]')}"))


class _Left(NamedTuple):
    """What a file is after its last line was written."""

    inode: int
    size: int
    changed: int
    """Its status change time, in nanoseconds: no program can set it."""

    @classmethod
    def of(cls, fd: int) -> "_Left":
        info = os.fstat(fd)
        return cls(info.st_ino, info.st_size, info.st_ctime_ns)


class LedgerFile:
    """The ledger of one session. Every method blocks, and raises `OSError`."""

    def __init__(self, state: Path, session_id: str) -> None:
        self._folder = LockedFolder(state, FOLDER, folder_name(session_id), makes_base=True)
        self._fd = -1
        self._left: _Left | None = None

    def open(self) -> bytes:
        """Take the file; return what it holds. Raises `FolderHeldError` for another gateway's."""
        self._folder.open()
        try:
            self._fd = os.open(NAME, _FLAGS, FILE_MODE, dir_fd=self._folder.fd)
            private_file.check_own(self._fd)
            data = _content(self._fd)
            self._sync_names()
        except OSError:
            self.close()
            raise
        whole = data.rfind(b"\n") + 1
        if whole < len(data):  # a line that was being written when a gateway ended
            os.ftruncate(self._fd, whole)
        self._left = _Left.of(self._fd)
        return data[:whole]

    def append(self, data: bytes) -> None:
        """Write lines, and wait for the disk."""
        begun = os.fstat(self._fd).st_size if self._left is None else self._left.size
        if begun + len(data) > MAX_BYTES:
            raise OSError(f"the ledger has {MAX_BYTES // 1024**2} MiB already")
        try:
            written = os.write(self._fd, data)
            # Before the disk is waited for: what others write in that time is not taken for this.
            self._left = _Left.of(self._fd)._replace(size=begun + written)
            if written < len(data):
                raise OSError("the disk took a part of the line")
            os.fdatasync(self._fd)
        except OSError:
            os.ftruncate(self._fd, begun)
            self._left = _Left.of(self._fd)
            raise

    def was_changed(self) -> bool:
        """Return whether anything but `append` changed the file, or put another one, or another
        folder, in its place."""
        if _Left.of(self._fd) != self._left or not self._is_in_place():
            return True
        try:
            info = os.stat(NAME, dir_fd=self._folder.fd, follow_symlinks=False)
        except OSError:
            return True
        return info.st_ino != self._left.inode

    def _is_in_place(self) -> bool:
        """Return whether the folder is where it was opened."""
        own = os.fstat(self._folder.fd)
        try:
            info = self._folder.path.lstat()
        except OSError:
            return False
        return (info.st_dev, info.st_ino) == (own.st_dev, own.st_ino)

    def begin_anew(self) -> Path | None:
        """Put a new, empty file in the place of one that was changed; return where that is kept,
        None where it could not be."""
        former, self._fd = self._fd, -1
        try:
            if not self._is_in_place():
                self._folder.close()
                self._folder.open()
            kept = self._keep_aside(former)
        finally:
            os.close(former)
        private_file.write(self._folder.fd, NAME, b"")
        self._fd = os.open(NAME, _FLAGS, FILE_MODE, dir_fd=self._folder.fd)
        self._left = _Left.of(self._fd)
        return kept

    def _keep_aside(self, former: int) -> Path | None:
        """Keep what has the file's name; where nothing has, what the open file had."""
        folder = self._folder.fd
        there = set(os.listdir(folder))  # noqa: PTH208 - of a descriptor
        names = [_ALTERED.format(number) for number in range(1, _KEPT + 1)]
        name = next((one for one in names if one not in there), names[-1])
        try:
            if NAME in there:
                os.rename(NAME, name, src_dir_fd=folder, dst_dir_fd=folder)
                _cut(folder, name)
            else:
                private_file.write(folder, name, _content(former))
        except OSError:  # it is no file, or too large: that it was changed is reported all the same
            return None
        return self._folder.path / name

    def close(self) -> None:
        if self._fd >= 0:
            os.close(self._fd)
            self._fd = -1
        self._folder.close()

    def _sync_names(self) -> None:
        """Make the names of new folders and of the file durable."""
        for fd in self._folder.unsynced:
            os.fsync(fd)
        os.fsync(self._folder.fd)


def _cut(folder: int, name: str) -> None:
    """Leave no more of an altered file than a ledger may have. One with a second name is not cut:
    it takes no room of its own, and another program may use it."""
    if not stat.S_ISREG(os.stat(name, dir_fd=folder, follow_symlinks=False).st_mode):
        return
    fd = os.open(name, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC, dir_fd=folder)
    try:
        info = os.fstat(fd)
        if stat.S_ISREG(info.st_mode) and info.st_nlink == 1 and info.st_size > MAX_BYTES:
            os.ftruncate(fd, MAX_BYTES)
    finally:
        os.close(fd)


def _content(fd: int) -> bytes:
    size = os.fstat(fd).st_size
    if size > MAX_BYTES:
        raise OSError(f"it is larger than {MAX_BYTES // 1024**2} MiB")
    parts = []
    at = 0
    while at < size and (part := os.pread(fd, min(size - at, 1024 * 1024), at)):
        parts.append(part)
        at += len(part)
    return b"".join(parts)
