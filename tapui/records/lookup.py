"""Looking up what a gateway under way asks for, newest first and within bounds."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from tapui.core.effects import EarlierTurns, LinesBefore, ReadRecords
from tapui.records.earlier import earlier_turns
from tapui.records.reader import Damage, Record, backward
from tapui.wire.events import COLLECTIONS, Entry, StreamPosted, TurnsRestored

MAX_LOOKED_AT = 200_000
"""Records that one look-up passes at most."""


def find(folder: Path, run: str, asked: ReadRecords) -> list[Entry]:
    """Return the events that were asked for, of this run but for earlier turns, oldest first.

    Raises `OSError` when a file cannot be read.
    """
    if isinstance(asked.wanted, EarlierTurns):
        turns = earlier_turns(folder, run, asked.session_id or "")
        return [Entry(run, 0, "", TurnsRestored(asked.session_id or "", turns))] if turns else []
    if isinstance(asked.wanted, LinesBefore):
        return _lines_before(folder, run, asked.session_id, asked.wanted)
    return _newest_about(folder, run, asked.wanted.subject, asked.wanted.kinds)


def _lines_before(
    folder: Path, run: str, session_id: str | None, wanted: LinesBefore
) -> list[Entry]:
    found: list[Entry] = []
    for record in _of_run(folder, "streams", run):
        event = record.event
        if not isinstance(event, StreamPosted) or event.stream != wanted.stream:
            continue
        if event.session_id != session_id or event.line.seq >= wanted.before:
            continue
        found.append(Entry(record.run, record.seq, record.ts, event))
        if len(found) == wanted.last or event.line.seq == 1:
            break
    return found[::-1]


def _newest_about(folder: Path, run: str, subject: str, kinds: tuple[str, ...]) -> list[Entry]:
    noun = kinds[0].partition(".")[0]
    collection = COLLECTIONS[noun]
    found: dict[str, Entry] = {}
    for record in _of_run(folder, collection, run):
        if record.kind not in kinds or record.kind in found or record.event is None:
            continue
        if getattr(getattr(record.event, noun), "id", None) == subject:
            found[record.kind] = Entry(record.run, record.seq, record.ts, record.event)
            # What began is older than what ended: nothing is left to look for.
            if len(found) == len(kinds) or record.kind == kinds[0]:
                break
    return sorted(found.values(), key=lambda entry: entry.seq)


def _of_run(folder: Path, collection: str, run: str) -> Iterator[Record]:
    """Yield the records of a run, newest first, until another run's or too many."""
    with contextlib.closing(backward(folder, collection, Damage())) as newest:
        for number, record in enumerate(newest):
            if number >= MAX_LOOKED_AT or record.run != run:
                return
            yield record
