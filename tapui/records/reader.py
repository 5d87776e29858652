"""Reading records: the last ones from the end, or all of them in order. Damage is counted."""

import contextlib
import os
from collections.abc import Generator, Iterator
from dataclasses import dataclass
from pathlib import Path

import msgspec
from msgspec import Struct

from tapui.records.record_file import files_of
from tapui.wire.events import COLLECTIONS, EVENTS, AnyEvent, Entry

ALL_COLLECTIONS = tuple(sorted(set(COLLECTIONS.values())))

_BLOCK = 64 * 1024
_READ_FLAGS = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK
_KINDS = frozenset(str(kind.__struct_config__.tag) for kind in EVENTS)


class Record(Struct, frozen=True):
    """One line. `event` is None for a kind that this version does not know; `line` is as read.

    `masked` is how many secrets were masked in it.
    """

    run: str
    seq: int
    ts: str
    kind: str
    session_id: str | None
    event: AnyEvent | None
    line: bytes
    masked: int = 0

    def entry(self) -> Entry | None:
        """Return the event in its envelope, or None where the kind is not known."""
        return None if self.event is None else Entry(self.run, self.seq, self.ts, self.event)


@dataclass(slots=True)
class Damage:
    """What a reader passed over: `lines` that are no records, `torn` unfinished last lines."""

    lines: int = 0
    torn: int = 0


class _Head(Struct, rename="camel"):
    run: str
    seq: int
    ts: str
    kind: str
    session_id: str | None = None
    masked: int = 0


_head_decoder = msgspec.json.Decoder(_Head)
_event_decoder: msgspec.json.Decoder[AnyEvent] = msgspec.json.Decoder(AnyEvent)


def parse(line: bytes) -> Record | None:
    """Read one line (without its newline); return None if it is damaged."""
    try:
        if not line.isascii():
            line.decode()
        head = _head_decoder.decode(line)
        event = _event_decoder.decode(line) if head.kind in _KINDS else None
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return Record(head.run, head.seq, head.ts, head.kind, head.session_id, event, line, head.masked)


def tail(
    folder: Path,
    collection: str | None,
    last: int,
    *,
    session_id: str | None = None,
    damage: Damage | None = None,
) -> list[Record]:
    """Return the `last` records of a collection (None: of all), oldest first.

    Reads from the end backwards, over rotated files. With `session_id` only that session's
    count. Raises `OSError` when a file cannot be read; a missing one has no records.
    """
    damage = damage or Damage()
    if collection is None:
        found = [
            record
            for one in ALL_COLLECTIONS
            for record in tail(folder, one, last, session_id=session_id, damage=damage)
        ]
        return in_order(found)[-last:] if last > 0 else []
    records: list[Record] = []
    with contextlib.closing(backward(folder, collection, damage)) as newest:
        while len(records) < last and (record := next(newest, None)) is not None:
            if session_id is None or record.session_id == session_id:
                records.append(record)
    records.reverse()
    return records


def backward(
    folder: Path, collection: str, damage: Damage, *, most: int | None = None
) -> Generator[Record, None, None]:
    """Yield the records of a collection, newest first, over rotated files.

    With `most`, that many bytes of each file are read. Close it when you stop early. Raises
    `OSError` when a file cannot be read.
    """
    for fd in collection_files(folder, collection, newest_first=True):
        for line in lines_backward(fd, damage, most):
            record = parse(line)
            if record is None:
                damage.lines += 1
            else:
                yield record


def scan(
    folder: Path,
    collection: str,
    *,
    damage: Damage | None = None,
    having: tuple[bytes, ...] = (),
) -> Iterator[Record]:
    """Yield all records of a collection, oldest first, over rotated files.

    With `having` only those whose line has one of these texts: the others are not parsed.
    Raises `OSError` when a file cannot be read; a missing one has no records.
    """
    damage = damage or Damage()
    for fd in collection_files(folder, collection, newest_first=False):
        for line in lines_forward(fd, damage):
            if having and not any(text in line for text in having):
                continue
            record = parse(line)
            if record is None:
                damage.lines += 1
            else:
                yield record


def in_order(records: list[Record]) -> list[Record]:
    """Return the records by run, then by `seq`; the runs by when they last wrote."""
    newest: dict[str, str] = {}
    for record in records:
        newest[record.run] = max(record.ts, newest.get(record.run, ""))
    return sorted(records, key=lambda one: (newest[one.run], one.run, one.seq))


def collection_files(folder: Path, collection: str, *, newest_first: bool) -> Iterator[int]:
    """Open a collection's files one after the other, in order of their age.

    The live file is opened before the others are listed: if it is rotated in between, it is
    found twice (and left out once), but never missed.
    """
    with _reading(folder / f"{collection}.jsonl") as live:
        if newest_first and live is not None:
            yield live
        rotated = files_of(folder, collection)
        for path in reversed(rotated) if newest_first else rotated:
            with _reading(path) as fd:
                if fd is None or (live is not None and os.path.sameopenfile(fd, live)):
                    continue
                yield fd
        if not newest_first and live is not None:
            yield live


@contextlib.contextmanager
def _reading(path: Path) -> Iterator[int | None]:
    try:
        fd = os.open(path, _READ_FLAGS)
    except (FileNotFoundError, NotADirectoryError):
        yield None
        return
    try:
        yield fd
    finally:
        os.close(fd)


def lines_forward(fd: int, damage: Damage, start: int = 0) -> Iterator[bytes]:
    """Yield whole lines from the line that begins at `start`; an unfinished last one is torn."""
    rest: list[bytes] = []
    while block := os.pread(fd, _BLOCK, start):
        start += len(block)
        first, *others = block.split(b"\n")
        rest.append(first)
        for other in others:
            yield b"".join(rest)
            rest = [other]
    if any(rest):
        damage.torn += 1


def lines_backward(
    fd: int, damage: Damage, most: int | None = None, *, end: int | None = None
) -> Iterator[bytes]:
    """Yield whole lines, newest first; what follows the last newline is torn.

    `end` is where a line begins: those before it are wanted.
    """
    end = os.fstat(fd).st_size if end is None else end
    stop = 0 if most is None else max(end - most, 0)
    rest: list[bytes] = []
    is_whole = False
    while end > stop:
        start = max(end - _BLOCK, stop)
        first, *others = os.pread(fd, end - start, start).split(b"\n")
        for other in reversed(others):
            rest.append(other)
            line = b"".join(reversed(rest))
            rest = []
            if is_whole:
                yield line
            elif line:
                damage.torn += 1
            is_whole = True
        rest.append(first)
        end = start
    if stop:
        return  # the line there begins before
    line = b"".join(reversed(rest))
    if is_whole:
        yield line
    elif line:
        damage.torn += 1
