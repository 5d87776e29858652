"""The records of some folders as they were found when the replay began, in order."""

import dataclasses
import errno
import heapq
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from tapui.index.sources import Placed, ReadingOrder, Source, in_order, record_files

FileId = tuple[int, int]
"""Device and inode: a file keeps them when it is rotated."""


class Recorded:
    """The records of one session's folders, up to the sizes that its files had when it was opened.

    Raises `OSError` when a folder cannot be read.
    """

    def __init__(self, folders: Iterable[Path]) -> None:
        self.folders = list(dict.fromkeys(folder.resolve() for folder in folders))
        self._found = {file_id(one): one for folder in self.folders for one in record_files(folder)}

    @property
    def size(self) -> int:
        return sum(one.size for one in self._found.values())

    def read(self, offsets: Mapping[FileId, int]) -> Iterator[Placed]:
        """Yield what follows the offsets (of a file that they lack: all), in order.

        Raises `OSError`, also where the files are gone, or others have their names.
        """
        return self._merged([self._sources(folder) for folder in self.folders], offsets)

    def _merged(
        self, folders: list[list[Source]], offsets: Mapping[FileId, int]
    ) -> Iterator[Placed]:
        places = [{one: offsets.get(file_id(one), 0) for one in files} for files in folders]
        if len(places) == 1:
            return in_order(places[0])
        # One order over all: a session that wrote elsewhere for a while goes on there.
        order = ReadingOrder()
        streams = [_keyed(number, one, order) for number, one in enumerate(places)]
        return (placed for _, placed in heapq.merge(*streams, key=lambda item: item[0]))

    def _sources(self, folder: Path) -> list[Source]:
        """Return a folder's files where they are by now, no longer than they were."""
        now = {file_id(one): one for one in record_files(folder)}
        found = []
        for id_, one in self._found.items():
            if _folder(one) != folder:
                continue
            there = now.get(id_)
            if there is None or not there.is_of(one.head):
                raise FileNotFoundError(errno.ENOENT, "the records were deleted", str(one.path))
            found.append(dataclasses.replace(there, size=min(there.size, one.size)))
        # Rotation moves a file to the front of those of its collection, never past an older one.
        return found


def file_id(source: Source) -> FileId:
    return source.device, source.inode


def _folder(source: Source) -> Path:
    return source.path.parent


def _keyed(
    number: int, offsets: Mapping[Source, int], order: ReadingOrder
) -> Iterator[tuple[tuple[str, str, int, int], Placed]]:
    """Yield a folder's lines with what to sort them by; a damaged one goes with the one before."""
    key = ("", "", 0, number)
    for placed in in_order(offsets):
        if placed.record is not None:
            key = (*order.key(placed.record), number)
        yield key, placed
