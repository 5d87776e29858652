"""The index's file: its form, its version, and how it is opened.

The records are the truth. An index that is damaged, or that another version made, is thrown away
and made again from them. One process at a time writes it (the folder's lock); any number read.
"""

import contextlib
import logging
import os
import sqlite3
from collections.abc import Iterator
from pathlib import Path

from tapui.files import private_file
from tapui.files.locked_folder import FILE_MODE, FolderHeldError, LockedFolder
from tapui.text import safe_text

_log = logging.getLogger(__name__)

INDEX_FOLDER = "index"
"""In the state folder; 0700."""
INDEX_FILE = "records.sqlite"
DAMAGE_FILE = "damaged"
"""Beside the index: device and inode of one that a reader found damaged."""
VERSION = 8
"""Another number in the file than this one: it is made again."""
SHARD_BYTES = 64 * 1024 * 1024
"""Text beyond which the next shard begins.

Words are found shard by shard, the newest first: how long the first hits take does not depend on
how much is indexed. A shard whose rows are all gone is dropped.
"""

_APPLICATION = 0x74617069
_BUSY_MS = 5_000
_CACHE_KIB = 16 * 1024
_LOG_PAGES = 4_000
"""Pages (4 KiB) of the write-ahead log that go into the index at once. Both are synced each time,
which a rebuild waits for: SQLite's own 1,000 sync four times as often."""
_PLACE = (
    "id INTEGER {key}, file INTEGER NOT NULL, offset INTEGER NOT NULL, session INTEGER,"
    " run INTEGER NOT NULL, seq INTEGER NOT NULL, turn INTEGER"
)
_BY_ID = _PLACE.format(key="PRIMARY KEY")
_PLACED = _PLACE.format(key="NOT NULL")
_SCHEMA = f"""
CREATE TABLE folders (
    id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, state BLOB, open BLOB, facts BLOB,
    bytes INTEGER NOT NULL);
CREATE TABLE files (
    id INTEGER PRIMARY KEY, folder INTEGER NOT NULL, name TEXT NOT NULL, device INTEGER NOT NULL,
    inode INTEGER NOT NULL, offset INTEGER NOT NULL, head BLOB NOT NULL, damaged INTEGER NOT NULL);
CREATE TABLE sessions (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, label TEXT NOT NULL, cwd TEXT NOT NULL,
    at INTEGER, file INTEGER, offset INTEGER, run INTEGER, seq INTEGER, host INTEGER, state TEXT,
    mode TEXT, model INTEGER, started_by INTEGER, ended TEXT, reason TEXT);
CREATE TABLE runs (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, has_proof INTEGER NOT NULL DEFAULT 0);
CREATE TABLE names (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE shards (
    id INTEGER PRIMARY KEY, bytes INTEGER NOT NULL, rows INTEGER NOT NULL, newest INTEGER NOT NULL);
CREATE TABLE rows (
    id INTEGER PRIMARY KEY, shard INTEGER NOT NULL, file INTEGER NOT NULL, offset INTEGER NOT NULL,
    session INTEGER, run INTEGER NOT NULL, seq INTEGER NOT NULL,
    kind TEXT NOT NULL, turn INTEGER, call TEXT, is_cut INTEGER NOT NULL, title TEXT NOT NULL,
    text BLOB NOT NULL);
CREATE INDEX rows_by_file ON rows (file);
CREATE INDEX prompts ON rows (session, id) WHERE kind = 'prompt';
CREATE INDEX approval_rows ON rows (session, id) WHERE kind = 'approval';
CREATE TABLE changes (
    id INTEGER PRIMARY KEY, row INTEGER NOT NULL, file INTEGER NOT NULL, session INTEGER,
    run INTEGER NOT NULL, seq INTEGER NOT NULL, turn INTEGER, name TEXT NOT NULL,
    path TEXT NOT NULL, added INTEGER, removed INTEGER, is_probable INTEGER NOT NULL,
    is_whole INTEGER NOT NULL,
    hunks BLOB NOT NULL);
CREATE INDEX changes_by_name ON changes (name, row);
CREATE INDEX changes_by_path ON changes (path, row, session, added, removed, file);
CREATE INDEX changes_by_session ON changes (session, row);
CREATE INDEX changes_by_file ON changes (file);
CREATE TABLE calls ({_BY_ID},
    tool INTEGER, provider INTEGER, state TEXT NOT NULL, duration REAL, queued REAL, gated REAL,
    error_code INTEGER, exit_code INTEGER, agent INTEGER, caller INTEGER, summary INTEGER,
    files INTEGER NOT NULL, is_failed INTEGER NOT NULL, outcome TEXT, error TEXT);
CREATE INDEX failed_calls ON calls (tool, outcome, error_code, exit_code)
    WHERE outcome IN ('failed', 'timedOut');
CREATE INDEX slow_calls ON calls (duration) WHERE duration IS NOT NULL;
CREATE INDEX repeated_calls ON calls (session, turn, summary, is_failed);
CREATE INDEX exited_calls ON calls (session, summary, id, is_failed) WHERE exit_code IS NOT NULL;
CREATE TABLE approvals ({_BY_ID},
    kind TEXT NOT NULL, state TEXT NOT NULL, decided_by INTEGER, rule INTEGER, effect TEXT,
    waited REAL, provider INTEGER, tool INTEGER, summary INTEGER, reason TEXT, expires TEXT);
CREATE INDEX open_approvals ON approvals (id) WHERE state IN ('waiting', 'revealed', 'deciding');
CREATE TABLE lines ({_BY_ID},
    stream INTEGER, number INTEGER NOT NULL, level TEXT NOT NULL, size INTEGER NOT NULL,
    emitter_run INTEGER, trace TEXT);
CREATE TABLE errors ({_BY_ID},
    code INTEGER, source INTEGER, is_session INTEGER NOT NULL);
CREATE TABLE spans ({_BY_ID},
    trace BLOB, span BLOB, parent BLOB, name TEXT NOT NULL, duration REAL, status TEXT NOT NULL,
    code INTEGER, tool INTEGER, provider INTEGER, call TEXT, agent INTEGER, emitter INTEGER,
    emitter_run INTEGER, stream INTEGER, lines INTEGER, kept INTEGER, surfaced INTEGER,
    injected INTEGER, held INTEGER, dropped INTEGER, model INTEGER, error TEXT);
CREATE INDEX emitter_runs ON spans (id) WHERE name = 'emitter';
CREATE TABLE turns ({_PLACED},
    state TEXT NOT NULL, source TEXT NOT NULL, source_name INTEGER, duration REAL, ended TEXT,
    steps INTEGER NOT NULL, failed INTEGER NOT NULL, denied INTEGER NOT NULL,
    cancelled INTEGER NOT NULL, stopped INTEGER NOT NULL, timed_out INTEGER NOT NULL,
    waited REAL NOT NULL, sent_back INTEGER NOT NULL,
    files INTEGER NOT NULL, added INTEGER NOT NULL, removed INTEGER NOT NULL,
    is_outside INTEGER NOT NULL, is_history INTEGER NOT NULL, proof TEXT, proof_text TEXT,
    checked_in INTEGER, prompt TEXT NOT NULL,
    PRIMARY KEY (id, session)) WITHOUT ROWID;
CREATE TABLE goals ({_PLACED},
    name TEXT NOT NULL, title TEXT NOT NULL, status TEXT NOT NULL, opened_by TEXT NOT NULL,
    closed TEXT, closed_by INTEGER, criteria INTEGER NOT NULL, passed INTEGER NOT NULL,
    sent_back INTEGER NOT NULL, tokens INTEGER NOT NULL, revision INTEGER NOT NULL, note TEXT,
    PRIMARY KEY (session, name)) WITHOUT ROWID;
CREATE TABLE checks ({_PLACED},
    name TEXT NOT NULL, kind TEXT NOT NULL, state TEXT NOT NULL, goal TEXT, command INTEGER,
    exit_code INTEGER, tests TEXT, by TEXT, call TEXT, expected TEXT, actual TEXT, reason TEXT,
    provenance TEXT,
    PRIMARY KEY (id, session, name)) WITHOUT ROWID;
CREATE TABLE claims ({_PLACED},
    name TEXT NOT NULL, verdict TEXT NOT NULL, text TEXT NOT NULL, reason TEXT NOT NULL,
    is_material INTEGER NOT NULL, checks INTEGER NOT NULL, goal TEXT,
    PRIMARY KEY (id, session, name)) WITHOUT ROWID;
CREATE TABLE reviews ({_PLACED},
    name TEXT NOT NULL, review TEXT, monitor INTEGER, decision TEXT, observed TEXT, reason TEXT,
    stream INTEGER, first INTEGER, last INTEGER, unreviewed INTEGER, reviewer INTEGER,
    model INTEGER, finding TEXT, fingerprint TEXT, title TEXT, priority TEXT, confidence REAL,
    path TEXT, line INTEGER, rule TEXT, is_opinion INTEGER, verdict TEXT, disposition TEXT,
    PRIMARY KEY (session, name)) WITHOUT ROWID;
CREATE TABLE usage (
    day INTEGER NOT NULL, model INTEGER NOT NULL, session INTEGER NOT NULL, at INTEGER NOT NULL,
    run INTEGER NOT NULL, seq INTEGER NOT NULL, file INTEGER NOT NULL, offset INTEGER NOT NULL,
    turn INTEGER, kind TEXT NOT NULL, input INTEGER NOT NULL, output INTEGER NOT NULL,
    cost REAL, requests REAL, cache_read INTEGER NOT NULL, cache_write INTEGER NOT NULL,
    credits REAL, calls INTEGER NOT NULL, is_again INTEGER NOT NULL,
    PRIMARY KEY (day, model, session, at, run, seq)) WITHOUT ROWID;
CREATE INDEX usage_by_session ON usage (session);
CREATE TABLE checkpoints (
    folder INTEGER NOT NULL, run TEXT NOT NULL, seq INTEGER NOT NULL, ts TEXT NOT NULL,
    bytes INTEGER NOT NULL, offsets TEXT NOT NULL, state BLOB NOT NULL);
CREATE INDEX checkpoints_by_folder ON checkpoints (folder, bytes);
CREATE TABLE progress (done INTEGER NOT NULL, total INTEGER NOT NULL, damaged INTEGER NOT NULL);
INSERT INTO progress VALUES (0, 0, 0);
"""
_PASSING = frozenset(
    {
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_INTERRUPT,
    }
)


class IndexUnusable(Exception):  # noqa: N818 - a state of the file, not a fault of the program
    """There is no index, it is damaged, or it is another version's.

    `is_replaced`: the process that writes the index makes a new one, now or as soon as it starts.
    """

    def __init__(self, text: str, *, is_replaced: bool = False) -> None:
        super().__init__(text)
        self.is_replaced = is_replaced


class IndexMissing(IndexUnusable):
    """There is no index yet."""

    def __init__(self) -> None:
        super().__init__("there is no index yet", is_replaced=True)


class IndexHeld(Exception):  # noqa: N818 - another process does the work
    """Another process writes the index."""


def read_offsets(connection: sqlite3.Connection) -> dict[tuple[int, int], int]:
    """Return how far each file was read, by (device, inode). Raises `sqlite3.Error`."""
    found = connection.execute("SELECT device, inode, offset FROM main.files")
    return {(device, inode): offset for device, inode, offset in found}


def damaged_lines(connection: sqlite3.Connection) -> int:
    """Return how many lines of the records are no records. Raises `sqlite3.Error`."""
    (count,) = connection.execute("SELECT sum(damaged) FROM main.files").fetchone()
    return count or 0


def damage_words(count: int) -> str:
    """Return `1 damaged line of the records was passed over`; "" for none."""
    if not count:
        return ""
    if count == 1:
        return "1 damaged line of the records was passed over"
    return f"{count:,} damaged lines of the records were passed over"


def index_path(state_dir: Path) -> Path:
    return state_dir / INDEX_FOLDER / INDEX_FILE


@contextlib.contextmanager
def writing(state_dir: Path) -> Iterator[sqlite3.Connection]:
    """Open the index for writing, making it where there is none that can be used.

    Raises `IndexHeld` while another process writes it, `OSError` and `sqlite3.Error`.
    """
    folder = LockedFolder(state_dir.absolute(), INDEX_FOLDER, makes_base=True)
    try:
        folder.open()
    except FolderHeldError as error:
        raise IndexHeld(str(error.strerror)) from None
    try:
        connection = _writable(folder)
        try:
            yield connection
        finally:
            connection.close()
    finally:
        folder.close()


def _writable(folder: LockedFolder) -> sqlite3.Connection:
    path = folder.path / INDEX_FILE
    try:
        connection = _connected(path)
        try:
            _check(connection)
            check_reports(folder.path.parent)
        except BaseException:
            connection.close()
            raise
    except (IndexUnusable, sqlite3.DatabaseError) as error:
        if isinstance(error, sqlite3.DatabaseError) and not is_damage(error):
            raise
        discard(path, error)
        _create(folder)
        connection = _connected(path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.execute("PRAGMA synchronous = NORMAL")
    connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
    connection.execute(f"PRAGMA wal_autocheckpoint = {_LOG_PAGES}")
    return connection


def is_damage(error: sqlite3.Error) -> bool:
    """Return whether the index itself is at fault, and not the disk, the memory or another user."""
    return getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF not in _PASSING


def discard(path: Path, why: Exception) -> None:
    """Throw an index away; say so, unless there was none."""
    if path.exists():
        _log.warning("the index %s is made again: %s", safe_text(str(path)), why)
    beside = (path.with_name(path.name + end) for end in ("-wal", "-shm", "-journal"))
    for one in (path, *beside, path.with_name(DAMAGE_FILE)):
        one.unlink(missing_ok=True)


def report_damage(state_dir: Path, device: int, inode: int) -> None:
    """Say that an index is damaged, as a reader: who writes it makes it again. Raises `OSError`."""
    path = index_path(state_dir).with_name(DAMAGE_FILE)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_NOFOLLOW, FILE_MODE)
    try:
        private_file.check_own(fd)
        os.ftruncate(fd, 0)
        os.write(fd, f"{device} {inode}".encode())
    finally:
        os.close(fd)


def check_reports(state_dir: Path) -> None:
    """Raise `sqlite3.DatabaseError`, as damage does, where a reader found this index damaged."""
    path = index_path(state_dir)
    try:
        told = path.with_name(DAMAGE_FILE).read_bytes()[:64].split()
        info = path.stat()
    except FileNotFoundError:
        return
    if told == [b"%d" % info.st_dev, b"%d" % info.st_ino]:
        raise sqlite3.DatabaseError("a reader found it damaged")


def _create(folder: LockedFolder) -> None:
    # The file is there with its mode before SQLite opens it; what SQLite puts beside it has the
    # same mode.
    flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
    os.close(os.open(INDEX_FILE, flags, FILE_MODE, dir_fd=folder.fd))
    connection = sqlite3.connect(folder.path / INDEX_FILE, isolation_level=None)
    try:
        make_tables(connection)
    finally:
        connection.close()


def make_tables(connection: sqlite3.Connection) -> None:
    """Make an index of an empty database."""
    connection.executescript(
        f"PRAGMA auto_vacuum = INCREMENTAL; BEGIN; {_SCHEMA}"
        f"PRAGMA user_version = {VERSION}; PRAGMA application_id = {_APPLICATION}; COMMIT;"
    )


def reading(state_dir: Path) -> sqlite3.Connection:
    """Open the index for reading, for use by any one thread at a time.

    Raises `IndexUnusable` where there is none, or none of this version.
    """
    path = index_path(state_dir)
    try:
        connection = _connected(path)
        try:
            _check(connection)
            connection.execute("PRAGMA query_only = ON")
        except BaseException:
            connection.close()
            raise
    except sqlite3.DatabaseError as error:
        raise IndexUnusable(str(error), is_replaced=is_damage(error)) from None
    return connection


def opened_to_read(path: Path) -> sqlite3.Connection:
    """Open the index so that nothing can be written to it. Raises `IndexUnusable`."""
    if not path.exists():
        raise IndexMissing
    try:
        uri = f"{path.absolute().as_uri()}?mode=ro"
        connection = sqlite3.connect(
            uri, uri=True, timeout=_BUSY_MS / 1000, isolation_level=None, cached_statements=0
        )
        connection.text_factory = lambda data: data.decode("utf-8", "replace")
        _check(connection)
    except sqlite3.DatabaseError as error:
        raise IndexUnusable(str(error), is_replaced=is_damage(error)) from None
    return connection


def _connected(path: Path) -> sqlite3.Connection:
    if not path.exists():
        raise IndexMissing
    connection = sqlite3.connect(
        path, timeout=_BUSY_MS / 1000, isolation_level=None, check_same_thread=False
    )
    # Text that is no UTF-8 can only be in a damaged file; it must not end a whole search.
    connection.text_factory = lambda data: data.decode("utf-8", "replace")
    return connection


def _check(connection: sqlite3.Connection) -> None:
    (application,) = connection.execute("PRAGMA application_id").fetchone()
    (version,) = connection.execute("PRAGMA user_version").fetchone()
    if application != _APPLICATION:
        raise IndexUnusable("it is not an index of tapui", is_replaced=True)
    if version != VERSION:
        raise IndexUnusable(
            f"it is of version {version}, this tapui makes version {VERSION}", is_replaced=True
        )


def words_table(shard: int) -> str:
    """Return the name of a shard's full-text table: `text`, and `scope`, the session's number."""
    return f"words_{shard:d}"


def create_shard(connection: sqlite3.Connection) -> int:
    cursor = connection.execute("INSERT INTO shards (bytes, rows, newest) VALUES (0, 0, 0)")
    shard = cursor.lastrowid
    assert shard is not None
    # Without a copy of the text: rows have it, compressed.
    connection.execute(
        f"CREATE VIRTUAL TABLE {words_table(shard)} USING fts5("
        "text, scope, content='', columnsize=0, tokenize='unicode61 remove_diacritics 2')"
    )
    return shard
