"""Finding in the index: words in everything that was recorded, and what changed a file.

One `Search` belongs to one reader; `interrupt()` alone may be called from another thread.
"""

import contextlib
import logging
import os
import re
import sqlite3
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Struct

from tapui.index.asking import Ref
from tapui.index.numbering import BITS, first_id, id_at, time_of
from tapui.index.rows import hunks_of, scope_of, unpacked
from tapui.index.sources import lines_between, opened, record_files, unread
from tapui.index.store import (
    IndexMissing,
    IndexUnusable,
    check_reports,
    damaged_lines,
    index_path,
    read_offsets,
    reading,
    report_damage,
    words_table,
)
from tapui.index.views import install
from tapui.projection.approvals import by_whom
from tapui.records.reader import Record, parse
from tapui.wire import events as ev
from tapui.wire.subjects import YOU, Approval

LIMIT = 50

_log = logging.getLogger(__name__)
_DAMAGED = frozenset({sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB})

_ROW = (
    "SELECT r.id, r.kind, s.name, s.label, r.turn, r.call, u.name, r.seq, r.title, r.text,"
    " r.is_cut, r.offset, r.file FROM rows r JOIN runs u ON u.id = r.run"
    " LEFT JOIN sessions s ON s.id = r.session"
)


MAX_WORDS = 32
MAX_TEXT = 1_000
"""A longer text is cut."""
_CHANGED = "changed:"
_PARTS = re.compile(r'changed:"(?P<quoted>[^"]*)"?|"(?P<phrase>[^"]*)"?|(?P<word>\S+)')
_TOKEN = re.compile(r"[^\W_]+")
_ROOM = 160
_BEFORE = 40
_BREAKS = str.maketrans({"\n": "⏎", "\r": " ", "\t": " "})
_ASKED = (
    "SELECT r.file, r.offset, u.name, r.seq FROM rows r JOIN runs u ON u.id = r.run"
    " WHERE r.kind = 'approval' AND r.session IN"
    " (SELECT id FROM sessions WHERE cwd = :folder OR substr(cwd, 1, :length) = :below)"
    " ORDER BY r.id DESC LIMIT :most"
)

_ANSWERED = (
    "SELECT x.file, x.offset, u.name, x.seq, s.cwd, x.state, n.name FROM approvals x"
    " JOIN runs u ON u.id = x.run JOIN sessions s ON s.id = x.session"
    " JOIN names n ON n.id = x.decided_by WHERE x.kind = 'permission'"
    " AND x.state IN ('approved', 'denied') AND x.id >= :since ORDER BY x.file, x.offset"
)

_BY_RULE = (
    "SELECT x.effect, n.name, count(*), max(x.id) FROM approvals x JOIN names n ON n.id = x.rule"
    " WHERE x.decided_by = (SELECT id FROM names WHERE name = 'rule')"
    " GROUP BY x.effect, x.rule"
)


@dataclass(frozen=True, slots=True)
class Term:
    """Words that stand one after the other; with `is_prefix` the last one is a beginning."""

    words: tuple[str, ...]
    is_prefix: bool = False


@dataclass(frozen=True, slots=True)
class Query:
    """All `terms` must be there; `changed`: in what changed that file."""

    terms: tuple[Term, ...] = ()
    changed: str | None = None

    @property
    def is_empty(self) -> bool:
        return not self.terms and self.changed is None

    def is_in(self, text: str) -> bool:
        return all(_pattern((term,)).search(text) for term in self.terms)

    def match(self, scope: str | None) -> str:
        """Return the expression that finds it, in rows of `scope` only."""
        words = " AND ".join(_phrase(term) for term in self.terms)
        found = f"{{text}} : ({words})"
        return found if scope is None else f'{found} AND {{scope}} : "{scope}"'


def query_of(text: str, *, is_typing: bool = False) -> Query:
    """Return what a text asks for. `is_typing`: its last word may not be all of it yet."""
    terms: list[Term] = []
    changed = None
    text = text[:MAX_TEXT]
    for part in _PARTS.finditer(text):
        word, phrase, quoted = part["word"], part["phrase"], part["quoted"]
        if quoted is not None or (word or "").startswith(_CHANGED):
            changed = quoted if quoted is not None else word.removeprefix(_CHANGED)
            continue
        tokens = tuple(_TOKEN.findall(word if word is not None else phrase))[:MAX_WORDS]
        if not tokens:
            continue
        is_last = is_typing and part.end() == len(text) and word is not None
        is_prefix = word is not None and (word.endswith("*") or (is_last and len(tokens[-1]) > 1))
        terms.append(Term(tokens, is_prefix))
    return Query(tuple(terms[:MAX_WORDS]), changed or None)


def _phrase(term: Term) -> str:
    # Tokens are letters and digits only: nothing in them is syntax.
    return f'"{" ".join(term.words)}"' + (" *" if term.is_prefix else "")


def excerpt(text: str, query: Query) -> tuple[str, list[tuple[int, int]]]:
    """Return the part of a text around what was found, on one line, and where that stands in it."""
    pattern = _pattern(query.terms) if query.terms else None
    first = pattern.search(text) if pattern else None
    start = max(first.start() - _BEFORE, 0) if first else 0
    part = text[start : start + _ROOM].translate(_BREAKS)
    before = "…" if start else ""
    after = "…" if start + _ROOM < len(text) else ""
    shown = f"{before}{part}{after}"
    marks = [found.span() for found in pattern.finditer(shown)] if pattern else []
    return shown, marks


def _pattern(terms: tuple[Term, ...]) -> re.Pattern[str]:
    between = r"[\W_]+"
    alternatives = (
        between.join(map(re.escape, term.words)) + ("" if term.is_prefix else r"(?![^\W_])")
        for term in terms
    )
    return re.compile(rf"(?<![^\W_])(?:{'|'.join(alternatives)})", re.IGNORECASE)


class Hit(Struct, rename="camel", frozen=True):
    """A record in which something was found.

    `marks` are the places in `excerpt` that were looked for. `is_cut`: the record holds only the
    beginning of what there was. `path` and `offset` lead to the record, see `record_of`.
    """

    id: int
    kind: str
    ts: str
    session_id: str | None
    session: str
    turn: int | None
    call_id: str | None
    run: str
    seq: int
    title: str
    excerpt: str
    marks: list[tuple[int, int]]
    is_cut: bool
    path: str
    offset: int


class Progress(Struct, rename="camel", frozen=True):
    """How much of the records, in bytes, is indexed; what was written since the last look, not."""

    done: int
    total: int

    @property
    def is_complete(self) -> bool:
        return self.done >= self.total


class IndexStanding(Struct, rename="camel", frozen=True):
    """How the index stands: bytes of records that it has read, and all of them, and how many lines
    of them are damaged: no records, and passed over. `missing`: none was made yet. `fault`: why it
    cannot be read; it is made again."""

    state: Literal["current", "behind", "missing", "unusable"]
    done: int = 0
    total: int = 0
    fault: str = ""
    damaged: int = 0


def standing(state_dir: Path) -> IndexStanding:
    """Return how the index of a home stands, without making it."""
    search = Search(state_dir)
    try:
        check_reports(state_dir)
        progress, damaged = search.progress(), search.damaged()
    except IndexMissing:
        return IndexStanding("missing")
    except (IndexUnusable, sqlite3.Error, OSError) as error:
        return IndexStanding("unusable", fault=str(error))
    finally:
        search.close()
    state: Literal["current", "behind"] = "current" if progress.is_complete else "behind"
    return IndexStanding(state, progress.done, progress.total, damaged=damaged)


def damaged_files(state_dir: Path) -> list[tuple[Path, int]]:
    """Return the files of records that have damaged lines, the most damaged first, and how many
    each has; none where the index cannot be read."""
    search = Search(state_dir)
    sql = "SELECT id, damaged FROM main.files WHERE damaged ORDER BY damaged DESC, id"
    try:
        found = search.opened().execute(sql).fetchall()
        places = [(search.path_of(file), count) for file, count in found]
    except (IndexUnusable, sqlite3.Error):
        return []
    finally:
        search.close()
    return [(path, count) for path, count in places if path is not None]


class Search:
    """Reads the index of a home. Methods raise `IndexUnusable` where there is none to read.

    An index that is made again meanwhile is opened again.
    """

    def __init__(self, state_dir: Path) -> None:
        self._state_dir = state_dir
        self._connection: sqlite3.Connection | None = None
        self._viewed: sqlite3.Connection | None = None
        self._identity: tuple[int, int] | None = None
        self._files: dict[int, Path | None] = {}

    def close(self) -> None:
        for one in (self._connection, self._viewed):
            if one is not None:
                one.close()
        self._connection = self._viewed = None

    def viewed(self) -> sqlite3.Connection:
        """Return a connection in which the views stand, as of now. Raises `IndexUnusable` and
        `sqlite3.Error`."""
        self.opened()
        if self._viewed is None:
            self._viewed = reading(self._state_dir)
        install(self._viewed)
        return self._viewed

    def interrupt(self) -> None:
        """End what is being looked for in another thread, with `IndexUnusable` there."""
        connection = self._connection
        if connection is not None:
            with contextlib.suppress(sqlite3.ProgrammingError):  # closed by now: nothing to end
                connection.interrupt()

    def opened(self) -> sqlite3.Connection:
        """Return the connection, opened again where another index took its place."""
        try:
            info = index_path(self._state_dir).stat()
        except OSError:
            self.close()
            raise IndexMissing from None
        identity = info.st_dev, info.st_ino
        if self._connection is None or identity != self._identity:
            self.close()
            self._connection = reading(self._state_dir)
            self._identity = identity
        return self._connection

    def is_there(self, file: int) -> bool:
        """Return whether a file of records is still there. Raises `sqlite3.Error`."""
        return self.path_of(file) is not None

    def path_of(self, file: int) -> Path | None:
        """Return where a file of records is now, None if it is gone. Raises `sqlite3.Error`."""
        return self._path_of(self.opened(), file)

    def progress(self) -> Progress:
        try:
            row = self.opened().execute("SELECT done, total FROM progress").fetchone()
        except sqlite3.Error as error:
            raise self.unusable(error) from None
        return Progress(*row)

    def damaged(self) -> int:
        """Return how many lines of the records are no records."""
        try:
            return damaged_lines(self.opened())
        except sqlite3.Error as error:
            raise self.unusable(error) from None

    def unread(self, folders: Iterable[Path]) -> int:
        """Return how many bytes of the records of folders are not indexed yet."""
        try:
            offsets = read_offsets(self.opened())
        except sqlite3.Error as error:
            raise self.unusable(error) from None
        return unread(folders, offsets)

    def session_ids(self, beginning: str) -> list[str]:
        """Return the ids of sessions that are, or else begin with, the text."""
        sql = "SELECT name FROM sessions WHERE substr(name, 1, ?) = ? ORDER BY id DESC"
        try:
            names = [name for (name,) in self.opened().execute(sql, (len(beginning), beginning))]
        except sqlite3.Error as error:
            raise self.unusable(error) from None
        return [beginning] if beginning in names else names

    def find(
        self,
        query: Query,
        *,
        session_id: str | None = None,
        since: float | None = None,
        limit: int = LIMIT,
    ) -> Iterator[list[Hit]]:
        """Yield hits, at most `limit` at a time, the newest of each part of the index first.

        The parts come one by one, so that the first hits are there soon: a caller that wants the
        newest of all merges by `id`. `since` is in seconds since the epoch. A part that can hold
        none of the `limit` newest is left out. A call is one hit with the requests about it.
        """
        self._files.clear()
        try:
            yield from self._find(query, session_id, since, limit)
        except (sqlite3.Error, zlib.error, msgspec.DecodeError) as error:
            raise self.unusable(error) from None

    def unusable(self, error: Exception) -> IndexUnusable:
        """Return what to raise where reading failed. A damaged index is reported to its writer."""
        code = getattr(error, "sqlite_errorcode", None)
        if isinstance(error, sqlite3.Error) and (code is None or code & 0xFF not in _DAMAGED):
            return IndexUnusable(str(error))
        if self._identity is not None:
            try:
                report_damage(self._state_dir, *self._identity)
            except OSError as refused:
                _log.warning("that the index is damaged cannot be noted: %s", refused)
        self.close()
        return IndexUnusable(str(error), is_replaced=True)

    def _find(
        self, query: Query, session_id: str | None, since: float | None, limit: int
    ) -> Iterator[list[Hit]]:
        connection = self.opened()
        session = None
        if session_id is not None:
            row = connection.execute("SELECT id FROM sessions WHERE name = ?", (session_id,))
            session = (row.fetchone() or (-1,))[0]
        lowest = 0 if since is None else id_at(since)
        if query.changed is not None:
            yield self._changed(connection, query, session, lowest, limit)
            return
        if query.is_empty:
            return
        scope = None if session is None else scope_of(session)
        newest: list[int] = []
        seen: set[object] = set()
        shards = connection.execute("SELECT id, newest FROM shards ORDER BY newest DESC").fetchall()
        for shard, last in shards:
            if last < lowest or (len(newest) >= limit and last < newest[limit - 1]):
                continue
            table = words_table(shard)
            sql = (
                f"{_ROW} JOIN {table} w ON w.rowid = r.id"
                f" WHERE {table} MATCH ? AND w.rowid >= ? ORDER BY w.rowid DESC"
            )
            hits: dict[object, Hit] = {}
            for row in connection.execute(sql, (query.match(scope), lowest)):
                hit = self._hit(connection, row, query)
                if hit is None:
                    continue
                about = (hit.session_id, hit.call_id) if hit.call_id is not None else hit.id
                known = hits.get(about)
                if known is None and len(hits) == limit:
                    break
                if about not in seen and (
                    known is None or (known.kind == "approval" and hit.kind != "approval")
                ):
                    hits[about] = hit
            if hits:
                seen |= hits.keys()
                newest = sorted((*newest, *(hit.id for hit in hits.values())), reverse=True)[:limit]
                yield list(hits.values())

    def hit_of(self, record: Record) -> Hit | None:
        """Return the row of a record, None for one that has none. Raises `IndexUnusable`."""
        first = first_id(record.ts)
        if first is None:
            return None
        self._files.clear()
        try:
            connection = self.opened()
            sql = f"{_ROW} WHERE r.id BETWEEN ? AND ? AND r.seq = ? AND u.name = ?"
            within = first - (1 << BITS), first + (2 << BITS)  # a number is rounded
            row = connection.execute(sql, (*within, record.seq, record.run)).fetchone()
            return None if row is None else self._hit(connection, row, query_of(""))
        except (sqlite3.Error, zlib.error) as error:
            raise self.unusable(error) from None

    def _changed(
        self,
        connection: sqlite3.Connection,
        query: Query,
        session: int | None,
        lowest: int,
        limit: int,
    ) -> list[Hit]:
        assert query.changed is not None
        wanted = os.path.normpath(query.changed)
        rows = connection.execute(
            f"{_ROW.replace(' FROM rows', ', c.hunks FROM rows')}"
            " JOIN changes c ON c.row = r.id WHERE c.name = ? AND r.id >= ?"
            " AND (? IS NULL OR r.session = ?) AND (c.path = ? OR c.path LIKE ? ESCAPE '\\')"
            " ORDER BY r.id DESC",
            (
                wanted.rpartition("/")[2], lowest, session, session, wanted,
                "%/" + _literal(wanted.lstrip("/")),
            ),
        )  # fmt: skip
        hits: dict[int, Hit] = {}
        for row in rows:
            if not query.is_in(f"{row[8]}\n{unpacked(row[9])}\n{_hunks(row[13])}"):
                continue
            hit = self._hit(connection, row[:13], query)
            if hit is not None:
                hits.setdefault(hit.id, hit)
            if len(hits) >= limit:
                break
        return list(hits.values())

    def _hit(
        self, connection: sqlite3.Connection, row: tuple[Any, ...], query: Query
    ) -> Hit | None:
        (
            number, kind, session_id, label, turn, call, run, seq, title, text, is_cut, offset,
            file,
        ) = row  # fmt: skip
        path = self._path_of(connection, file)
        if path is None:
            return None  # its records were deleted since they were indexed
        shown, marks = excerpt(unpacked(text), query)
        return Hit(
            number, kind, time_of(number), session_id, str(label or session_id or ""), turn, call,
            run, seq, title, shown, marks, bool(is_cut), str(path), offset,
        )  # fmt: skip

    def _path_of(self, connection: sqlite3.Connection, file: int) -> Path | None:
        if file not in self._files:
            folder, device, inode = connection.execute(
                "SELECT path, device, inode FROM files f JOIN folders o ON o.id = f.folder"
                " WHERE f.id = ?",
                (file,),
            ).fetchone() or ("", 0, 0)
            here = (one for one in record_files(Path(folder)) if folder)
            self._files[file] = next(
                (one.path for one in here if (one.device, one.inode) == (device, inode)), None
            )
        return self._files[file]


def record_of(hit: Hit) -> Record | None:
    """Return the record that a hit leads to, or None if it is no longer there."""
    return record_at(Path(hit.path), hit.offset, hit.run, hit.seq)


_SEARCHED = 4 * 1024 * 1024


def record_of_ref(folders: Iterable[Path], ref: Ref) -> Record | None:
    """Return the record that a ref leads to, or None where there is none.

    The files are looked through for how its line begins: that needs no index.
    """
    head = b'{"v":1,"run":%s,"seq":%d,' % (msgspec.json.encode(ref.run), ref.seq)
    for folder in folders:
        for source in record_files(folder):
            if ref.collection and source.path.name.partition(".")[0] != ref.collection:
                continue
            with contextlib.suppress(OSError), opened(source.path) as fd:  # deleted meanwhile
                for offset in _places(fd, head):
                    found = record_at(source.path, offset, ref.run, ref.seq)
                    if found is not None:
                        return found
    return None


def _places(fd: int, head: bytes) -> Iterator[int]:
    """Yield where a text stands in a file. Raises `OSError`."""
    at = 0
    while block := os.pread(fd, _SEARCHED, at):
        found = block.find(head)
        while found >= 0:
            yield at + found
            found = block.find(head, found + 1)
        if len(block) < len(head):
            return
        at += len(block) - len(head) + 1


def record_at(path: Path, offset: int, run: str, seq: int) -> Record | None:
    """Return the record of a run and number at a place in a file, or None if it is not there."""
    try:
        with opened(path) as fd:
            size = os.fstat(fd).st_size
            line = next(lines_between(fd, offset, size), None)
    except OSError:
        return None
    record = parse(line[2]) if line is not None else None
    is_it = record is not None and (record.run, record.seq) == (run, seq)
    return record if is_it else None


def _hunks(stored: bytes) -> str:
    return "\n".join(
        line for hunk in hunks_of(stored) for lines in (hunk.old, hunk.new) for line in lines
    )


def _literal(text: str) -> str:
    """Return a text in which nothing is a wildcard of LIKE."""
    return text.replace("\\", "\\\\").replace("%", "\\%").replace("_", "\\_")


def permissions_asked(search: Search, folder: str, most: int) -> Iterator[Approval]:
    """Yield the permissions that sessions in a folder, or below it, asked for, the newest first.

    At most `most` records of requests and answers are looked at. Raises `IndexUnusable`.
    """
    below = f"{folder.rstrip('/')}/"
    given = {"folder": folder, "below": below, "length": len(below), "most": most}
    try:
        for file, offset, run, seq in search.opened().execute(_ASKED, given).fetchall():
            path = search.path_of(file)
            record = record_at(path, offset, run, seq) if path is not None else None
            event = record.event if record is not None else None
            if isinstance(event, ev.ApprovalRequested) and event.approval.kind == "permission":
                yield event.approval
    except sqlite3.Error as error:
        raise search.unusable(error) from None


def permissions_answered(search: Search, since: float) -> Iterator[tuple[Approval, str, bool]]:
    """Yield the permissions that the person answered since then (seconds since the epoch), with
    the folder of the session, and whether it was allowed. Raises `IndexUnusable`."""
    try:
        rows = search.opened().execute(_ANSWERED, {"since": id_at(since)}).fetchall()
        for file, of_file in groupby(rows, key=itemgetter(0)):
            path = search.path_of(file)
            by_place = {row[1]: row for row in of_file if by_whom(row[6]) == YOU}
            if path is None or not by_place:
                continue
            for begin, _, line in _lines(path, min(by_place)):
                if begin not in by_place:
                    continue
                _, _, run, seq, folder, state, _ = by_place[begin]
                record = parse(line)
                event = record.event if record and (record.run, record.seq) == (run, seq) else None
                if isinstance(event, ev.ApprovalEvent):
                    yield event.approval, folder, state == "approved"
    except sqlite3.Error as error:
        raise search.unusable(error) from None


def rule_answers(search: Search) -> dict[tuple[str, str], tuple[int, float]]:
    """Return how often each rule decided, by its effect and pattern, and when last (seconds since
    the epoch). Raises `IndexUnusable`."""
    try:
        rows = search.opened().execute(_BY_RULE).fetchall()
    except sqlite3.Error as error:
        raise search.unusable(error) from None
    return {(effect, rule): (count, (last >> BITS) / 1e6) for effect, rule, count, last in rows}


def _lines(path: Path, start: int) -> Iterator[tuple[int, int, bytes]]:
    """Yield the lines of a file from a place on; none where it cannot be read."""
    with contextlib.suppress(OSError), opened(path) as fd:  # it was deleted meanwhile
        yield from lines_between(fd, start, os.fstat(fd).st_size)
