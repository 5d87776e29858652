"""What was recorded, as commands read it: the journals' folders, and the index over them."""

import contextlib
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from tapui.cli import output
from tapui.cli.context import home, id_of
from tapui.cli.failure import Failure
from tapui.records import register

if TYPE_CHECKING:
    from tapui.index.search import Search

INDEX_SECONDS = 20.0
"""How long a command may spend on indexing before it answers with what there is."""
_MIB = 1024 * 1024


def folders_of(
    wanted: str | None, otherwise: str | None = None
) -> list[tuple[str | None, list[Path]]]:
    """Return the folders to read, each group with the session to keep of it (None: all).

    Raises `Failure`: with the text `otherwise`, where there are no records of that session.
    """
    state = home().state
    known = register.sessions(state)
    if wanted is None:
        # A session's folder may hold records of the session that it replaced: keep all, once.
        every = dict.fromkeys(folder for folders in known.values() for folder in folders)
        every |= dict.fromkeys(register.gateway_folders(state))
        return [(None, list(every))]
    if folders := register.folders(state, wanted):
        return [(wanted, folders)]
    listed = ", ".join(known) if known else "none"
    none = f"there are no records of session {wanted}; sessions with records: {listed}"
    session = id_of(known, wanted, otherwise=otherwise or none)
    return [(session, known[session])]


@contextlib.contextmanager
def open_index() -> Iterator["Search"]:
    """Open the index, as new as `INDEX_SECONDS` allow; what is missing in it is noted,
    and how many lines are damaged.

    Raises `Failure` where there is no index and none can be made, and for one that cannot be read.
    """
    from tapui.index.search import Search
    from tapui.index.store import IndexUnusable, damage_words
    from tapui.index.update import bring_up_to_date

    state, bar = home().state, ProgressBar("indexing")
    try:
        freshness = bring_up_to_date(state, INDEX_SECONDS, bar.progress)
    except (OSError, sqlite3.Error) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise Failure(f"the index cannot be made: {reason}") from None
    finally:
        bar.end()
    search = Search(state)
    try:
        if freshness != "current" and not (progress := search.progress()).is_complete:
            more = "a running tapui goes on" if freshness == "held" else "run it again to go on"
            done, total = progress.done // _MIB, progress.total // _MIB
            output.note(f"{done:,} of {total:,} MiB of records are indexed; {more}")
        if words := damage_words(search.damaged()):
            output.note(words)
        yield search
    except IndexUnusable as error:
        raise Failure(f"the index cannot be read: {error}") from None
    finally:
        search.close()


def indexed_session(search: "Search", wanted: str | None) -> str | None:
    """Return the id of the session that an argument names; raises `Failure`."""
    if wanted is None:
        return None
    none = f"there are no records of session {wanted}"
    return id_of(search.session_ids(wanted), wanted, otherwise=none)


class ProgressBar:
    """A line on a terminal, once there is something to wait for; `doing` is what goes on."""

    def __init__(self, doing: str) -> None:
        self._doing = doing
        self._is_terminal = sys.stderr.isatty()
        self._is_begun = False

    def progress(self, done: int, total: int) -> None:
        if self._is_terminal and (self._is_begun or total - done > 4 * _MIB):
            self._is_begun = True
            sys.stderr.write(f"\r{self._doing}: {done // _MIB:,} of {total // _MIB:,} MiB")
            sys.stderr.flush()

    def end(self) -> None:
        if self._is_begun:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
