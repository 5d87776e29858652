"""The index as commands use it: brought up to date first, with progress on stderr."""

import sqlite3
import sys
from pathlib import Path

from tapui.cli import output
from tapui.cli.failure import Failure
from tapui.index.current import bring_up_to_date
from tapui.index.search import Progress, Search
from tapui.index.store import IndexUnusable

SECONDS = 20.0
"""How long a command may spend on indexing before it answers with what there is."""
_MIB = 1024 * 1024


def search_of(state_dir: Path) -> Search:
    """Return a reader of the index, which is as new as `SECONDS` allow.

    What is missing in it is told. Raises `Failure` where there is no index and none can be made.
    """
    shown = _Shown()
    try:
        freshness = bring_up_to_date(state_dir, SECONDS, shown.progress)
    except (OSError, sqlite3.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise Failure(f"the index cannot be made: {reason}") from None
    finally:
        shown.end()
    search = Search(state_dir)
    if freshness != "current":
        told = _progress(search)
        if not told.is_complete:
            more = "a running tapui goes on" if freshness == "held" else "run it again to go on"
            done, total = told.done // _MIB, told.total // _MIB
            output.note(f"{done:,} of {total:,} MiB of records are indexed; {more}")
    return search


def _progress(search: Search) -> Progress:
    try:
        return search.progress()
    except IndexUnusable as error:
        raise Failure(f"the index cannot be read: {error}") from None


class _Shown:
    """A line of progress on a terminal, once there is something to wait for."""

    def __init__(self) -> None:
        self._is_terminal = sys.stderr.isatty()
        self._is_begun = False

    def progress(self, done: int, total: int) -> None:
        if self._is_terminal and (self._is_begun or total - done > 4 * _MIB):
            self._is_begun = True
            sys.stderr.write(f"\rindexing: {done // _MIB:,} of {total // _MIB:,} MiB")
            sys.stderr.flush()

    def end(self) -> None:
        if self._is_begun:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
