"""Bringing the index up to date with the records: what is new in each folder is read once."""

import errno
import logging
import os
import sqlite3
import time
import zlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import msgspec

from tapui.index.facts import (
    FactWriter,
    IndexFact,
    Names,
    facts_in,
    shows_proof,
    tells_facts,
    turn_values,
)
from tapui.index.folder_fold import FolderFold
from tapui.index.numbering import first_id
from tapui.index.rows import Found, IndexRow, RowWriter, found_in
from tapui.index.sources import Placed, Source, in_order, record_files, record_folders
from tapui.index.store import IndexHeld, discard, index_path, is_damage, writing
from tapui.index.usage import UsageRow, UsageWriter, usage_in
from tapui.projection.changes import Edit, edits_of
from tapui.projection.fold import fold
from tapui.projection.state import State
from tapui.projection.turns.earlier_turns import interrupted
from tapui.projection.turns.turn import LiveTurn
from tapui.records.reader import Record
from tapui.text import safe_text
from tapui.wire import events as ev
from tapui.wire import subjects
from tapui.wire.surrogates import without_surrogates
from tapui.wire.turns import TurnHead

_log = logging.getLogger(__name__)

SETTLE_SECONDS = 0.05
"""A turn of the gateway writes to several files: this long after a look all of it is there."""
_FRESH_SECONDS = 2.0
_BATCH_ROWS = 2_000
_BATCH_BYTES = 2 * 1024 * 1024


@dataclass(slots=True)
class _BegunTurn:
    """A turn as it stands, and the first record of it in the batch."""

    turn: LiveTurn | TurnHead
    row: IndexRow


@dataclass(slots=True)
class _SessionRow:
    """A session as it was told last, with the record that told it."""

    session: subjects.Session
    row: IndexRow
    is_opening: bool


@dataclass(slots=True)
class _Batch:
    """What one transaction writes of a folder."""

    rows: list[IndexRow] = field(default_factory=list)
    usage: list[UsageRow] = field(default_factory=list)
    turns: dict[tuple[int, str], _BegunTurn] = field(default_factory=dict)
    """Turns that are new or changed, by session and beginning."""
    sessions: dict[int, _SessionRow] = field(default_factory=dict)
    bytes: int = 0
    damaged: dict[int, int] = field(default_factory=dict)
    offsets: dict[int, int] = field(default_factory=dict)
    last: Record | None = None

    @property
    def is_full(self) -> bool:
        return len(self.rows) >= _BATCH_ROWS or self.bytes >= _BATCH_BYTES


class Updater:
    """Reads new records into an index that is open for writing.

    `stop` is asked now and then: once it returns True, what was read is kept and the rest is left.
    `progress` gets the bytes done and the bytes in all. `is_for_one`: the index is made for one
    question, so that no words lead to its rows and nothing goes on from what was read.
    """

    def __init__(
        self,
        connection: sqlite3.Connection,
        *,
        stop: Callable[[], bool] = lambda: False,
        progress: Callable[[int, int], None] = lambda _done, _total: None,
        is_for_one: bool = False,
    ) -> None:
        self._connection = connection
        self.is_for_one = is_for_one
        self._stop = stop
        self._progress = progress
        self.names = Names(connection)
        self._facts = FactWriter(connection, self.names)
        self._rows = RowWriter(connection, self._facts, has_words=not is_for_one)
        self._usage = UsageWriter(connection, self.names)
        self._proven_runs: set[int] = set()
        self._runs: dict[str, int] = dict(_pairs(connection, "SELECT name, id FROM runs"))
        self._sessions: dict[str, int] = dict(_pairs(connection, "SELECT name, id FROM sessions"))
        self._done = self._total = 0
        self._told_faults: set[Path] = set()

    def update(self, folders: Iterable[Path], *, is_all: bool) -> bool:
        """Read what is new in the folders; return whether that was all of it.

        What was indexed of files that are gone is taken out; with `is_all` what was indexed of
        other folders, too. Raises `sqlite3.Error`.
        """
        found = {path: self._files_in(path) for path in dict.fromkeys(folders)}
        if is_all:
            self._forget_others(found)
            self._total = sum(one.size for files in found.values() for one in files)
            (self._done,) = self._connection.execute(
                "SELECT coalesce(sum(offset), 0) FROM files"
            ).fetchone()
            self._tell()
        is_complete = True
        for path, files in reversed(found.items()):  # what was used last is looked for first
            if self._stop():
                return False
            try:
                is_complete = self._folder(path, files) and is_complete
            except OSError as error:
                # Deleted or rotated while it is read: the next look shows what is left of it.
                if error.errno not in (errno.ENOENT, errno.ENOTDIR, errno.ESTALE):
                    self._fault(path, error)
                is_complete = False
        return is_complete

    def _files_in(self, path: Path) -> list[Source]:
        try:
            return record_files(path)
        except OSError as error:
            self._fault(path, error)
            return []

    def _fault(self, path: Path, error: OSError) -> None:
        if path not in self._told_faults:
            self._told_faults.add(path)
            _log.warning("%s is not indexed: %s", safe_text(str(path)), error.strerror or error)

    def add(
        self, name: str, placed: Iterable[Placed], on_written: Callable[[], None] = lambda: None
    ) -> None:
        """Write records that are in no folder of records, of one file after the other.

        `on_written` is called after each transaction but the last. Raises `sqlite3.Error`.
        """
        number = self._number_of(Path(name))
        reading: FolderReading | None = None
        for one in placed:
            if reading is None:
                numbers, offsets = self._known(number, [one.source])
                reading = FolderReading(self, number, numbers, offsets)
            reading.take(one)
            if reading.batch.is_full:
                reading.flush()
                on_written()
        if reading is not None:
            reading.end()
            reading.flush()

    # What is gone

    def _forget_others(self, found: dict[Path, list[Source]]) -> None:
        known = self._connection.execute("SELECT id, path FROM folders").fetchall()
        paths = {str(path) for path in found}
        for number, path in known:
            if path not in paths:
                self._forget(number)
                self._connection.execute("DELETE FROM folders WHERE id = ?", (number,))

    def _forget(self, number: int) -> None:
        of_folder = "SELECT id FROM files WHERE folder = ?"
        for (file,) in self._connection.execute(of_folder, (number,)).fetchall():
            self._remove(file)
        self._connection.execute("DELETE FROM checkpoints WHERE folder = ?", (number,))
        self._connection.execute(
            "UPDATE folders SET state = NULL, open = NULL, facts = NULL, bytes = 0 WHERE id = ?",
            (number,),
        )

    def _remove(self, file: int) -> None:
        self._rows.remove(file)
        self.names.purge()
        self._usage.forget()

    # One folder

    def _folder(self, path: Path, files: list[Source]) -> bool:
        number = self._number_of(path)
        numbers, offsets = self._known(number, files)
        if all(offsets[one] >= one.size for one in files):
            return True
        if any(time.time() - _written(one.path) < _FRESH_SECONDS for one in files):
            time.sleep(SETTLE_SECONDS)
        reading = FolderReading(self, number, numbers, offsets)
        for placed in in_order(offsets):
            reading.take(placed)
            if reading.batch.is_full:
                reading.flush()
                self._tell()
                if self._stop():
                    return False
        reading.flush()
        self._tell()
        return True

    def _number_of(self, path: Path) -> int:
        name = without_surrogates(str(path))
        query = "SELECT id FROM folders WHERE path = ?"
        known = self._connection.execute(query, (name,)).fetchone()
        if known is None:
            self._connection.execute("INSERT INTO folders (path, bytes) VALUES (?, 0)", (name,))
            known = self._connection.execute(query, (name,)).fetchone()
        return int(known[0])

    def _known(
        self, number: int, files: list[Source]
    ) -> tuple[dict[Source, int], dict[Source, int]]:
        """Return the numbers of a folder's files and how far each was read.

        A file that took another's place, or that is shorter than it was, costs the folder what
        was indexed of it: all of it is read again.
        """
        known = {
            (device, inode): (file, name, offset, head)
            for file, name, device, inode, offset, head in self._connection.execute(
                "SELECT id, name, device, inode, offset, head FROM files WHERE folder = ?",
                (number,),
            )
        }
        here = {(one.device, one.inode): one for one in files}
        for identity, (_, _, offset, head) in known.items():
            one = here.get(identity)
            if one is not None and (one.size < offset or not one.is_of(head)):
                self._forget(number)
                known = {}
                break
        for identity, (file, _, _, _) in list(known.items()):
            if identity not in here:
                self._remove(file)
                del known[identity]
        numbers: dict[Source, int] = {}
        offsets: dict[Source, int] = {}
        for identity, one in here.items():
            name = one.path.name
            if identity in known:
                numbers[one], known_name, offsets[one], head = known[identity]
                if known_name != name or len(head) < len(one.head):
                    self._connection.execute(
                        "UPDATE files SET name = ?, head = ? WHERE id = ?",
                        (name, one.head, numbers[one]),
                    )
                continue
            cursor = self._connection.execute(
                "INSERT INTO files (folder, name, device, inode, offset, head, damaged)"
                " VALUES (?, ?, ?, ?, 0, ?, 0)",
                (number, name, one.device, one.inode, one.head),
            )
            assert cursor.lastrowid is not None
            numbers[one], offsets[one] = cursor.lastrowid, 0
        return numbers, offsets

    # Names

    def run_number(self, run: str) -> int:
        return self._number("runs", self._runs, run)

    def session_number(self, session_id: str | None) -> int | None:
        """Return the number of a session, None for none."""
        return None if session_id is None else self._number("sessions", self._sessions, session_id)

    def _number(self, table: str, known: dict[str, int], name: str) -> int:
        if name not in known:
            more = (", label, cwd", ", '', ''") if table == "sessions" else ("", "")
            cursor = self._connection.execute(
                f"INSERT INTO {table} (name{more[0]}) VALUES (?{more[1]})", (name,)
            )
            assert cursor.lastrowid is not None
            known[name] = cursor.lastrowid
        return known[name]

    def note_proof(self, run: int) -> None:
        """Note that the tapui of a run keeps a ledger."""
        if run not in self._proven_runs:
            self._proven_runs.add(run)
            self._connection.execute("UPDATE runs SET has_proof = 1 WHERE id = ?", (run,))

    def _write_session(self, number: int, told: _SessionRow) -> None:
        session, row, text = told.session, told.row, without_surrogates
        where = "1" if told.is_opening else "file IS NULL"
        self._connection.execute(
            "UPDATE sessions SET at = ?, file = ?, offset = ?, run = ?, seq = ?"
            f" WHERE id = ? AND {where}",
            (first_id(session.opened_at), row.file, row.offset, row.run, row.seq, number),
        )
        self._connection.execute(
            "UPDATE sessions SET label = ?, cwd = ?, host = ?, state = ?, mode = ?, model = ?,"
            " started_by = ?, ended = ?, reason = ? WHERE id = ?",
            (
                text(session.label), text(session.cwd), self.names.number(session.host),
                session.state, session.mode, self.names.number(session.model),
                self.names.number(session.started_by), session.ended_at,
                None if session.reason is None else text(session.reason), number,
            ),
        )  # fmt: skip

    def _write_turn(self, begun: _BegunTurn) -> None:
        turn, row = begun.turn, begun.row
        number = first_id(turn.started_at)
        if number is not None and row.session is not None:
            fact = IndexFact("turns", turn_values(turn), at=number)
            self._facts.write(fact, (*row.place[:-1], turn.number), number)

    # Transactions

    def begin(self) -> None:
        if not self._connection.in_transaction:
            self._connection.execute("BEGIN IMMEDIATE")

    def commit(self, batch: _Batch, state: FolderFold, places: dict[tuple[int, int], int]) -> None:
        """Write a batch and how far its files were read, all of it or nothing."""
        connection = self._connection
        self.begin()
        try:
            for number, told in batch.sessions.items():
                self._write_session(number, told)
            self._rows.write(batch.rows, state.facts)
            for begun in batch.turns.values():
                self._write_turn(begun)
            self._usage.write(batch.usage)
            for file, offset in batch.offsets.items():
                connection.execute(
                    "UPDATE files SET offset = ?, damaged = damaged + ? WHERE id = ?",
                    (offset, batch.damaged.get(file, 0), file),
                )
            if batch.last is not None and not self.is_for_one:
                state.save(connection)
                if state.is_due(connection):
                    at = (batch.last.run, batch.last.seq, batch.last.ts)
                    state.check(connection, at, places)
            connection.execute("UPDATE progress SET done = ?, total = ?", (self._done, self._total))
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    def read(self, size: int) -> None:
        self._done += size

    def _tell(self) -> None:
        self._total = max(self._total, self._done)
        self._progress(self._done, self._total)

    def loaded(self, number: int) -> FolderFold:
        """Return what is remembered of a folder; a state that is of no use is begun anew."""
        row = self._connection.execute(
            "SELECT state, open, facts, bytes FROM folders WHERE id = ?", (number,)
        ).fetchone()
        try:
            return FolderFold(number, row)
        except (zlib.error, msgspec.DecodeError, UnicodeDecodeError) as error:
            raise sqlite3.DatabaseError(f"a folder's state cannot be read: {error}") from None


class FolderReading:
    """One pass over a folder's new records."""

    def __init__(
        self,
        updater: Updater,
        number: int,
        numbers: dict[Source, int],
        offsets: dict[Source, int],
    ) -> None:
        self._updater = updater
        self._numbers = numbers
        self._newest: IndexRow | None = None
        self._noted: LiveTurn | None = None
        """The turn that was the newest when turns were noted last in the batch."""
        self._folder = updater.loaded(number)
        self._places = {(one.device, one.inode): offset for one, offset in offsets.items()}
        self.batch = _Batch()

    def take(self, placed: Placed) -> None:
        batch, source = self.batch, placed.source
        file = self._numbers[source]
        size = placed.end - placed.begin
        self._updater.read(size)
        self._folder.bytes += size
        batch.bytes += size
        batch.offsets[file] = self._places[source.device, source.inode] = placed.end
        record = placed.record
        if record is None:
            batch.damaged[file] = batch.damaged.get(file, 0) + 1
            return
        batch.last = record
        if record.event is not None:
            self._index(record, record.event, file, placed.begin)

    def _index(self, record: Record, event: ev.AnyEvent, file: int, offset: int) -> None:
        updater, state = self._updater, self._folder.state
        began = self._began(event)
        # For one question lines are counted as the host tells them, not by a diff of the arguments.
        edits = self._edits(event, None if updater.is_for_one else began)
        found = self._found(event, state, edits)
        facts: list[IndexFact] = []
        if tells_facts(event):
            facts += facts_in(event, record.run, state, began, self._folder.facts)
        fold(state, event, record.ts)
        updater.begin()
        row = IndexRow(
            file=file,
            offset=offset,
            session=updater.session_number(record.session_id),
            run=updater.run_number(record.run),
            seq=record.seq,
            ts=record.ts,
            turn=turn_of(state, record.session_id),
            found=found,
            edits=edits,
            facts=facts,
        )
        self._newest = row
        if found is not None or facts:
            self.batch.rows.append(row)
        if shows_proof(event):
            updater.note_proof(row.run)
        session = getattr(event, "session", None)
        if isinstance(session, subjects.Session) and row.session is not None:
            is_opening = isinstance(event, ev.SessionOpened | ev.SessionReplaced)
            known = self.batch.sessions.get(row.session)
            if known is not None and known.is_opening and not is_opening:
                row, is_opening = known.row, True
            assert row.session is not None
            self.batch.sessions[row.session] = _SessionRow(session, row, is_opening)
        self._use(event, row)
        self._note_turns(record, event, row)

    def _found(self, event: ev.AnyEvent, state: State, edits: list[Edit]) -> Found | None:
        if not self._updater.is_for_one:
            return found_in(event, state)
        if isinstance(event, ev.CallStarted) or (isinstance(event, ev.CallFinished) and edits):
            return Found("call", "", "", event.call.id)
        is_error = isinstance(event, ev.SessionHappened) and tells_facts(event)
        return found_in(event, state) if is_error else None

    def end(self) -> None:
        """Nothing more comes: what was under way is not known any more."""
        row = self._newest
        turns = self._folder.state.turns
        for session_turns in turns.values() if row is not None else ():
            latest = session_turns.latest
            if latest is not None and latest.ended_at is None and row is not None:
                interrupted(session_turns)
                self.batch.turns.setdefault(
                    (row.session or 0, latest.started_at), _BegunTurn(latest, row)
                )

    def _note_turns(self, record: Record, event: ev.AnyEvent, row: IndexRow) -> None:
        """Note which turns a record has begun, changed, or told of."""
        turns = self._folder.state.turns.get(record.session_id or "")
        if turns is None or row.session is None:
            return
        newest = turns.latest
        if newest is self._noted and not isinstance(event, ev.TurnsRestored | ev.TurnProved):
            return
        self._noted = newest
        changed: list[LiveTurn | TurnHead] = []
        if isinstance(event, ev.TurnsRestored):
            changed += [turn.head for turn in event.turns]
        if isinstance(event, ev.TurnProved):
            proved = turns.begun_at(event.started_at)
            changed += [proved] if proved is not None else []
        # The newest ends where the next begins: that one is looked at, too.
        changed += [one for one in turns.turns[-2:] if not one.is_history]
        for turn in changed:
            key = (row.session, turn.started_at)
            known = self.batch.turns.get(key)
            if known is None or known.turn is not turn:
                self.batch.turns[key] = _BegunTurn(turn, row if known is None else known.row)

    def _use(self, event: ev.AnyEvent, row: IndexRow) -> None:
        if row.session is None:
            return
        for model, used, is_total in usage_in(event):
            turns = self._folder.state.turns.get(getattr(event, "session_id", ""))
            turn = turns.running if turns is not None else None
            is_again = turn is not None and turn.sent_back > 0
            self.batch.usage.append(UsageRow(row.place, row.ts, model, is_total, used, is_again))

    def _began(self, event: ev.AnyEvent) -> subjects.Call | None:
        """Return the call, as it was started, that ends with a record."""
        if isinstance(event, ev.CallStarted):
            self._folder.began(event.call)
        if not isinstance(event, ev.CallFinished):
            return None
        return self._folder.open.pop(event.call.id, None)

    def _edits(self, event: ev.AnyEvent, began: subjects.Call | None) -> list[Edit]:
        if not isinstance(event, ev.CallFinished):
            return []
        session = self._folder.state.sessions.get(event.session_id)
        cwd = session.cwd if session is not None else "/"
        return [
            msgspec.structs.replace(edit, path=os.path.normpath(os.path.join(cwd, edit.path)))  # noqa: PTH118 - text, not a path of ours
            for edit in edits_of(began, event.call)
        ]

    def flush(self) -> None:
        self._updater.commit(self.batch, self._folder, self._places)
        self.batch = _Batch()
        self._noted = None


def turn_of(state: State, session_id: str | None) -> int | None:
    """Return the number of a session's newest turn, None without one."""
    turns = state.turns.get(session_id or "")
    latest = turns.latest if turns is not None else None
    return latest.number if latest is not None else None


def _written(path: Path) -> float:
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _pairs(connection: sqlite3.Connection, query: str) -> list[tuple[str, int]]:
    return [(name, number) for name, number in connection.execute(query)]


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
