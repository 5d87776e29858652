"""Record files as the index reads them: which there are, and their new lines with their places."""

import contextlib
import errno
import os
import stat
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tapui.records import register
from tapui.records.reader import ALL_COLLECTIONS
from tapui.records.rotation import files_of

_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
_BLOCK = 1024 * 1024
_HEAD = 64
MAX_LINE = 64 * 1024 * 1024
"""A longer line is damage: no record is."""


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
