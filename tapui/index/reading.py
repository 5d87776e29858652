"""New records of one folder in the order in which they happened, over all of its files."""

import contextlib
import heapq
from collections.abc import Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass

from tapui.index.sources import Source, lines_between, opened_source
from tapui.records.reader import Record, parse


@dataclass(frozen=True, slots=True)
class Placed:
    """A record and where it stands; `record` is None for a line that is none."""

    source: Source
    begin: int
    end: int
    record: Record | None


_MAX_SEQ = 2**62
"""No run comes so far; SQLite takes no larger numbers."""


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
        collections.setdefault(one.path.name.partition(".")[0], []).append(one)
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
