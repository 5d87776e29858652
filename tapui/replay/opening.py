"""The end of a journal at once, before all of it was read."""

import sqlite3
import zlib
from itertools import islice
from pathlib import Path

import msgspec

from tapui.index import store
from tapui.index.folder_state import Checkpoint, checkpoint_before
from tapui.projection.fold import fold
from tapui.projection.state import State
from tapui.records import reader
from tapui.records.reader import Damage, Record
from tapui.replay.recorded import Recorded
from tapui.replay.timeline import Last
from tapui.wire.events import Entry

NEWEST = 500
"""Records of each collection that are read from the end."""
_FIRST = 20


def opening(journal: Recorded, state_dir: Path) -> tuple[State, Entry | None]:
    """Return about the state at the end, and the last event.

    It begins from the index's last checkpoint, else from the first records, and folds the newest
    records of each collection. What happened between is missing until the journal was read.
    Raises `OSError`.
    """
    checkpoint = _checkpoint(journal, state_dir)
    state = State() if checkpoint is None else checkpoint.state
    newest = [
        record
        for folder in journal.folders
        for collection in reader.ALL_COLLECTIONS
        for record in reader.tail(folder, collection, NEWEST, damage=Damage())
    ]
    found = _unique([*(_first(journal) if checkpoint is None else ()), *newest])
    if checkpoint is not None:
        known = Last(checkpoint.run, checkpoint.seq, checkpoint.ts)
        found = [one for one in found if known.is_before(one)]
    entries = [entry for record in found if (entry := record.entry()) is not None]
    for entry in entries:
        fold(state, entry.event, entry.ts)
    return state, entries[-1] if entries else None


def _checkpoint(journal: Recorded, state_dir: Path) -> Checkpoint | None:
    """Return the index's last checkpoint, where there is one that can be read."""
    if len(journal.folders) != 1:
        return None
    try:
        connection = store.reading(state_dir)
    except (store.IndexUnusable, sqlite3.Error, OSError):
        return None
    try:
        return checkpoint_before(connection, str(journal.folders[0]), None)
    except (sqlite3.Error, zlib.error, msgspec.DecodeError):
        return None
    finally:
        connection.close()


def _first(journal: Recorded) -> list[Record]:
    """Return the first records about the sessions: they say what the sessions are."""
    return [
        record
        for folder in journal.folders
        for record in islice(reader.scan(folder, "sessions"), _FIRST)
    ]


def _unique(records: list[Record]) -> list[Record]:
    return reader.in_order(list({(one.run, one.seq): one for one in records}.values()))
