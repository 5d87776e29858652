"""Record files as the index reads them: which there are, which are in use, and their new lines."""

import contextlib
import errno
import heapq
import os
import stat
import time
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from tapui.records import register
from tapui.records.reader import ALL_COLLECTIONS, Record, parse
from tapui.records.record_file import files_of

_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
_BLOCK = 1024 * 1024
_HEAD = 64
MAX_LINE = 64 * 1024 * 1024
"""A longer line is damage: no record is."""
_MAX_SEQ = 2**62
"""No run comes so far; SQLite takes no larger numbers."""
_ACTIVE_SECONDS = 10.0
"""A folder is looked at often for so long after something was written to it."""
_RECENT_SECONDS = 3600.0
_NEWEST = 32
"""Folders that were registered last: what a gateway begins to write to is registered first."""
_TAIL = 64 * 1024
"""An unfinished record at a file's end is looked for in so much of it."""


@dataclass(frozen=True, slots=True)
class Source:
    """A file of records as it was found. It keeps its identity when it is rotated.

    `head` is its beginning: a file that took the place of another has another one.
    """

    path: Path
    device: int
    inode: int
    size: int
    head: bytes

    @property
    def collection(self) -> str:
        return self.path.name.partition(".")[0]

    def is_of(self, head: bytes) -> bool:
        """Return whether the file begins as it did when `head` was read."""
        return self.head.startswith(head)


def record_folders(state_dir: Path) -> list[Path]:
    """Return all folders that hold records, those that were used last at the end."""
    known = register.sessions(state_dir)
    every = dict.fromkeys(register.gateway_folders(state_dir))
    every |= dict.fromkeys(path for found in known.values() for path in found)
    return list(every)


def record_files(folder: Path) -> list[Source]:
    """Return the files of a folder that can be read, of each collection oldest first."""
    found = []
    for collection in ALL_COLLECTIONS:
        for path in (*files_of(folder, collection), folder / f"{collection}.jsonl"):
            with contextlib.suppress(OSError), opened(path) as fd:  # gone, a link, not ours to read
                info = os.fstat(fd)
                if stat.S_ISREG(info.st_mode):
                    head = os.pread(fd, _HEAD, 0)
                    found.append(Source(path, info.st_dev, info.st_ino, info.st_size, head))
    # One that was rotated while we looked is listed twice.
    return list({(one.device, one.inode): one for one in found}.values())


def unread(folders: Iterable[Path], offsets: Mapping[tuple[int, int], int]) -> int:
    """Return how many bytes of whole records lie beyond how far the files of folders were read,
    by (device, inode). The unfinished end of a file is none of them."""
    found = 0
    for source in (one for folder in folders for one in record_files(folder)):
        offset = offsets.get((source.device, source.inode), 0)
        if source.size <= offset:
            continue
        with contextlib.suppress(OSError), opened_source(source) as fd:  # gone: nothing to read
            is_whole = source.size - offset > _TAIL or b"\n" in os.pread(fd, _TAIL, offset)
            found += source.size - offset if is_whole else 0
    return found


@contextlib.contextmanager
def opened(path: Path) -> Iterator[int]:
    """Open a file of records; a link is not followed. Raises `OSError`."""
    fd = os.open(path, _FLAGS)
    try:
        yield fd
    finally:
        os.close(fd)


@contextlib.contextmanager
def opened_source(source: Source) -> Iterator[int]:
    """Open a file as it was found; raises `OSError`, also where another has its name by now."""
    with opened(source.path) as fd:
        info = os.fstat(fd)
        if (info.st_dev, info.st_ino) != (source.device, source.inode):
            raise OSError(errno.ESTALE, "another file has its name by now", str(source.path))
        yield fd


def lines_between(fd: int, start: int, end: int) -> Iterator[tuple[int, int, bytes]]:
    """Yield the whole lines between two places: where each begins and ends, and what it holds.

    Of a line that is too long to be a record only the beginning is passed on.
    """
    pieces: list[bytes] = []
    at = begin = start
    length = 0
    while at < end and (block := os.pread(fd, min(_BLOCK, end - at), at)):
        at += len(block)
        *whole, last = block.split(b"\n")
        for piece in whole:
            length += len(piece) + 1
            pieces.append(piece)
            yield begin, begin + length, b"".join(pieces)
            pieces.clear()
            begin += length
            length = 0
        length += len(last)
        if length <= MAX_LINE or not pieces:
            pieces.append(last)


class Placed(NamedTuple):
    """A record and where it stands; `record` is None for a line that is none."""

    source: Source
    begin: int
    end: int
    record: Record | None


class ReadingOrder:
    """The order of records: by run, as the runs began, then by number."""

    def __init__(self) -> None:
        self._began: dict[str, str] = {}

    def key(self, record: Record) -> tuple[str, str, int]:
        return self._began.setdefault(record.run, record.ts), record.run, record.seq


def in_order(offsets: Mapping[Source, int]) -> Iterator[Placed]:
    """Yield what the files hold from their offsets to the sizes that they were found with.

    The files of a collection come oldest first. What a turn of the gateway has written to some of
    the files only is left for the next time, so that nothing comes before what happened before it.
    Raises `OSError`, also where a file was rotated since it was found.
    """
    order = ReadingOrder()
    collections: dict[str, list[Source]] = {}
    for one in offsets:
        collections.setdefault(one.collection, []).append(one)
    live = [files[-1] for files in collections.values()]
    beyond = [order.key(record) for one in live if (record := _first_after(one)) is not None]
    stop = min(beyond, default=None)
    streams = [_keyed(files, offsets, order) for files in collections.values()]
    with contextlib.ExitStack() as stack:
        for stream in streams:
            stack.callback(stream.close)
        for key, _, placed in heapq.merge(*streams, key=lambda item: item[:2]):
            if stop is not None and key > stop:
                return
            yield placed


_Key = tuple[str, str, int]


def _keyed(
    files: Sequence[Source], offsets: Mapping[Source, int], order: ReadingOrder
) -> Generator[tuple[_Key, int, Placed], None, None]:
    """Yield a collection's lines with what to sort them by; a damaged one goes with the one before.

    One file is open at a time.
    """
    key: _Key = ("", "", 0)
    count = 0
    for source in files:
        if offsets[source] >= source.size:
            continue
        with opened_source(source) as fd:
            for begin, end, line in lines_between(fd, offsets[source], source.size):
                record = parse(line) if line else None
                if record is not None and not 0 <= record.seq <= _MAX_SEQ:
                    record = None
                if record is not None:
                    key = order.key(record)
                count += 1
                yield key, count, Placed(source, begin, end, record)


def _first_after(source: Source) -> Record | None:
    """Return the first record that was written since the file was found with its size."""
    with opened_source(source) as fd:
        for _, _, line in lines_between(fd, source.size, source.size + 1024 * 1024):
            if (record := parse(line)) is not None:
                return record
    return None


class Watch:
    """The folders of records of a home. `survey()` looks at all of them, `active()` at few."""

    def __init__(self, state_dir: Path) -> None:
        self._state_dir = state_dir
        self._signature: tuple[int, ...] = ()
        self._folders: list[Path] = []
        self._recent: list[Path] = []

    def survey(self) -> list[Path]:
        self._signature = self._signed()
        self._folders = record_folders(self._state_dir)
        newest = time.time() - _RECENT_SECONDS
        self._recent = [path for path in self._folders if _touched(path) > newest]
        return self._folders

    def active(self) -> list[Path]:
        if self._signed() != self._signature:
            self._signature = self._signed()
            self._folders = record_folders(self._state_dir)
        gateway = register.gateway_folders(self._state_dir)
        looked_at = dict.fromkeys((*gateway, *self._recent, *self._folders[-_NEWEST:]))
        newest = time.time() - _ACTIVE_SECONDS
        return [path for path in looked_at if _touched(path) > newest]

    def _signed(self) -> tuple[int, ...]:
        try:
            info = (self._state_dir / register.REGISTER_FILE).stat()
        except OSError:  # nothing was recorded yet
            return ()
        return info.st_ino, info.st_size, info.st_mtime_ns


def _touched(folder: Path) -> float:
    """Return when a folder's files were written last, 0 if it is gone."""
    last = 0.0
    for collection in ALL_COLLECTIONS:
        with contextlib.suppress(OSError):  # most folders lack most files
            last = max(last, (folder / f"{collection}.jsonl").lstat().st_mtime)
    return last
