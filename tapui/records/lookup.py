"""Looking up what a gateway under way asks for, newest first and within bounds."""

import contextlib
from collections.abc import Iterator
from pathlib import Path

from tapui.core.effects import EarlierTurns, LinesAfter, LinesBefore, ReadRecords
from tapui.records.earlier import earlier_turns
from tapui.records.reader import Damage, Record, backward
from tapui.records.stream_lines import MAX_LOOKED_AT, lines_after, lines_before
from tapui.wire.events import COLLECTIONS, Entry, TurnsRestored


def find(folder: Path, run: str, asked: ReadRecords) -> list[Entry]:
    """Return the events that were asked for, of this run but for earlier turns, oldest first.

    Raises `OSError` when a file cannot be read.
    """
    if isinstance(asked.wanted, EarlierTurns):
        turns = earlier_turns(folder, run, asked.session_id or "")
        return [Entry(run, 0, "", TurnsRestored(asked.session_id or "", turns))] if turns else []
    if isinstance(asked.wanted, LinesBefore):
        return lines_before(folder, run, asked.session_id, asked.wanted)
    if isinstance(asked.wanted, LinesAfter):
        return lines_after(folder, run, asked.session_id, asked.wanted)
    return _newest_about(folder, run, asked.wanted.subject, asked.wanted.kinds)


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
