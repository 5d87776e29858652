"""Replay: the records of a run, folded to the state that the gateway had."""

import heapq
from collections.abc import Iterable, Iterator
from pathlib import Path

from tapui.projection.fold import fold
from tapui.projection.state import State
from tapui.records.reader import ALL_COLLECTIONS, Damage, Record, scan, tail


def replay(
    folders: Iterable[Path], run: str | None = None, *, damage: Damage | None = None
) -> State:
    """Fold all records of `run` (None: the one that wrote last) in `folders`, in their order.

    Records of kinds that this version does not know change nothing. Raises `OSError` when a file
    cannot be read.
    """
    state = State()
    for record in records(folders, run, damage=damage):
        if record.event is not None:
            fold(state, record.event, record.ts)
    return state


def records(
    folders: Iterable[Path], run: str | None = None, *, damage: Damage | None = None
) -> Iterator[Record]:
    """Yield all records of `run` (None: the one that wrote last) in `folders`, by `seq`."""
    unique = list(dict.fromkeys(folder.resolve() for folder in folders))
    run = run if run is not None else last_run(unique)
    files = [
        (record for record in scan(folder, collection, damage=damage) if record.run == run)
        for folder in unique
        for collection in ALL_COLLECTIONS
    ]
    yield from heapq.merge(*files, key=lambda record: record.seq)


def last_run(folders: Iterable[Path]) -> str | None:
    """Return the run whose records are the newest, or None where there are none."""
    newest = max(
        (
            record
            for folder in folders
            for collection in ALL_COLLECTIONS
            for record in tail(folder, collection, 1)
        ),
        key=lambda record: record.ts,
        default=None,
    )
    return None if newest is None else newest.run
