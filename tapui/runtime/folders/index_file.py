"""Git's index, read: which paths are tracked, and what git found of each file when it last looked.

Versions 2 to 4, with either hash, split and sparse ones (`gitformat-index` of git's documents). The
library that reads the rest of a repository knows no split index, opens FIFOs, reads without bound,
and takes 25 µs an entry: the index changes with each `git add`, and is read again each time.
"""

import hashlib
import struct
from collections.abc import Callable
from typing import NamedTuple

from dulwich.bitmap import EWAHBitmap

MAX_BYTES = 256 * 1024 * 1024
MAX_ENTRIES = 1_000_000
SPARSE_FOLDER = 0o040000
"""The mode of an entry that stands for all of a folder, which is not checked out."""
_SKIPPED = 0x4000
_EXTENDED = 0x4000
_LONG_NAME = 0xFFF


class BrokenIndexError(Exception):
    """An index that is damaged, too large, or of a kind that is not known. The text says which."""


class StagedFile(NamedTuple):
    """A tracked path: its mode and object, and the file's stat when git compared them.

    `oid` is empty in a merge conflict. `is_skipped`: it need not be in the work tree.
    """

    ctime: tuple[int, int]
    mtime: tuple[int, int]
    inode: int
    mode: int
    size: int
    oid: bytes
    is_skipped: bool


class StagedFiles(NamedTuple):
    """All entries, and the prefixes of folders that are not checked out."""

    entries: dict[bytes, StagedFile]
    sparse: tuple[bytes, ...]


def read_index(data: bytes, hash_name: str, shared: Callable[[str], bytes]) -> StagedFiles:
    """Return the entries of an index file. `shared` reads the file that a split one rests on.

    Raises `BrokenIndexError`, and what `shared` raises.
    """
    try:
        entries, base, bitmaps = _Reader(data, hash_name).read()
        if base.strip(b"\0"):
            rest, deeper, _ = _Reader(shared(f"sharedindex.{base.hex()}"), hash_name).read()
            if deeper.strip(b"\0"):
                raise BrokenIndexError("a split index rests on a split one")
            entries = _joined(rest, entries, bitmaps)
    except (struct.error, IndexError, ValueError, MemoryError) as error:
        raise BrokenIndexError(f"the index is damaged ({type(error).__name__})") from None
    sparse = tuple(name for name, entry in entries if entry.mode == SPARSE_FOLDER)
    return StagedFiles(dict(entries), sparse)


def _joined(
    rest: list[tuple[bytes, StagedFile]], own: list[tuple[bytes, StagedFile]], bitmaps: bytes
) -> list[tuple[bytes, StagedFile]]:
    """Put a split index together: entries of the shared file that go, are replaced, and new ones.

    Replaced ones come first in the own file, in the order of the shared one, without a name.
    """
    deleted, bitmaps = _bits(bitmaps)
    replaced, _ = _bits(bitmaps)
    replacements = iter(own[: len(replaced)])
    joined = []
    for place, (name, entry) in enumerate(rest):
        current = next(replacements)[1] if place in replaced else entry
        if place not in deleted:
            joined.append((name, current))
    return joined + own[len(replaced) :]


def _bits(data: bytes) -> tuple[set[int], bytes]:
    count, words = struct.unpack_from(">II", data)
    end = 8 + words * 8 + 4
    if count > MAX_ENTRIES or end > len(data):
        raise BrokenIndexError("the index is damaged (a bitmap)")
    return EWAHBitmap(data[:end]).bits, data[end:]


class _Reader:
    def __init__(self, data: bytes, hash_name: str) -> None:
        self._data = data
        self._hash = hash_name
        self._oid = hashlib.new(hash_name, usedforsecurity=False).digest_size
        self._base = bytes(self._oid)
        self._bitmaps = b""

    def read(self) -> tuple[list[tuple[bytes, StagedFile]], bytes, bytes]:
        data = self._data
        if len(data) > MAX_BYTES:
            raise BrokenIndexError("the index is too large")
        if data[:4] != b"DIRC" or len(data) < 12 + self._oid:
            raise BrokenIndexError("the index is damaged (no header)")
        version, count = struct.unpack_from(">II", data, 4)
        if version not in (2, 3, 4):
            raise BrokenIndexError(f"an index of version {version}")
        if count > MAX_ENTRIES:
            raise BrokenIndexError(f"an index of {count:,} entries")
        end = len(data) - self._oid
        checksum = data[end:]
        # index.skipHash leaves it empty.
        if checksum.strip(b"\0"):
            found = hashlib.new(self._hash, memoryview(data)[:end], usedforsecurity=False)
            if found.digest() != checksum:
                raise BrokenIndexError("the index is damaged (its checksum)")
        entries, at = self._entries(count, is_packed=version == 4)
        self._extensions(at, end)
        return entries, self._base, self._bitmaps

    def _entries(
        self, count: int, *, is_packed: bool
    ) -> tuple[list[tuple[bytes, StagedFile]], int]:
        data = self._data
        form = struct.Struct(f">10I{self._oid}sH")
        unpack = form.unpack_from
        at = 12
        name = b""
        entries = []
        for _ in range(count):
            cs, cn, ms, mn, _device, inode, mode, _uid, _gid, size, oid, flags = unpack(data, at)
            begin = at + form.size
            is_skipped = False
            if flags & _EXTENDED:
                is_skipped = bool(struct.unpack_from(">H", data, begin)[0] & _SKIPPED)
                begin += 2
            if is_packed:
                cut, begin = _number(data, begin)
                stop = data.index(b"\0", begin)
                if cut > len(name):
                    raise BrokenIndexError("the index is damaged (a name)")
                name = name[: len(name) - cut] + data[begin:stop]
                at = stop + 1
            else:
                length = flags & _LONG_NAME
                stop = data.index(b"\0", begin) if length == _LONG_NAME else begin + length
                name = data[begin:stop]
                at += (stop - at + 8) & ~7
            if flags >> 12 & 3:  # a stage of a conflict
                oid = b""
            entries.append(
                (name, StagedFile((cs, cn), (ms, mn), inode, mode, size, oid, is_skipped))
            )
        return entries, at

    def _extensions(self, at: int, end: int) -> None:
        while at + 8 <= end:
            name = self._data[at : at + 4]
            (size,) = struct.unpack_from(">I", self._data, at + 4)
            begin, at = at + 8, at + 8 + size
            if at > end:
                raise BrokenIndexError("the index is damaged (an extension)")
            if name == b"link":
                self._base = self._data[begin : begin + self._oid]
                self._bitmaps = self._data[begin + self._oid : at]
            elif not name[:1].isupper() and name != b"sdir":
                # Others may be left out: the untracked cache, the cached trees.
                raise BrokenIndexError("an index with an extension that is not known")


def _number(data: bytes, at: int) -> tuple[int, int]:
    """Return a number of variable length, as offsets in packs have it, and what comes after."""
    byte = data[at]
    number = byte & 0x7F
    while byte & 0x80:
        at += 1
        byte = data[at]
        number = (number + 1) << 7 | byte & 0x7F
        if number > MAX_BYTES:
            raise BrokenIndexError("the index is damaged (a name)")
    return number, at + 1
