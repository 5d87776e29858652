"""What `tap_query_records` and `tapui records query` ask of records, answered by the views, or by
the files.

Both give the same: where the index has not read all of the session's files yet, and of collections
without a view, the files are read, the newest first. A call is one record, as in its view: with
what its end told. A path that no column has is looked for in the record itself; of a call in that
of its beginning.
"""

import hashlib
import json
import math
import os
import re
import sqlite3
import time
from collections import Counter
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import msgspec
import regex

from tapui import match_time, times
from tapui.index.asking import QuestionRefused, moment
from tapui.index.numbering import id_at
from tapui.index.sources import lines_between, opened, record_files, record_folders, unread
from tapui.index.store import IndexUnusable, index_path, opened_to_read, read_offsets
from tapui.index.views import BY_NAME, RecordView, install, select
from tapui.records import register
from tapui.records.reader import Damage, backward

WAIT = 0.9
"""Seconds that an index which is behind is waited for."""
_LOOK = 0.05
MATCH_SECONDS = 0.001
MAX_BYTES = 60 * 1024
"""Of an answer's records."""
_MAX_TEXT = 64 * 1024
_CHUNK = 256
_VIEWS = {
    "calls": "calls",
    "streams": "lines",
    "approvals": "approvals",
    "sessions": "sessions",
    "errors": "errors",
    "traces": "spans",
    "goals": "goals",
}
_ENDS = {
    "calls": ("call", frozenset({"call.started"}), frozenset({"call.finished", "call.exited"})),
    "approvals": (
        "approval",
        frozenset({"approval.requested"}),
        frozenset({"approval.decided", "approval.withdrawn", "approval.expired"}),
    ),
}
"""Of things that are one record: their noun, what begins them, what ends them."""
_ONLY_ASKED = " AND v.kind <> 'command'"
"""Of approvals: what a rule or the settings decided about a command is no request."""
_NEWEST = {"sessions": "session", "goals": "goal"}
"""Of things of which the newest record has all: their noun."""
_KINDS = {
    "streams": frozenset({"stream.posted"}),
    "errors": frozenset({"error.sent", "error.event"}),
    "traces": frozenset({"span.ended"}),
}
_OF_END = ("args", "argsCut", "startedAt")
"""What the end of a call says no better than its beginning."""
_SPAN = re.compile(r"(\d+(?:\.\d+)?)\s*([smhdw])\Z")
_UNITS = {"s": 1, "m": 60, "h": 3600, "d": 86400, "w": 7 * 86400}
_STEP = re.compile(r"\[(\d{1,6})\]|([^.\[\]]+)")
_MISSING: Any = object()
_DEFAULTS: dict[str, Any] = {
    "where": [], "any": [], "fields": [], "order": "desc", "limit": 20, "groupBy": [],
    "aggregate": [],
}  # fmt: skip


@dataclass(slots=True)
class AskedRecord:
    """A record in a question: `told` by path, and the record itself, read when needed."""

    ts: str
    run: str
    seq: int
    kind: str
    told: dict[str, Any]
    record: dict[str, Any] | None = None
    place: tuple[int, int] | None = None
    places: "_Places | None" = None

    def whole(self) -> dict[str, Any]:
        if self.record is None:
            self.record = {}
            if self.places is not None and self.place is not None:
                self.record = self.places.record(*self.place)
        return self.record

    def value(self, path: str) -> Any:
        """Return what stands at a path, `_MISSING` for nothing."""
        if path in self.told:
            found = self.told[path]
            return _MISSING if found is None else found
        value: Any = self.whole()
        for step in _STEP.finditer(path):
            if step[1] is not None:
                at = int(step[1])
                if not isinstance(value, list) or at >= len(value):
                    return _MISSING
                value = value[at]
            elif not isinstance(value, dict) or step[2] not in value:
                return _MISSING
            else:
                value = value[step[2]]
        return _MISSING if value is None else value


class _Places:
    """Reads records of the index by file and offset."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._paths: dict[int, Path | None] = {}

    def record(self, file: int, offset: int) -> dict[str, Any]:
        path = self._path(file)
        if path is None:
            return {}
        # Deleted since it was indexed. No link is followed: agents can write to the folder.
        with suppress(OSError), opened(path) as fd:
            for _, _, line in lines_between(fd, offset, os.fstat(fd).st_size):
                return _decoded(line) or {}
        return {}

    def _path(self, file: int) -> Path | None:
        if file not in self._paths:
            row = self._connection.execute(
                "SELECT path, device, inode FROM main.files f JOIN main.folders o"
                " ON o.id = f.folder WHERE f.id = ?",
                (file,),
            ).fetchone()
            self._paths[file] = row and next(
                (
                    one.path
                    for one in record_files(Path(row[0]))
                    if (one.device, one.inode) == (row[1], row[2])
                ),
                None,
            )
        return self._paths[file]


# Where the records come from


def answer(state: Path, asked: dict[str, Any], seconds: float) -> dict[str, Any]:
    """Answer a question; what was found within the time is the answer.

    Its `session` is None for all sessions; its `room`, where it has one, is the bytes that the
    answer may have. Raises `QuestionRefused` for a time that is none.
    """
    asked = _DEFAULTS | asked
    began = time.monotonic()
    now = time.time()
    deadline = began + seconds
    collection = asked["collection"]
    damage = Damage()
    view = BY_NAME.get(_VIEWS.get(collection, ""))
    entries: Iterable[AskedRecord] | None = None
    behind = 0
    if view is not None:
        try:
            connection = opened_to_read(index_path(state))
            behind = _behind(connection, state, asked["session"])
            if behind == 0:
                entries = _by_view(connection, view, asked, now)
                damage = _damage(connection, state, asked)
        except (IndexUnusable, sqlite3.Error):
            behind = -1
    if entries is None:
        entries = _by_files(state, asked, damage)
        is_asc = asked["order"] == "asc"
        if asked["session"] is None:  # folder by folder
            entries = sorted(_until(entries, deadline), key=_place_in_time, reverse=not is_asc)
        elif is_asc:
            entries = reversed(list(_until(entries, deadline)))
    result = _Answer(asked, now).of(entries, deadline)
    # Counted while the files are read, so only now.
    result |= {"collection": collection, "damaged": damage.lines + damage.torn}
    if behind:
        result["index"] = "behind: the files were read instead"
    result["tookMs"] = round(1000 * (time.monotonic() - began))
    return result


def _place_in_time(entry: AskedRecord) -> tuple[str, str, int]:
    return entry.ts, entry.run, entry.seq


def _folders(state: Path, session: str | None) -> list[Path]:
    """Return the folders that may have records of a session; None: of any."""
    return record_folders(state) if session is None else register.folders(state, session)


def _behind(connection: sqlite3.Connection, state: Path, session: str | None) -> int:
    """Return how many bytes of a session's files the index has not read, after a short wait."""
    folders = _folders(state, session)
    deadline = time.monotonic() + WAIT
    while True:
        behind = unread(folders, read_offsets(connection))
        if not behind or time.monotonic() > deadline:
            return behind
        time.sleep(_LOOK)


def _damage(connection: sqlite3.Connection, state: Path, asked: dict[str, Any]) -> Damage:
    """Return what the index passed over in a session's files of a collection."""
    damage = Damage()
    for folder in _folders(state, asked["session"]):
        for one in record_files(folder):
            if one.collection != asked["collection"]:
                continue
            row = connection.execute(
                "SELECT damaged, offset FROM main.files WHERE device = ? AND inode = ?",
                (one.device, one.inode),
            ).fetchone()
            lines, offset = row or (0, 0)
            damage.lines += lines
            damage.torn += one.size > offset  # of whole lines none is unread
    return damage


def _by_view(
    connection: sqlite3.Connection, view: RecordView, asked: dict[str, Any], now: float
) -> Iterator[AskedRecord]:
    """Yield the rows of a view, in the order that is asked for."""
    install(connection)
    places = _Places(connection)
    columns = [column for column in view.all_columns if column.path]
    named = ", ".join(f"v.{column.name}" for column in columns)
    low, high, asked_of = 0, 2**63 - 1, asked["collection"]
    if asked.get("since"):
        low = id_at(moment(asked["since"], now))
    if asked.get("until"):
        high = id_at(moment(asked["until"], now))
    sql = (
        f"SELECT {named}, v.ref, v.run, v.seq, v.ts, v.file, v.offset"
        f" FROM ({select(view, ', x.file AS file, x.offset AS offset')}) v"
        f" WHERE {'' if asked['session'] is None else 'v.session = :session AND '}"
        "v.id BETWEEN :low AND :high AND substr(v.ref, 1, length(:prefix)) = :prefix"
        f"{_ONLY_ASKED if asked_of == 'approvals' else ''}"
        f" ORDER BY v.id {'ASC' if asked['order'] == 'asc' else 'DESC'}"
    )
    for *values, _, run, seq, ts, file, offset in connection.execute(
        sql, {"session": asked["session"], "low": low, "high": high, "prefix": f"{asked_of}/"}
    ):
        told = {column.path: value for column, value in zip(columns, values, strict=True)}
        yield AskedRecord(ts, run, seq, view.noun, told, None, (file, offset), places)


def _by_files(state: Path, asked: dict[str, Any], damage: Damage) -> Iterator[AskedRecord]:
    """Yield what a session's files hold, of each folder the newest first, as its view would."""
    collection, session = asked["collection"], asked["session"]
    view = BY_NAME.get(_VIEWS.get(collection, ""))
    paths = [column.path for column in view.all_columns if column.path] if view else []
    ends: dict[str, dict[str, Any]] = {}
    seen: set[str] = set()
    for folder in _folders(state, session):
        with suppress(OSError):  # a folder that is gone has no records
            for one in backward(folder, collection, damage):
                if session is not None and one.session_id != session:
                    continue
                record = _decoded(one.line)
                if record is None or not _is_wanted(collection, one.kind, record, ends, seen):
                    continue
                kind = view.noun if view is not None else one.kind
                entry = AskedRecord(one.ts, one.run, one.seq, kind, {}, record)
                entry.told = {path: _plain(entry.value(path)) for path in paths}
                yield entry


def _decoded(line: bytes) -> dict[str, Any] | None:
    try:
        record = msgspec.json.decode(line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None
    return record if isinstance(record, dict) else None


def _is_wanted(
    collection: str,
    kind: str,
    record: dict[str, Any],
    ends: dict[str, dict[str, Any]],
    seen: set[str],
) -> bool:
    """Return whether a record stands for its thing; its end, which was read before, is put in."""
    if collection in _ENDS:
        noun, begins, finishes = _ENDS[collection]
        thing = record.get(noun)
        if not isinstance(thing, dict):
            return False
        id_ = str(thing.get("id"))
        if kind in finishes:
            known = ends.setdefault(id_, {})
            for name, value in thing.items():
                if name not in _OF_END:
                    known.setdefault(name, value)
            return False
        if kind not in begins:
            return False
        thing.update(ends.pop(id_, {}))
        thing["state"] = thing.get("answered") or thing.get("state")
        return True
    if collection in _NEWEST:
        thing = record.get(_NEWEST[collection])
        id_ = str(thing.get("id")) if isinstance(thing, dict) else ""
        is_new = bool(id_) and id_ not in seen
        seen.add(id_)
        return is_new
    if kind == "span.ended" and isinstance(span := record.get("span"), dict):
        span.setdefault("status", "ok")  # as records have it where it is absent
    kinds = _KINDS.get(collection)
    return kinds is None or kind in kinds


def _plain(value: Any) -> Any:
    return None if value is _MISSING else value


def _until(entries: Iterable[AskedRecord], deadline: float) -> Iterator[AskedRecord]:
    for entry in entries:
        yield entry
        if time.monotonic() > deadline:
            return


# What is made of them


@dataclass(slots=True)
class _Answer:
    """Filters, groups and counts records within the time."""

    asked: dict[str, Any]
    now: float
    skipped: Counter[str] = field(default_factory=Counter)
    patterns: dict[str, "regex.Pattern[str] | None"] = field(default_factory=dict)

    def of(self, entries: Iterable[AskedRecord], deadline: float) -> dict[str, Any]:
        asked = self.asked
        since, until = self._bounds()
        is_asc = asked["order"] == "asc"
        is_grouped = bool(asked["groupBy"] or asked.get("every") or asked["aggregate"])
        after = None if is_grouped else _cursor(asked.get("cursor"))
        before = _group_cursor(asked.get("cursor")) if is_grouped else None
        if before is not None:
            # What came since would change the order of the groups.
            until = before.until if until is None else min(until, before.until)
        newest = ""
        scanned = matched = room = 0
        most = asked.get("room", MAX_BYTES)
        is_cut = is_late = False
        records: list[dict[str, Any]] = []
        groups: dict[str, _Group] = {}
        cursor = ""
        for number, entry in enumerate(entries, 1):
            if number % _CHUNK == 0 and time.monotonic() > deadline:
                is_late = True
                break
            if since is not None and entry.ts < since:
                if is_asc:
                    continue
                break
            if until is not None and entry.ts > until:
                continue
            scanned += 1
            newest = max(newest, entry.ts)
            if not self._is_match(entry):
                continue
            matched += 1
            if is_grouped:
                self._group(groups, entry)
                continue
            at = (entry.ts, entry.run, entry.seq)
            if after is not None and (at <= after if is_asc else at >= after):
                continue
            if is_cut or len(records) >= asked["limit"]:
                is_cut = True
                continue
            told = self._told(entry)
            size = len(json.dumps(told, ensure_ascii=True))
            if records and room + size > most:
                is_cut = True
                continue
            room += size
            records.append(told)
            cursor = json.dumps(at, ensure_ascii=True)
        result: dict[str, Any] = {"matched": matched, "scanned": scanned, "truncated": is_late}
        if self.skipped:
            result["skippedTypes"] = sum(self.skipped.values())
        if is_grouped:
            last = before.until if before is not None else newest
            return result | self._groups_told(groups, before, last)
        result["records"] = records
        if is_cut:
            result |= {"truncated": True, "cursor": cursor}
        return result

    def _bounds(self) -> tuple[str | None, str | None]:
        since, until = self.asked.get("since"), self.asked.get("until")
        return (
            _stamp(moment(since, self.now)) if since else None,
            _stamp(moment(until, self.now)) if until else None,
        )

    def _told(self, entry: AskedRecord) -> dict[str, Any]:
        """Return what is answered of a record: the fields that are asked for, or what its view
        has."""
        made: dict[str, Any] = {"ref": f"{entry.run}/{entry.seq}", "ts": entry.ts}
        made["kind"] = entry.kind
        if self.asked["fields"]:
            for path in self.asked["fields"]:
                value = entry.value(path)
                if value is not _MISSING:
                    made[path] = _cut(value)
            return made
        if not entry.told:
            return made | {
                name: _cut(value)
                for name, value in entry.whole().items()
                if name not in ("v", "run", "seq", "ts", "kind", "sessionId", "masked")
            }
        for path, value in entry.told.items():
            if value is None or path in ("ts", "run", "seq", "sessionId"):
                continue
            inner = made
            *nouns, last = path.split(".")
            for noun in nouns:
                inner = inner.setdefault(noun, {})
            inner[last] = _cut(value)
        return made

    # Conditions

    def _is_match(self, entry: AskedRecord) -> bool:
        asked = self.asked
        if not all(self._holds(entry, one) for one in asked["where"]):
            return False
        if asked["any"] and not any(self._holds(entry, one) for one in asked["any"]):
            return False
        text = asked.get("text")
        if not text:
            return True
        told = json.dumps(entry.whole(), ensure_ascii=False)
        return bool(text.lower() in told.lower())

    def _holds(self, entry: AskedRecord, condition: dict[str, Any]) -> bool:
        path, op, wanted = condition["field"], condition["op"], condition.get("value")
        value = entry.value(path)
        if op in ("exists", "missing"):
            is_there = value is not _MISSING
            return is_there if op == "exists" else not is_there
        if value is _MISSING:
            return False
        found = self._compared(op, value, wanted)
        if found is None:
            self.skipped[path] += 1
            return False
        return found

    def _compared(self, op: str, value: Any, wanted: Any) -> bool | None:
        """Return whether a value is so; None where its type is another one."""
        if op in ("in", "nin"):
            same = [one for one in wanted if _kind(one) == _kind(value)]
            if not same:
                return None
            return (value in same) == (op == "in")
        if op == "contains" and isinstance(value, list):
            return any(_kind(one) == _kind(wanted) and one == wanted for one in value)
        if _kind(value) != _kind(wanted):
            return None
        if op in ("eq", "ne"):
            is_same = bool(value == wanted)
            return is_same == (op == "eq")
        if op in ("lt", "lte", "gt", "gte"):
            if _kind(value) not in ("number", "text"):
                return None
            order = (value > wanted) - (value < wanted)
            holds = {"lt": order < 0, "lte": order <= 0, "gt": order > 0, "gte": order >= 0}
            return bool(holds[op])
        if not isinstance(value, str) or not isinstance(wanted, str):
            return None
        if op == "contains":
            return wanted in value
        if op == "startsWith":
            return value.startswith(wanted)
        if op == "endsWith":
            return value.endswith(wanted)
        return self._is_found(wanted, value)

    def _is_found(self, wanted: str, value: str) -> bool | None:
        if wanted not in self.patterns:
            try:
                self.patterns[wanted] = regex.compile(wanted)
            except (regex.error, RecursionError):
                self.patterns[wanted] = None
        pattern = self.patterns[wanted]
        if pattern is None:
            return None
        return match_time.found(pattern, value[:_MAX_TEXT], MATCH_SECONDS)

    # Groups

    def _group(self, groups: "dict[str, _Group]", entry: AskedRecord) -> None:
        every = self.asked.get("every")
        if every:
            found = _SPAN.match(every)
            assert found is not None
            width = max(float(found[1]) * _UNITS[found[2]], 1.0)
            at = times.epoch(entry.ts) or 0.0
            key: dict[str, Any] = {"ts": _stamp(at - at % width)}
        else:
            key = {path: _plain(entry.value(path)) for path in self.asked["groupBy"]}
        name = json.dumps(key, sort_keys=True)
        group = groups.setdefault(name, _Group(key))
        group.count += 1
        for at_, one in enumerate(self.asked["aggregate"]):
            if one.get("field") is None:
                continue
            value = entry.value(one["field"])
            if value is not _MISSING:
                group.values.setdefault(at_, []).append((entry.ts, entry.seq, value))

    def _groups_told(
        self, groups: "dict[str, _Group]", after: "_GroupCursor | None", until: str
    ) -> dict[str, Any]:
        """Return the groups that follow a cursor, the largest first, as many as fit."""
        order = sorted(groups.items(), key=lambda one: (-one[1].count, one[0]))
        begin = _begin_of(order, after) if after is not None else 0
        told: list[dict[str, Any]] = []
        room = self.asked.get("room", MAX_BYTES)
        for _, group in order[begin:]:
            made = self._group_told(group)
            room -= len(json.dumps(made, ensure_ascii=True))
            if told and (room < 0 or len(told) >= self.asked["limit"]):
                last_name, last = order[begin + len(told) - 1]
                cursor = json.dumps([last.count, _digest(last_name), until])
                return {"groups": told, "truncated": True, "cursor": cursor}
            told.append(made)
        return {"groups": told}

    def _group_told(self, group: "_Group") -> dict[str, Any]:
        key = {path: _cut(value) for path, value in group.key.items()}
        made: dict[str, Any] = {"key": key, "count": group.count}
        for at, one in enumerate(self.asked["aggregate"]):
            name = one.get("as") or "_".join(filter(None, (one["op"], one.get("field"))))
            made[name] = _cut(aggregated(one["op"], group.values.get(at, []), group.count))
        return made


@dataclass(slots=True)
class _Group:
    key: dict[str, Any]
    count: int = 0
    values: dict[int, list[tuple[str, int, Any]]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class _GroupCursor:
    """Behind which group an answer goes on, and up to when records were counted."""

    count: int
    digest: str
    until: str


def _begin_of(order: "list[tuple[str, _Group]]", after: _GroupCursor) -> int:
    """Return where the groups behind a cursor begin; where its own is gone, by its size."""
    for at, (name, _) in enumerate(order):
        if _digest(name) == after.digest:
            return at + 1
    return next((at for at, (_, one) in enumerate(order) if one.count < after.count), len(order))


def _digest(name: str) -> str:
    """Return a short name of a group: what it is grouped by may be long."""
    return hashlib.sha256(name.encode(errors="replace")).hexdigest()[:16]


def aggregated(op: str, values: list[tuple[str, int, Any]], count: int) -> Any:
    """Return an aggregate of values with their times; None of nothing. Percentiles are by nearest
    rank."""
    if op == "count":
        return len(values) or count
    if op == "countDistinct":
        return len({json.dumps(value, sort_keys=True) for _, _, value in values})
    if op in ("first", "last"):
        ordered = sorted(values, key=lambda one: one[:2])
        return ordered[0 if op == "first" else -1][2] if ordered else None
    numbers = sorted(value for _, _, value in values if _kind(value) == "number")
    if op in ("min", "max") and not numbers:
        texts = sorted(value for _, _, value in values if isinstance(value, str))
        return (texts[0] if op == "min" else texts[-1]) if texts else None
    if not numbers:
        return None
    if op == "sum":
        return math.fsum(numbers) if any(isinstance(n, float) for n in numbers) else sum(numbers)
    if op == "avg":
        return math.fsum(numbers) / len(numbers)
    if op in ("min", "max"):
        return numbers[0] if op == "min" else numbers[-1]
    rank = math.ceil(int(op.removeprefix("p")) / 100 * len(numbers))
    return numbers[max(rank, 1) - 1]


def _kind(value: Any) -> str:
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, int | float):
        return "number"
    if isinstance(value, str):
        return "text"
    return type(value).__name__


def _cut(value: Any) -> Any:
    """Return a value whose texts leave room for others in an answer."""
    most = 4_000
    if isinstance(value, str) and len(value) > most:
        return value[: most - 1] + "…"
    if isinstance(value, dict | list):
        text = json.dumps(value, ensure_ascii=False)
        return value if len(text) <= most else text[: most - 1] + "…"
    return value


def _stamp(seconds: float) -> str:
    whole, micros = divmod(round(seconds * 1_000_000), 1_000_000)
    return f"{time.strftime('%Y-%m-%dT%H:%M:%S', time.gmtime(whole))}.{micros:06}Z"


def _cursor(given: str | None) -> tuple[str, str, int] | None:
    """Raise `QuestionRefused` for a cursor that no answer had."""
    if given is None:
        return None
    try:
        ts, run, seq = json.loads(given)
        return str(ts), str(run), int(seq)
    except (ValueError, TypeError):
        raise QuestionRefused("cursor: not that of an answer") from None


def _group_cursor(given: str | None) -> _GroupCursor | None:
    """Raise `QuestionRefused` for a cursor that no answer with groups had."""
    if given is None:
        return None
    with suppress(ValueError, TypeError, RecursionError):  # refused below
        count, digest, until = json.loads(given)
        if isinstance(count, int) and isinstance(digest, str) and isinstance(until, str):
            return _GroupCursor(count, digest, until)
    raise QuestionRefused("cursor: not that of an answer with groups")
