"""Looking up what a gateway under way asks for, newest first and within bounds."""

import contextlib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

from tapui.core.effects import EarlierTurns, LinesAfter, LinesBefore, ReadRecords
from tapui.records.earlier import earlier_turns
from tapui.records.reader import Damage, Record, backward
from tapui.records.stream_lines import MAX_LOOKED_AT, lines_after, lines_before
from tapui.wire.events import COLLECTIONS, Entry, TurnsRestored


def find(folder: Path, run: str, asked: ReadRecords) -> list[Entry]:
    """Return the events that were asked for, oldest first: lines of this run, calls, approvals and
    turns of any.

    Raises `OSError` when a file cannot be read.
    """
    if isinstance(asked.wanted, EarlierTurns):
        turns = earlier_turns(folder, run, asked.session_id or "")
        return [Entry(run, 0, "", TurnsRestored(asked.session_id or "", turns))] if turns else []
    if isinstance(asked.wanted, LinesBefore):
        return lines_before(folder, run, asked.session_id, asked.wanted)
    if isinstance(asked.wanted, LinesAfter):
        return lines_after(folder, run, asked.session_id, asked.wanted)
    return _newest_about(folder, asked.wanted.subject, asked.wanted.kinds)


def _newest_about(folder: Path, subject: str, kinds: tuple[str, ...]) -> list[Entry]:
    """Return the newest records about a subject, of the newest run that has any."""
    noun = kinds[0].partition(".")[0]
    collection = COLLECTIONS[noun]
    found: dict[str, Entry] = {}
    run = None
    for record in _newest(folder, collection):
        if record.kind not in kinds or record.kind in found or record.event is None:
            continue
        if getattr(getattr(record.event, noun), "id", None) == subject:
            if run is not None and record.run != run:
                break  # an id that a host used once more
            run = record.run
            found[record.kind] = Entry(record.run, record.seq, record.ts, record.event)
            # What began is older than what ended: nothing is left to look for.
            if len(found) == len(kinds) or record.kind == kinds[0]:
                break
    return sorted(found.values(), key=lambda entry: entry.seq)


def _newest(folder: Path, collection: str) -> Iterator[Record]:
    """Yield the records of a collection, newest first, until they are too many."""
    with contextlib.closing(backward(folder, collection, Damage())) as newest:
        yield from islice(newest, MAX_LOOKED_AT)
