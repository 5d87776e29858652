"""One file of records: a torn tail is cut, records are appended whole, full files rotated."""

import contextlib
import os
import re
import stat
import time
from collections.abc import Iterator
from pathlib import Path

from tapui.files import private_file
from tapui.files.locked_folder import FILE_MODE, LockedFolder

_FLAGS = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_NOFOLLOW | os.O_NONBLOCK
_BLOCK = 64 * 1024
RESULTS_FOLDER = "results"
"""Holds the copies of results that providers left in files."""
RESULT_GRACE = 60
"""Seconds for which a result is kept, even beyond the total."""
_ROTATED = re.compile(r"(?P<collection>[a-z]+)\.(?P<number>[0-9]{1,18})\.jsonl\Z")


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


def rotate(folder: LockedFolder, collection: str) -> str:
    """Rename the collection's file to the next number: 1 is the oldest, none is reused.

    Returns its new name. Raises `OSError`. No other thread may list the folder by this descriptor,
    or one duplicated from it: they share one position in the list, and each would miss names.
    """
    numbers = [
        int(found["number"])
        for name in os.listdir(folder.fd)  # noqa: PTH208 - of a descriptor
        if (found := _ROTATED.match(name)) and found["collection"] == collection
    ]
    target = f"{collection}.{max(numbers, default=0) + 1}.jsonl"
    with contextlib.suppress(FileNotFoundError):  # it has a number already: see `put_back`
        os.rename(f"{collection}.jsonl", target, src_dir_fd=folder.fd, dst_dir_fd=folder.fd)
    return target


def put_back(folder: LockedFolder, collection: str, name: str) -> None:
    """Give a rotated file its former name again: no other could be begun.

    An empty one that was begun is replaced. Where this fails the file keeps its number, and is
    written to until the next rotation; it is read in the right order in any case.
    """
    with contextlib.suppress(OSError):  # see above
        os.rename(name, f"{collection}.jsonl", src_dir_fd=folder.fd, dst_dir_fd=folder.fd)


def trim(folder: int, total: int) -> list[str]:
    """Drop the oldest rotated files and results while all files together exceed `total` bytes.

    `folder` is an open descriptor of its own. Returns the names of those dropped. Files that are
    written to are never dropped, nor is a result of the last minute, which its caller may not have
    read.
    """
    size = 0
    droppable: list[tuple[int, int, str, int]] = []
    for name in os.listdir(folder):
        if not name.endswith(".jsonl"):
            continue
        try:
            info = os.stat(name, dir_fd=folder, follow_symlinks=False)
        except FileNotFoundError:
            continue  # rotated meanwhile
        size += info.st_size
        if found := _ROTATED.match(name):
            droppable.append((info.st_mtime_ns, int(found["number"]), name, info.st_size))
    newest = time.time_ns() - RESULT_GRACE * 1_000_000_000
    for name, info in _results(folder):
        size += info.st_size
        if info.st_mtime_ns < newest:
            droppable.append((info.st_mtime_ns, 0, f"{RESULTS_FOLDER}/{name}", info.st_size))
    dropped = []
    for _, _, name, taken in sorted(droppable):
        if size <= total:
            break
        with contextlib.suppress(FileNotFoundError):  # the person was faster
            os.unlink(name, dir_fd=folder)
            dropped.append(name)
        size -= taken
    return dropped


def _results(folder: int) -> Iterator[tuple[str, os.stat_result]]:
    try:
        results = os.open(
            RESULTS_FOLDER, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=folder
        )
    except FileNotFoundError:
        return
    try:
        for name in os.listdir(results):  # noqa: PTH208 - of a descriptor
            with contextlib.suppress(FileNotFoundError):  # removed meanwhile
                yield name, os.stat(name, dir_fd=results, follow_symlinks=False)
    finally:
        os.close(results)


def files_of(folder: Path, collection: str) -> list[Path]:
    """Return the rotated files of `collection` in `folder`, oldest first (the live one not)."""
    found = []
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):  # there are no records
        found = [
            (int(match["number"]), path)
            for path in folder.iterdir()
            if (match := _ROTATED.match(path.name)) and match["collection"] == collection
        ]
    return [path for _, path in sorted(found)]
