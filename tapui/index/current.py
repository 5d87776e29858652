"""Bringing the index up to date before something is looked for, without a running gateway."""

import sqlite3
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal

from tapui.index.sources import record_folders
from tapui.index.store import IndexHeld, discard, index_path, is_damage, writing
from tapui.index.updating import Updater

Freshness = Literal["current", "held", "unfinished"]
"""`held`: a running tapui keeps the index, and is at most a second behind once it is complete."""


def bring_up_to_date(
    state_dir: Path,
    seconds: float,
    progress: Callable[[int, int], None] = lambda _done, _total: None,
) -> Freshness:
    """Index what is new, for at most `seconds`; raises `OSError` and `sqlite3.Error`.

    An index that turns out to be damaged meanwhile is made again, once.
    """
    deadline = time.monotonic() + seconds
    try:
        return _brought(state_dir, deadline, progress)
    except sqlite3.DatabaseError as error:
        if not is_damage(error):
            raise
        discard(index_path(state_dir), error)
    return _brought(state_dir, deadline, progress)


def _brought(state_dir: Path, deadline: float, progress: Callable[[int, int], None]) -> Freshness:
    try:
        with writing(state_dir) as connection:
            updater = Updater(
                connection,
                stop=lambda: time.monotonic() > deadline,
                progress=progress,
            )
            folders = record_folders(state_dir)
            return "current" if updater.update(folders, is_all=True) else "unfinished"
    except IndexHeld:
        return "held"
