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
VERSION = 3
"""Another number in the file than this one: it is made again."""
SHARD_BYTES = 64 * 1024 * 1024
"""Text beyond which the next shard begins.

Words are found shard by shard, the newest first: how long the first hits take does not depend on
how much is indexed. A shard whose rows are all gone is dropped.
"""

_APPLICATION = 0x74617069
_BUSY_MS = 5_000
_CACHE_KIB = 16 * 1024
_SCHEMA = """
CREATE TABLE folders (
    id INTEGER PRIMARY KEY, path TEXT NOT NULL UNIQUE, state BLOB, open BLOB,
    bytes INTEGER NOT NULL);
CREATE TABLE files (
    id INTEGER PRIMARY KEY, folder INTEGER NOT NULL, name TEXT NOT NULL, device INTEGER NOT NULL,
    inode INTEGER NOT NULL, offset INTEGER NOT NULL, head BLOB NOT NULL, damaged INTEGER NOT NULL);
CREATE TABLE sessions (
    id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE, label TEXT NOT NULL, cwd TEXT NOT NULL);
CREATE TABLE runs (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE shards (
    id INTEGER PRIMARY KEY, bytes INTEGER NOT NULL, rows INTEGER NOT NULL, newest INTEGER NOT NULL);
CREATE TABLE rows (
    id INTEGER PRIMARY KEY, shard INTEGER NOT NULL, file INTEGER NOT NULL, offset INTEGER NOT NULL,
    session INTEGER, run INTEGER NOT NULL, seq INTEGER NOT NULL,
    kind TEXT NOT NULL, turn INTEGER, call TEXT, is_cut INTEGER NOT NULL, title TEXT NOT NULL,
    text BLOB NOT NULL);
CREATE INDEX rows_by_file ON rows (file);
CREATE INDEX prompts ON rows (session, id) WHERE kind = 'prompt';
CREATE INDEX approvals ON rows (session, id) WHERE kind = 'approval';
CREATE TABLE changes (
    id INTEGER PRIMARY KEY, row INTEGER NOT NULL, file INTEGER NOT NULL, name TEXT NOT NULL,
    path TEXT NOT NULL, added INTEGER, removed INTEGER, is_probable INTEGER NOT NULL,
    is_whole INTEGER NOT NULL,
    hunks BLOB NOT NULL);
CREATE INDEX changes_by_name ON changes (name, row);
CREATE INDEX changes_by_file ON changes (file);
CREATE TABLE usage (
    file INTEGER NOT NULL, at INTEGER NOT NULL, session INTEGER NOT NULL, model TEXT NOT NULL,
    total INTEGER, input INTEGER NOT NULL, output INTEGER NOT NULL, cost REAL, requests REAL,
    cache_read INTEGER NOT NULL, cache_write INTEGER NOT NULL, credits REAL,
    calls INTEGER NOT NULL);
CREATE INDEX usage_by_file ON usage (file);
CREATE INDEX totals ON usage (session) WHERE total IS NOT NULL;
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
        connection.executescript(
            f"PRAGMA auto_vacuum = INCREMENTAL; BEGIN; {_SCHEMA}"
            f"PRAGMA user_version = {VERSION}; PRAGMA application_id = {_APPLICATION}; COMMIT;"
        )
    finally:
        connection.close()


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
