"""The sessions that Copilot stored, as rows beside those of the records: `tapui query … --past`."""

import argparse
import contextlib
import sqlite3
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from tapui.cli import output
from tapui.cli.commands.proof.past import some, what_was_left_out
from tapui.cli.context import home, loaded
from tapui.cli.failure import Failure
from tapui.cli.journals import ProgressBar
from tapui.hosts.copilot.finding.past_reading import (
    PastAsked,
    PastProgress,
    PastReading,
    give_way,
    reading,
)
from tapui.hosts.copilot.finding.past_turns import PROVENANCE
from tapui.index.asking import PastRows
from tapui.index.past import PastIndex

FIRST_SECONDS = 0.5
"""After so long what was read is worth a first answer, if there is much more to read."""
FIRST_LEFT = 8 * 1024 * 1024
"""Bytes still to be read without which there is no first answer."""

OnFirst = Callable[[PastRows, str], None]
"""Takes the rows of what was read so far, and how far that is: `3 of 8 sessions, the newest`."""


@contextlib.contextmanager
def past_rows(
    args: argparse.Namespace, on_first: OnFirst | None = None
) -> Iterator[PastRows | None]:
    """Read the stored sessions that are asked for; the rows are deleted at the end.

    What could not be read is noted. Raises `Failure`, and what `on_first` raises.
    """
    if args.past is None:
        yield None
        return
    records = loaded(args).settings.records
    with tempfile.TemporaryDirectory(prefix="tapui-") as folder:
        try:
            rows = PastIndex(Path(folder), home().state)
            copilot, known = str(home().copilot.absolute()), list(rows.recorded)
            asked = PastAsked(copilot, args.past, known, list(records.mask), records.inline)
            with contextlib.closing(rows), reading(asked) as past:
                _Filling(rows, past, on_first).fill()
        except (OSError, sqlite3.Error) as error:
            raise Failure(f"Copilot's files cannot be read into rows: {error}") from None
        _note(past.progress)
        yield PastRows(rows.path, PROVENANCE)


class _Filling:
    """Makes rows of sessions, and shows how far it is."""

    def __init__(self, rows: PastIndex, past: PastReading, on_first: OnFirst | None) -> None:
        self._rows = rows
        self._past = past
        self._on_first = on_first
        self._due = time.monotonic() + FIRST_SECONDS
        self._bar = ProgressBar("reading Copilot's files")
        self._done = 0

    def fill(self) -> None:
        try:
            for session in self._past.sessions():
                self._rows.add(session.records, self._look)
                for turn in session.verdicts:
                    self._rows.prove(session.id, turn.started_at, turn.state, turn.reason)
                self._done += 1
                self._look()
        finally:
            self._bar.end()

    def _look(self) -> None:
        """Nothing is being written: the first answer can be given, once it is due."""
        give_way()
        read = self._past.progress
        left = read.total - read.counts.bytes
        if self._on_first is not None and time.monotonic() > self._due and left > FIRST_LEFT:
            on_first, self._on_first = self._on_first, None
            self._bar.end()
            how_far = f"{self._done:,} of {some(read.found, 'session')}, the newest"
            on_first(PastRows(self._rows.path, PROVENANCE), how_far)
        self._bar.progress(read.counts.bytes, read.total)


def _note(read: PastProgress) -> None:
    told = read.counts.sessions - read.others
    output.note(f"{some(told, 'session')} from Copilot's files, which an agent can write to")
    if read.recorded:
        what = "is" if read.recorded == 1 else "are"
        output.note(f"{some(read.recorded, 'session')} {what} told by the records alone")
    if read.others:
        output.note(f"{some(read.others, 'session')} of another version of the files left out")
    for text in what_was_left_out(read.counts):
        output.note(text)
