"""One file of records: opening it with its torn tail cut, and appending whole records only."""

import os
import stat
from pathlib import Path

from tapui.files import private_file
from tapui.files.locked_folder import FILE_MODE, LockedFolder

_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
_BLOCK = 64 * 1024


class AppendError(Exception):
    """Not all records could be appended. `kept` is how many of them are in the file."""

    def __init__(self, error: OSError, kept: int) -> None:
        super().__init__(str(error))
        self.error = error
        self.kept = kept


class Handle:
    """An open descriptor, shared with the thread that syncs it and alone closes it.

    `dirty`: it was written to since its last sync. `dirs`: folders to sync together with its
    first sync, so that the file's name is as durable as its bytes. `stale`: why it must not be
    written to any more, set by the syncing thread. `retired`: the writer is done with it.
    """

    __slots__ = ("dirs", "dirty", "fd", "path", "retired", "stale")

    def __init__(self, fd: int, path: Path, dirs: list[int]) -> None:
        self.fd = fd
        self.path = path
        self.dirs = dirs
        self.dirty = False
        self.retired = False
        self.stale: str | None = None


class RecordFile:
    """The file of one collection in one folder, open for appending.

    Raises `OSError` when it cannot be opened, is a link or anything but a plain file. `cut` is the
    number of bytes of an incomplete last record that were cut off, `size` the file's bytes.
    """

    __slots__ = (
        "_excess", "_is_torn", "collection", "cut", "folder", "handle", "key", "path", "pending",
        "rotate_at", "size", "used",
    )  # fmt: skip

    def __init__(self, folder: LockedFolder, collection: str, limit: int) -> None:
        self.folder = folder
        self.collection = collection
        self.path = folder.path / f"{collection}.jsonl"
        self.pending: list[bytes] = []
        """What the turn under way adds, in order."""
        self.used = 0
        """The turn that last wrote to it."""
        self.key: tuple[str | None, type] = (None, type)
        """One of the routes that lead here: (session id, type of event)."""
        self.rotate_at = limit
        self._is_torn = False
        self._excess = 0
        self.reopen()

    def reopen(self) -> None:
        """Open the file (again, after a rotation), cutting a torn tail; raises `OSError`."""
        fd = os.open(self.path.name, _FLAGS, FILE_MODE, dir_fd=self.folder.fd)
        try:
            try:
                info = private_file.check_own(fd)
            except OSError as error:
                raise OSError(error.errno, f"{self.path.name}: {error.strerror}") from None
            if stat.S_IMODE(info.st_mode) != FILE_MODE:
                os.fchmod(fd, FILE_MODE)
            os.set_blocking(fd, True)
            end = _end_of_last_line(fd, info.st_size)
            if end < info.st_size:
                os.ftruncate(fd, end)
            is_named = end > 0 and self.collection in self.folder.named
            dirs = [] if is_named else [os.dup(self.folder.fd)]
        except OSError:
            os.close(fd)
            raise
        self.folder.named.add(self.collection)
        dirs += self.folder.unsynced
        self.folder.unsynced = []
        self.cut = info.st_size - end
        self.size = end
        self._is_torn = False
        self._excess = 0
        self.handle = Handle(fd, self.path, dirs)

    def append(self, data: bytes) -> None:
        """Append `data`, whole lines, with one write (short ones are completed).

        Raises `AppendError`; what the file then holds ends with a whole line.
        """
        fd = self.handle.fd
        written = 0
        try:
            if self._is_torn:
                self._cut_back()
            written = os.write(fd, data)
            while written < len(data):
                written += os.write(fd, memoryview(data)[written:])
        except OSError as error:
            kept = data.rfind(b"\n", 0, written) + 1
            self.size += kept
            self._is_torn = True
            self._excess = written - kept
            try:
                self._cut_back()
            except OSError as again:
                # The next append tries again before it writes anything.
                error.add_note(f"cutting back failed too: {again}")
            raise AppendError(error, data.count(b"\n", 0, kept)) from error
        self.size += written

    def _cut_back(self) -> None:
        # If someone else emptied the file, less is in it than `size` says, and cutting there would
        # make it longer: what this append left over is then what counts.
        end = min(self.size, os.fstat(self.handle.fd).st_size - self._excess)
        os.ftruncate(self.handle.fd, max(end, 0))
        self.size = max(end, 0)
        self._is_torn = False
        self._excess = 0


def _end_of_last_line(fd: int, size: int) -> int:
    """Return how many bytes of the file are whole lines."""
    end = size
    while end > 0:
        start = max(end - _BLOCK, 0)
        found = os.pread(fd, end - start, start).rfind(b"\n")
        if found >= 0:
            return start + found + 1
        end = start
    return 0
