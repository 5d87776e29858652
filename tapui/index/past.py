"""An index of what another program's files tell, made for one question and then deleted.

It has the tables of the index, filled by the same fold from lines in the form of records, so the
same views show it. Words and sessions have numbers of their own beside those of the index: the same
word has the same number in both, so that a question can group by it.
"""

import sqlite3
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from tapui.index.numbering import first_id
from tapui.index.sources import Placed, Source
from tapui.index.store import index_path, make_tables, opened_to_read
from tapui.index.update import Updater
from tapui.index.views import gone_files
from tapui.records.reader import parse

FILE = "past.sqlite"
_FIRST = 2**40
"""The first number of a word or a session that the index does not have."""


class PastIndex:
    """Takes sessions one after the other. Raises `sqlite3.Error` and, where there is no index,
    `IndexUnusable`."""

    def __init__(self, folder: Path, state_dir: Path) -> None:
        self.path = folder / FILE
        self._connection = sqlite3.connect(self.path, isolation_level=None)
        try:
            make_tables(self._connection)
            self._connection.execute("PRAGMA journal_mode = OFF")
            self._connection.execute("PRAGMA synchronous = OFF")
            self.recorded = self._take_over(state_dir)
        except BaseException:
            self._connection.close()
            raise
        self._updater = Updater(self._connection, is_for_one=True)
        self._sessions = 0

    def _take_over(self, state_dir: Path) -> frozenset[str]:
        """Take over the index's words; return the sessions that have records."""
        records = opened_to_read(index_path(state_dir))
        try:
            gone = set(gone_files(records))
            sessions = records.execute("SELECT name, file FROM sessions WHERE file IS NOT NULL")
            recorded = frozenset(name for name, file in sessions if file not in gone)
            self._connection.execute("BEGIN")
            self._connection.executemany(
                "INSERT INTO names VALUES (?, ?)", records.execute("SELECT id, name FROM names")
            )
        finally:
            records.close()
        self._connection.execute("INSERT INTO names VALUES (?, '')", (_FIRST,))
        self._connection.execute(
            "INSERT INTO sessions (id, name, label, cwd) VALUES (?, '', '', '')", (_FIRST,)
        )
        self._connection.execute("COMMIT")
        return recorded

    def add(self, lines: Iterable[bytes], on_written: Callable[[], None] = lambda: None) -> None:
        """Write a session by its lines of records, which are bounded and masked.

        `on_written` is called after each part of a large one: it can be asked for then.
        """
        self._sessions += 1
        self._updater.add(f"/{self._sessions}", self._placed(lines), on_written)

    def prove(self, session_id: str, started_at: str, state: str, text: str) -> None:
        """Write what a turn's checks show; `state` is `unknown` where that is not known."""
        self._connection.execute(
            "UPDATE turns SET proof = ?, proof_text = ? WHERE id = ? AND session ="
            " (SELECT id FROM sessions WHERE name = ?)",
            (
                None if state == "unknown" else state,
                text,
                first_id(started_at),
                session_id,
            ),
        )

    def close(self) -> None:
        self._connection.close()

    def _placed(self, lines: Iterable[bytes]) -> Iterator[Placed]:
        source = Source(Path(FILE), 0, self._sessions, 0, b"")
        offset = 0
        for line in lines:
            end = offset + len(line)
            yield Placed(source, offset, end, parse(line))
            offset = end
