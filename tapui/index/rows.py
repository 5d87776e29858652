"""Rows of the index: the texts of a record, and how they are numbered, written and taken out."""

import re
import sqlite3
import zlib
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Literal

import msgspec
from msgspec import Raw

from tapui.index.facts import FactWriter, IndexFact, Open
from tapui.index.numbering import first_id
from tapui.index.store import SHARD_BYTES, create_shard, words_table
from tapui.projection.approvals import by, command_line, subject
from tapui.projection.changes import MAX_HUNK_BYTES, Edit, Hunk
from tapui.projection.requests.request_kind import detail_of
from tapui.projection.state import State
from tapui.projection.summary import head_strings, summary_of
from tapui.projection.turns.programs import has_failed
from tapui.projection.words import order_words
from tapui.wire import events as ev
from tapui.wire import subjects
from tapui.wire.codec import encode

RowKind = Literal[
    "prompt", "message", "call", "result", "line", "approval", "error", "mode", "event"
]
_PROMPTS = frozenset({"user.message", "prompt.injected", "prompt.automatic"})
_MESSAGES = frozenset({"assistant.message", "assistant.intent"})
_STRING = re.compile(r'"((?:[^"\\]|\\.)*)("?)')


MAX_TITLE = 120
"""Characters of a row's title."""
_PLAIN = 256
_CHUNK = 2_000


@dataclass(frozen=True, slots=True)
class Found:
    """A row of the index. `title` says what it is about; `is_cut`: the record has not all of it.
    `call_id` is what the session calls its call, in requests about it as well."""

    kind: RowKind
    title: str
    text: str
    call_id: str | None = None
    is_cut: bool = False


def found_in(event: ev.AnyEvent, state: State) -> Found | None:
    """Return what is indexed of an event; None for one that says nothing to look for.

    `state` is the fold of what happened before: it knows the arguments of a call that ends.
    """
    match event:
        case ev.CallStarted(call=call):
            texts = _texts(call.args, call.args_cut, is_data=False)
            title = f"{call.tool} {summary_of(call)}".strip()
            text = _joined(call.tool, *texts)
            return Found("call", title, text, call.tool_call_id or call.id, _is_cut(event, call))
        case ev.CallFinished(call=call):
            return _result(event, call, state)
        case ev.StreamPosted(stream=stream, line=line):
            texts = _texts(line.metadata, None)
            text = _joined(stream, line.event, *texts)
            return Found("line", stream, text, is_cut=_is_cut(event))
        case ev.SessionHappened():
            return _happened(event)
        case ev.ApprovalRequested(approval=approval):
            title = subject(state, approval)
            text = _joined(approval.provider, title, *_strings(detail_of(approval)))
            return Found("approval", title, text, _call_of(approval), _is_cut(event, approval))
        case (
            ev.ApprovalDecided(approval=approval)
            | ev.ApprovalWithdrawn(approval=approval)
            | ev.ApprovalExpired(approval=approval)
        ):
            how = by(approval.decided_by) if approval.decided_by else ""
            title = f"{approval.state} {how}: {subject(state, approval)}".replace(" :", ":")
            return Found("approval", title, _joined(title, approval.reason), _call_of(approval))
        case ev.ModeChanged():
            title = f"{event.source or '?'} → {event.mode} {event.state} by {event.by}"
            return Found("mode", title, _joined(title, event.error))
        case ev.OrderGiven(order=order) if order.kind != "tell":
            title = f"{order_words(order)} by {order.by}"
            return Found("event", title, title, is_cut=_is_cut(event))
        case ev.OrderChanged(state="failed"):
            known = state.orders.get(event.order_id)
            title = f"failed: {order_words(known)}" if known is not None else "order failed"
            return Found("error", title, _joined(title, event.error), is_cut=_is_cut(event))
        case ev.GateChecked(gate=gate) if gate.state == "deny":
            title = f"{gate.tool} denied by {gate.decided_by or 'a rule'}"
            text = _joined(title, gate.reason)
            return Found("approval", title, text, gate.id, _is_cut(event, gate))
        case ev.ErrorSent():
            title = f"{event.code} {event.provider or ''}".strip()
            return Found("error", title, _joined(title, event.message), is_cut=_is_cut(event))
        case ev.CommandAsked():
            title = f"{event.command} {'refused' if event.refused else 'answered'}"
            return Found("approval", title, _joined(title, command_line(event)))
        case ev.SpanEnded(span=span) if span.name == "turn":
            title = f"turn {span.turn or '?'} {span.status}, trace {span.trace_id}"
            return Found("event", title, title)
        case ev.EventLost():
            return Found("error", event.lost, _joined(event.lost, event.error))
        case _:
            return None


def _result(event: ev.CallFinished, call: subjects.Call, state: State) -> Found:
    began = state.calls.get(call.id)
    title = f"{call.tool} {summary_of(began) if began else ''}".strip()
    texts = _texts(call.data, call.data_cut)
    file = call.file.path if call.file is not None else None
    is_error = call.state == "failed" and has_failed(call)
    kind: RowKind = "error" if is_error else "result"
    text = _joined(call.error, file, *texts, *(call.context or ()))
    return Found(kind, title, text, call.tool_call_id or call.id, _is_cut(event, call))


def _call_of(approval: subjects.Approval) -> str:
    """Return the call that a request is about; of one without a call, the request's own id."""
    call_id = detail_of(approval).get("toolCallId")
    return call_id if isinstance(call_id, str) else approval.id


def _happened(event: ev.SessionHappened) -> Found | None:
    texts = list(_texts(event.data, event.data_cut, is_data=False))
    name, is_cut = event.event, _is_cut(event) or event.data_cut is not None
    if name == "assistant.message":  # its text; the tools that it asks for are calls, with rows
        texts = [text for text in texts[:1] if text]
    if not texts or name == "session.usage":  # sums, told again with each turn
        return None
    title = texts[0].strip().partition("\n")[0][:200]
    if name in _PROMPTS:
        return Found("prompt", title, _joined(*texts), is_cut=is_cut)
    if name in _MESSAGES:
        return Found("message", title, _joined(*texts), is_cut=is_cut)
    kind: RowKind = "error" if name in ("session.error", "prompt.failed") else "event"
    return Found(kind, name, _joined(name, *texts), is_cut=is_cut)


def _is_cut(
    event: ev.Event, view: subjects.Call | subjects.Approval | subjects.Gate | None = None
) -> bool:
    if event.cuts or (view is not None and view.cuts):
        return True
    return isinstance(view, subjects.Call) and (
        view.args_cut is not None or view.data_cut is not None
    )


def _texts(raw: Raw | None, kept: subjects.Cut | None, *, is_data: bool = True) -> Iterator[str]:
    """Yield the texts of JSON from outside, of JSON that was cut those of its beginning."""
    if raw is not None:
        try:
            yield from _strings(msgspec.json.decode(raw), with_keys=is_data)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            return
    elif kept is not None:
        yield from (
            (text for text, _ in _STRING.findall(kept.head) if text)
            if is_data
            else (head_strings(kept.head).values())
        )


def _strings(value: Any, *, with_keys: bool = False) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, inner in value.items():
            if with_keys:
                yield str(name)
            yield from _strings(inner, with_keys=with_keys)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner, with_keys=with_keys)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield str(value)


def _joined(*texts: str | None) -> str:
    return "\n".join(text for text in texts if text)


@dataclass(slots=True)
class IndexRow:
    """What is written of one record: where it stands, whose it is, what is found in it, and the
    facts that it tells. Without `found` no words lead to it."""

    file: int
    offset: int
    session: int | None
    run: int
    seq: int
    ts: str
    turn: int | None
    found: Found | None
    edits: list[Edit] = field(default_factory=list)
    facts: list[IndexFact] = field(default_factory=list)

    @property
    def place(self) -> tuple[int, int, int | None, int, int, int | None]:
        return self.file, self.offset, self.session, self.run, self.seq, self.turn


def scope_of(session: int | None) -> str:
    """Return the word by which the rows of a session are found."""
    return "s0" if session is None else f"s{session:d}"


def packed(text: str) -> str | bytes:
    """Return a text in its stored form: compressed where it is long."""
    return text if len(text) < _PLAIN else zlib.compress(text.encode(), 1)


def unpacked(stored: str | bytes) -> str:
    """Return a stored text; raises `zlib.error` where the index is damaged."""
    if isinstance(stored, str):
        return stored
    return zlib.decompress(stored).decode("utf-8", "replace")


_hunks = msgspec.json.Decoder(list[Hunk])


def hunks_of(stored: bytes) -> list[Hunk]:
    """Return stored hunks; raises `zlib.error` and `msgspec.DecodeError`."""
    return _hunks.decode(zlib.decompress(stored))


class RowWriter:
    """Writes rows into the newest shard; the caller's transaction holds them together.

    Without `has_words` no words lead to them.
    """

    def __init__(
        self, connection: sqlite3.Connection, facts: FactWriter, *, has_words: bool = True
    ) -> None:
        self._connection = connection
        self._has_words = has_words
        self._facts = facts
        newest = connection.execute("SELECT id, bytes FROM shards ORDER BY id DESC LIMIT 1")
        row: tuple[int, int] = newest.fetchone() or (0, SHARD_BYTES)
        self._shard, self._bytes = row

    def write(self, rows: Iterable[IndexRow], open_: Open) -> None:
        last = 0
        words: list[tuple[int, str, str]] = []
        for base, row in sorted(_numbered(rows), key=lambda item: (item[0], item[1].seq)):
            if self._bytes >= SHARD_BYTES:
                self._flush(words)
                self._shard, self._bytes = create_shard(self._connection), 0
            last = max(base, last + 1)
            if row.found is not None:
                last = self._insert(last, row, row.found)
                if self._has_words:
                    words.append((last, row.found.text, scope_of(row.session)))
                self._bytes += len(row.found.text)
            for edit in row.edits:
                self._insert_edit(last, row, edit)
            for fact in row.facts:
                open_.written(fact, self._facts.write(fact, row.place, last))
        self._flush(words)

    def _insert(self, number: int, row: IndexRow, found: Found) -> int:
        values = (
            self._shard, row.file, row.offset, row.session, row.run, row.seq, found.kind,
            row.turn, found.call_id, found.is_cut, found.title[:MAX_TITLE], packed(found.text),
        )  # fmt: skip
        while True:
            try:
                self._connection.execute(
                    "INSERT INTO rows VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                    (number, *values),
                )
            except sqlite3.IntegrityError:  # a row of another folder has that number
                number += 1
            else:
                return number

    def _insert_edit(self, number: int, row: IndexRow, edit: Edit) -> None:
        hunks = encode(edit.hunks)
        kept = zlib.compress(hunks if len(hunks) <= MAX_HUNK_BYTES else b"[]", 1)
        name = edit.path.rpartition("/")[2]
        self._connection.execute(
            "INSERT INTO changes (row, file, session, run, seq, turn, name, path, added, removed,"
            " is_probable, is_whole, hunks) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                number, row.file, row.session, row.run, row.seq, row.turn, name, edit.path,
                edit.added, edit.removed, edit.is_probable, edit.is_whole, kept,
            ),
        )  # fmt: skip

    def _flush(self, words: list[tuple[int, str, str]]) -> None:
        if not words:
            return
        self._connection.executemany(
            f"INSERT INTO {words_table(self._shard)} (rowid, text, scope) VALUES (?, ?, ?)", words
        )
        self._connection.execute(
            "UPDATE shards SET bytes = ?, rows = rows + ?, newest = max(newest, ?) WHERE id = ?",
            (self._bytes, len(words), words[-1][0], self._shard),
        )
        words.clear()

    def remove(self, file: int) -> None:
        """Take out all that was indexed of a file, in several transactions.

        Nothing of it is left in the index's file.
        """
        connection = self._connection
        connection.execute("PRAGMA secure_delete = ON")
        touched: set[int] = set()
        while rows := connection.execute(
            "SELECT id, shard, session, text FROM rows WHERE file = ? LIMIT ?", (file, _CHUNK)
        ).fetchall():
            connection.execute("BEGIN IMMEDIATE")
            for number, shard, session, text in rows:
                connection.execute(
                    f"INSERT INTO {words_table(shard)} ({words_table(shard)}, rowid, text, scope)"
                    " VALUES ('delete', ?, ?, ?)",
                    (number, unpacked(text), scope_of(session)),
                )
                connection.execute("UPDATE shards SET rows = rows - 1 WHERE id = ?", (shard,))
                touched.add(shard)
            connection.executemany("DELETE FROM rows WHERE id = ?", [(row[0],) for row in rows])
            connection.execute("COMMIT")
        connection.execute("DELETE FROM changes WHERE file = ?", (file,))
        connection.execute("DELETE FROM usage WHERE file = ?", (file,))
        self._facts.remove(file)
        connection.execute("DELETE FROM files WHERE id = ?", (file,))
        touched -= self._drop_empty()
        for shard in touched:  # words that were taken out are in its older parts until then
            table = words_table(shard)
            connection.execute(f"INSERT INTO {table} ({table}) VALUES ('optimize')")
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        connection.execute("PRAGMA secure_delete = OFF")

    def _drop_empty(self) -> set[int]:
        """Drop the shards of which nothing is left, but not the one that is written to."""
        empty = "SELECT id FROM shards WHERE rows <= 0 AND id <> ?"
        dropped = {shard for (shard,) in self._connection.execute(empty, (self._shard,)).fetchall()}
        for shard in dropped:
            self._connection.execute(f"DROP TABLE {words_table(shard)}")
            self._connection.execute("DELETE FROM shards WHERE id = ?", (shard,))
        return dropped


def _numbered(rows: Iterable[IndexRow]) -> Iterator[tuple[int, IndexRow]]:
    base = 0
    for row in rows:
        given = first_id(row.ts)
        base = base if given is None else given  # without a time it goes with the one before
        yield base, row
