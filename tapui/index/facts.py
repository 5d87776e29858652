"""What the index keeps of a record in columns, beside its text: small rows of numbers and codes.

A table is about one kind of thing, and has the thing's place first: number (by time, as the rows
of texts), file, offset, session, run, number of the record, turn. Words that come again and again
are numbers of `names`. A call or an approval is one row, written with its beginning and changed by
its end.
"""

import re
import sqlite3
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import msgspec
from msgspec.structs import replace

from tapui import times
from tapui.index.numbering import first_id
from tapui.projection.approvals import subject
from tapui.projection.requests.permissions import by_rule
from tapui.projection.requests.request_kind import detail_of
from tapui.projection.state import State
from tapui.projection.summary import summary_of
from tapui.projection.turns.programs import outcome
from tapui.projection.turns.turn import LiveTurn
from tapui.wire import events as ev
from tapui.wire import subjects
from tapui.wire.criteria import TurnProof
from tapui.wire.goals import CheckResult, Goal
from tapui.wire.message import Line
from tapui.wire.reviews import Finding, Review
from tapui.wire.surrogates import without_surrogates
from tapui.wire.turns import TurnHead

MAX_TEXT = 500
"""Characters that are kept of a text in a column; the record has all of it."""
_MAX_NAME = 200
_CACHED = 20_000
_HEX = re.compile(r"(?:[0-9a-f]{16}){1,2}\Z")
_UNDECIDED = frozenset({"waiting", "revealed", "deciding"})
MAX_OPEN = 1_000
"""Calls and approvals of a folder that have not ended, whose ends are still put to them."""
TABLES = (
    "calls", "approvals", "lines", "errors", "spans", "turns", "goals", "checks", "claims",
    "reviews",
)  # fmt: skip
_INTERNED = {
    "calls": ("tool", "provider", "error_code", "agent", "caller", "summary"),
    "approvals": ("decided_by", "rule", "provider", "tool", "summary"),
    "lines": ("stream",),
    "errors": ("code", "source"),
    "spans": ("code", "tool", "provider", "agent", "emitter", "stream", "model"),
    "turns": ("source_name",),
    "goals": ("closed_by",),
    "checks": ("command",),
    "reviews": ("monitor", "stream", "reviewer", "model"),
    "sessions": ("host", "model", "started_by"),
    "usage": ("model",),
}
Key = tuple[str, str, str]
"""A thing that has not ended: table, session or run, and its id."""


class Names:
    """Words by number. A word that no row has any more is removed."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection
        self._known: dict[str, int] = {}

    def number(self, name: str | None) -> int | None:
        """Return the number of a word, None for none."""
        if not name:
            return None
        known = self._known.get(name)
        if known is not None:
            return known
        kept = without_surrogates(name[:_MAX_NAME])
        found = self._connection.execute("SELECT id FROM names WHERE name = ?", (kept,)).fetchone()
        if found is None:
            cursor = self._connection.execute("INSERT INTO names (name) VALUES (?)", (kept,))
            assert cursor.lastrowid is not None
            found = (cursor.lastrowid,)
        if len(self._known) >= _CACHED:
            self._known.clear()
        self._known[name] = found[0]
        return int(found[0])

    def purge(self) -> None:
        """Remove the words of rows that are gone; nothing of them stays in the file."""
        self._known.clear()
        used = " UNION ".join(
            f"SELECT {column} FROM {table} WHERE {column} IS NOT NULL"
            for table, columns in _INTERNED.items()
            for column in columns
        )
        self._connection.execute("PRAGMA secure_delete = ON")
        self._connection.execute(f"DELETE FROM names WHERE id NOT IN ({used})")
        self._connection.execute("PRAGMA secure_delete = OFF")


@dataclass(slots=True, eq=False)
class IndexFact:
    """A row of a table but for its place. What is in `names` is a word here.

    `key` is the thing's, while it has not ended. `at` is the number of the row where that is not
    the record's time. `update` is the row's number where it is there already, of which only
    `values` change.
    """

    table: str
    values: dict[str, Any]
    key: Key | None = None
    at: int | None = None
    update: int | None = None


@dataclass(slots=True, eq=False)
class Open:
    """The calls and approvals of a folder that have not ended: rows that are written, by number,
    and those that are not yet."""

    facts: dict[Key, IndexFact | int] = field(default_factory=dict)

    def began(self, fact: IndexFact) -> None:
        assert fact.key is not None
        self.facts[fact.key] = fact
        if len(self.facts) > MAX_OPEN:
            del self.facts[next(iter(self.facts))]

    def ended(self, fact: IndexFact, *, is_over: bool = True) -> IndexFact | None:
        """Put a thing's end to its beginning; return the fact that is still to be written."""
        assert fact.key is not None
        known = self.facts.get(fact.key)
        if is_over:
            self.facts.pop(fact.key, None)
        if isinstance(known, IndexFact):
            known.values.update(fact.values)
            return None
        fact.update = known
        if known is None and not is_over:
            self.began(fact)
        return fact

    def written(self, fact: IndexFact, number: int) -> None:
        if fact.key is not None and self.facts.get(fact.key) is fact:
            self.facts[fact.key] = number

    def frozen(self) -> bytes | None:
        kept = [(*key, one) for key, one in self.facts.items() if isinstance(one, int)]
        return msgspec.json.encode(kept) if kept else None

    @classmethod
    def thawed(cls, data: bytes | None) -> "Open":
        """Raise `msgspec.DecodeError` for what was not written here."""
        if not data:
            return cls()
        found = msgspec.json.decode(data, type=list[tuple[str, str, str, int]])
        return cls({(table, owner, id_): number for table, owner, id_, number in found})


_TELLING: frozenset[type[ev.Event]] = frozenset(
    {
        ev.CallStarted, ev.CallFinished, ev.CallExited, ev.ApprovalRequested, ev.ApprovalJudged,
        ev.ApprovalRevealed,
        ev.ApprovalDecided, ev.ApprovalWithdrawn, ev.ApprovalExpired, ev.GateChecked,
        ev.CommandAsked, ev.StreamPosted, ev.SpanEnded, ev.ErrorSent, ev.EventLost,
        ev.OrderChanged, ev.GoalOpened, ev.GoalUpdated, ev.GoalVerified, ev.GoalClosed,
        ev.TurnProved, ev.ClaimsAudited, ev.ReviewRecorded, ev.FindingDisposed,
    }
)  # fmt: skip
_ERRORS = frozenset({"session.error", "prompt.failed"})


def tells_facts(event: ev.AnyEvent) -> bool:
    """Return whether something is kept of such a record: most of a session's events tell nothing,
    and are not held against each kind."""
    if isinstance(event, ev.SessionHappened):
        return event.event in _ERRORS
    return type(event) in _TELLING


def facts_in(
    event: ev.AnyEvent, run: str, state: State, began: subjects.Call | None, open_: Open
) -> Iterator[IndexFact]:
    """Yield what is kept of a record. `state` is the fold of what happened before; `began` is a
    call as it was started, where the record is its end."""
    match event:
        case ev.CallStarted(call=call):
            fact = IndexFact("calls", _started(call), ("calls", call.session_id, call.id))
            open_.began(fact)
            yield fact
        case ev.CallFinished(call=call):
            is_over = call.shell is None or not call.shell.is_behind
            key = ("calls", call.session_id, call.id)
            fact = IndexFact("calls", _ended(call, began), key)
            if (one := open_.ended(_whole(fact, call, open_), is_over=is_over)) is not None:
                yield one
        case ev.CallExited(call=call):
            values = {"exit_code": call.exit_code}
            fact = IndexFact("calls", values, ("calls", call.session_id, call.id))
            if fact.key in open_.facts and (one := open_.ended(fact)) is not None:
                yield one
        case ev.ApprovalRequested(approval=approval):
            fact = IndexFact("approvals", _asked(approval, state), ("approvals", run, approval.id))
            open_.began(fact)
            yield fact
        case (
            ev.ApprovalJudged(approval=approval)
            | ev.ApprovalRevealed(approval=approval)
            | ev.ApprovalDecided(approval=approval)
            | ev.ApprovalWithdrawn(approval=approval)
            | ev.ApprovalExpired(approval=approval)
        ):
            yield from _settled(approval, run, state, open_)
        case ev.GateChecked(gate=gate) if gate.state in ("allow", "deny"):
            yield IndexFact("approvals", _gated(gate))
        case ev.CommandAsked():
            yield IndexFact("approvals", _commanded(event))
        case ev.StreamPosted(stream=stream, line=line):
            yield IndexFact("lines", _posted(stream, line))
        case ev.SpanEnded(span=span):
            yield IndexFact("spans", _spanned(span))
        case ev.ErrorSent():
            yield IndexFact("errors", _error(event.code, event.provider))
        case ev.EventLost():
            yield IndexFact("errors", _error("EVENT_LOST"))
        case ev.OrderChanged(state="failed"):
            yield IndexFact("errors", _error("ORDER_FAILED", is_session=True))
        case ev.SessionHappened(event=("session.error" | "prompt.failed") as name):
            yield IndexFact("errors", _error(name, is_session=True))
        case ev.GoalOpened(goal=goal) | ev.GoalUpdated(goal=goal) | ev.GoalClosed(goal=goal):
            yield IndexFact("goals", _goal(goal), at=first_id(goal.opened_at))
        case ev.GoalVerified(goal=goal, report=report):
            yield IndexFact("goals", _goal(goal), at=first_id(goal.opened_at))
            for check in report.checks:
                yield IndexFact("checks", _check(check, report.evidence_id, goal.id))
        case ev.TurnProved(proof=proof) if proof is not None:
            yield from _runs(proof)
        case ev.ClaimsAudited(audit=audit):
            for claim in audit.claims:
                yield IndexFact(
                    "claims",
                    {
                        "name": f"{audit.audit_id}/{claim.id}"[:_MAX_NAME],
                        "verdict": claim.verdict,
                        "text": _text(claim.text),
                        "reason": _text(claim.reason),
                        "is_material": claim.material,
                        "checks": len(claim.checks),
                        "goal": audit.goal_id,
                    },
                )
        case ev.ReviewRecorded(review=review):
            yield from _reviewed(review)
        case ev.FindingDisposed(finding=finding):
            yield IndexFact("reviews", _found(finding))
        case _:
            return


def shows_proof(event: ev.AnyEvent) -> bool:
    """Return whether only a tapui that keeps a ledger writes such a record."""
    if isinstance(event, ev.CallFinished):
        return event.call.shell is not None
    return isinstance(
        event, ev.TurnProved | ev.SessionStood | ev.GoalEvent | ev.TurnSentBack | ev.ClaimsAudited
    )


def _error(code: str, source: str | None = None, *, is_session: bool = False) -> dict[str, Any]:
    return {"code": code, "source": source, "is_session": is_session}


def _text(text: str | None) -> str:
    return without_surrogates((text or "")[:MAX_TEXT])


# Calls


def _started(call: subjects.Call) -> dict[str, Any]:
    return {
        "tool": call.tool,
        "provider": call.provider,
        "state": call.state,
        "duration": None,
        "queued": None,
        "gated": None,
        "error_code": None,
        "exit_code": None,
        "agent": call.agent_id,
        "caller": call.caller,
        "summary": summary_of(call),
        "files": 0,
        "is_failed": False,
        "outcome": None,
        "error": None,
    }


def _ended(call: subjects.Call, began: subjects.Call | None) -> dict[str, Any]:
    if began is not None and call.exit_code:  # what an exit code means depends on the command
        ended = outcome(replace(call, args=began.args, args_cut=began.args_cut))
    else:
        ended = outcome(call)
    return {
        "state": call.state,
        "duration": call.duration,
        "queued": call.queued,
        "gated": call.gated,
        "error_code": call.error_code,
        "exit_code": call.exit_code,
        "files": len(call.changes or ()),
        "is_failed": ended == "failed",
        "outcome": ended,
        "error": _text(call.error) or None,
    }


def _whole(fact: IndexFact, call: subjects.Call, open_: Open) -> IndexFact:
    """Return the end of a call with what its beginning would have said, where that is not known."""
    if fact.key not in open_.facts:
        fact.values = _started(call) | fact.values
    return fact


# Approvals


def _asked(approval: subjects.Approval, state: State) -> dict[str, Any]:
    detail = detail_of(approval)
    tool = detail.get("toolName")
    return {
        "kind": approval.kind,
        "provider": approval.provider,
        "tool": tool if isinstance(tool, str) else None,
        "summary": subject(state, approval),
        "expires": approval.expires_at,
    } | _decision(approval)


def _decision(approval: subjects.Approval) -> dict[str, Any]:
    rule = approval.rule
    return {
        "state": approval.answered or approval.state,
        "decided_by": "rule" if by_rule(approval) else approval.decided_by,
        "rule": rule.pattern if rule is not None else None,
        "effect": rule.effect if rule is not None else None,
        "waited": approval.duration,
        "reason": _text(approval.reason) or None,
    }


def _settled(
    approval: subjects.Approval, run: str, state: State, open_: Open
) -> Iterator[IndexFact]:
    key = ("approvals", run, approval.id)
    values = _decision(approval) if key in open_.facts else _asked(approval, state)
    is_over = approval.state not in _UNDECIDED
    fact = open_.ended(IndexFact("approvals", values, key), is_over=is_over)
    if fact is not None:
        yield fact


def _gated(gate: subjects.Gate) -> dict[str, Any]:
    rule = gate.rule
    return {
        "kind": "gate",
        "state": "denied" if gate.state == "deny" else "approved",
        "decided_by": "rule" if rule is not None else gate.decided_by,
        "rule": rule.pattern if rule is not None else None,
        "effect": rule.effect if rule is not None else None,
        "waited": gate.duration,
        "provider": None,
        "tool": gate.tool,
        "summary": gate.tool,
        "reason": _text(gate.reason) or None,
        "expires": None,
    }


def _commanded(event: ev.CommandAsked) -> dict[str, Any]:
    return {
        "kind": "command",
        "state": "approved" if event.refused is None else "denied",
        "decided_by": event.by,
        "rule": None,
        "effect": None,
        "waited": None,
        "provider": None,
        "tool": None,
        "summary": event.command,
        "reason": _text(event.refused) or None,
        "expires": None,
    }


# Lines and spans


class _LineOrigin(msgspec.Struct, rename="camel"):
    """What the metadata of an emitter's line says of its run."""

    run: int | None = None
    trace_id: str | None = None


_origins = msgspec.json.Decoder(_LineOrigin)


def _posted(stream: str, line: Line) -> dict[str, Any]:
    origin = _LineOrigin()
    if line.metadata is not None:
        try:
            origin = _origins.decode(line.metadata)
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            origin = _LineOrigin()  # a provider's own metadata
    run = origin.run if origin.run is not None and abs(origin.run) < 2**62 else None
    return {
        "stream": stream,
        "number": line.seq,
        "level": line.level,
        "size": len(line.event),
        "emitter_run": run,
        "trace": origin.trace_id[:64] if origin.trace_id else None,
    }


def _id(text: str | None) -> bytes | str | None:
    """Return an id of W3C's in half of its size, another one unchanged."""
    if text is None or not _HEX.match(text):
        return None if text is None else without_surrogates(text[:64])
    return bytes.fromhex(text)


def _spanned(span: subjects.Span) -> dict[str, Any]:
    return {
        "trace": _id(span.trace_id),
        "span": _id(span.span_id),
        "parent": _id(span.parent_id),
        "name": span.name,
        "duration": span.duration,
        "status": span.status,
        "code": span.code,
        "tool": span.tool,
        "provider": span.provider,
        "call": span.call_id or span.tool_call_id,
        "agent": span.agent or span.agent_id,
        "emitter": span.emitter,
        "emitter_run": span.run,
        "stream": span.stream,
        "lines": span.lines,
        "kept": span.kept,
        "surfaced": span.surfaced,
        "injected": span.injected,
        "held": span.held,
        "dropped": span.dropped or None,
        "model": span.model,
        "error": _text(span.error) or None,
    }


# Turns


def turn_values(turn: TurnHead | LiveTurn) -> dict[str, Any]:
    """Return a turn as it stands."""
    if isinstance(turn, LiveTurn):
        (state, ended), steps, files = turn.told_state(), turn.made, list(turn.files.values())
    else:
        state, ended, steps, files = turn.state, turn.ended_at, turn.steps, turn.files
    more, proof = turn.more_files, turn.proof
    return {
        "state": state,
        "source": turn.source.kind,
        "source_name": turn.source.name,
        "duration": _milliseconds(turn.started_at, ended),
        "ended": ended,
        "steps": steps,
        "failed": turn.failed,
        "denied": turn.denied,
        "cancelled": turn.cancelled,
        "stopped": turn.stopped,
        "timed_out": turn.timed_out,
        "waited": turn.waited,
        "sent_back": turn.sent_back,
        "files": len(files) + more.files,
        "added": sum(one.added or 0 for one in files) + more.added,
        "removed": sum(one.removed or 0 for one in files) + more.removed,
        "is_outside": turn.is_outside,
        "is_history": turn.is_history,
        "proof": proof.state if proof is not None else None,
        "proof_text": _text(proof.text) if proof is not None else None,
        "checked_in": proof.checked_in if proof is not None else None,
        "prompt": _text(turn.prompt),
    }


def _milliseconds(began: str, ended: str | None) -> float | None:
    first, last = times.epoch(began), times.epoch(ended or "")
    return None if first is None or last is None else round(1000 * (last - first), 3)


# Goals


def _goal(goal: Goal) -> dict[str, Any]:
    passed = [one for one in goal.criteria if one.verdict and one.verdict.state == "passed"]
    return {
        "name": goal.id,
        "title": _text(goal.title),
        "status": goal.status,
        "opened_by": goal.opened_by,
        "closed": goal.closed_at,
        "closed_by": goal.closed_by,
        "criteria": len(goal.criteria),
        "passed": len(passed),
        "sent_back": goal.sent_back.turns,
        "tokens": goal.sent_back.tokens,
        "revision": goal.revision,
        "note": _text(goal.note) or None,
    }


_STATUSES = {"pass": "passed", "fail": "failed"}


def _check(check: CheckResult, evidence: str, goal: str) -> dict[str, Any]:
    return {
        "name": f"{evidence}/{check.id}"[:_MAX_NAME],
        "kind": check.kind,
        "state": _STATUSES.get(check.status, check.status),
        "goal": goal,
        "command": check.expected if check.kind in ("ran", "command") else None,
        "exit_code": None,
        "tests": None,
        "by": "agent",
        "call": None,
        "expected": _text(check.expected),
        "actual": _text(check.actual),
        "reason": _text(check.reason) or None,
        "provenance": check.evidence.provenance if check.evidence is not None else None,
    }


def _runs(proof: TurnProof) -> Iterator[IndexFact]:
    for one in proof.runs:
        state = "unknown" if one.exit_code is None else "failed" if one.exit_code else "passed"
        yield IndexFact(
            "checks",
            {
                "name": without_surrogates(f"{one.at} {one.command}"[:_MAX_NAME]),
                "kind": "ran",
                "state": state,
                "goal": None,
                "command": one.command,
                "exit_code": one.exit_code,
                "tests": _text(one.tests) or None,
                "by": one.by,
                "call": one.call,
                "expected": None,
                "actual": None,
                "reason": None,
                "provenance": "recorded",
            },
            at=first_id(one.at),
        )


# Reviews


def _reviewed(review: Review) -> Iterator[IndexFact]:
    about = {
        "review": review.id,
        "monitor": review.monitor,
        "decision": review.decision,
        "observed": _text(review.observed),
        "reason": _text(review.reason),
        "stream": review.stream,
        "first": review.range.first if review.range is not None else None,
        "last": review.range.last if review.range is not None else None,
        "unreviewed": review.unreviewed,
        "reviewer": review.reviewer,
        "model": review.model,
    }
    for finding in review.findings:
        yield IndexFact("reviews", _found(finding) | about)
    if not review.findings:
        yield IndexFact("reviews", {"name": f"review/{review.id}"} | _NO_FINDING | about)


_NO_FINDING: dict[str, Any] = dict.fromkeys(
    ("finding", "fingerprint", "title", "priority", "confidence", "path", "line", "rule",
     "is_opinion", "verdict", "disposition")
)  # fmt: skip


def _found(finding: Finding) -> dict[str, Any]:
    return {
        "name": finding.id,
        "review": finding.review_id,
        "monitor": None,
        "decision": None,
        "observed": None,
        "reason": None,
        "stream": None,
        "first": None,
        "last": None,
        "unreviewed": None,
        "reviewer": finding.reviewer,
        "model": None,
        "finding": finding.id,
        "fingerprint": finding.fingerprint,
        "title": _text(finding.title),
        "priority": finding.priority,
        "confidence": finding.confidence,
        "path": _text(finding.path) or None,
        "line": finding.lines.first if finding.lines is not None else None,
        "rule": _text(finding.rule) or None,
        "is_opinion": finding.is_opinion,
        "verdict": finding.verdict.state if finding.verdict is not None else None,
        "disposition": finding.disposition,
    }


# Writing

_PLACE = ("id", "file", "offset", "session", "run", "seq", "turn")
_KEYS = {
    "turns": "id, session",
    "goals": "session, name",
    "checks": "id, session, name",
    "claims": "id, session, name",
    "reviews": "session, name",
}
_KEPT = {"turns": _PLACE, "goals": ("id", "name"), "checks": (*_PLACE, "name"),
         "claims": (*_PLACE, "name"), "reviews": (*_PLACE, "name")}  # fmt: skip
"""What stays of a row that is written again; of a review also what a decision does not know."""


class FactWriter:
    """Writes facts; the caller's transaction holds them together."""

    def __init__(self, connection: sqlite3.Connection, names: Names) -> None:
        self._connection = connection
        self._names = names
        self._inserts: dict[tuple[str, ...], str] = {}

    def write(self, fact: IndexFact, place: tuple[Any, ...], number: int) -> int:
        """Write a fact, with the number given or a later one; return that."""
        values = dict(fact.values)
        for name in _INTERNED.get(fact.table, ()):
            if name in values:
                values[name] = self._names.number(values[name])
        if fact.update is not None:
            changes = ", ".join(f"{name} = ?" for name in values)
            self._connection.execute(
                f"UPDATE {fact.table} SET {changes} WHERE id = ?",
                (*values.values(), fact.update),
            )
            return fact.update
        number = number if fact.at is None else fact.at
        sql = self._inserts.get((fact.table, *values)) or self._insert(fact.table, values)
        while True:
            try:
                self._connection.execute(sql, (number, *place, *values.values()))
            except sqlite3.IntegrityError as error:
                if error.sqlite_errorcode != sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY:
                    raise
                number += 1  # a thing of another folder has that number
            else:
                return number

    def _insert(self, table: str, values: dict[str, Any]) -> str:
        columns = (*_PLACE, *values)
        marks = ", ".join("?" * len(columns))
        sql = f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({marks})"
        if table in _KEYS:
            changed = [name for name in columns if name not in _KEPT[table]]
            sets = ", ".join(
                f"{name} = coalesce(excluded.{name}, {name})"
                if table == "reviews"
                else f"{name} = excluded.{name}"
                for name in changed
            )
            sql += f" ON CONFLICT ({_KEYS[table]}) DO UPDATE SET {sets}"
        self._inserts[(table, *values)] = sql
        return sql

    def remove(self, file: int) -> None:
        """Take out what was kept of a file."""
        for table in TABLES:
            self._connection.execute(f"DELETE FROM {table} WHERE file = ?", (file,))
        self._connection.execute(
            "UPDATE sessions SET label = '', cwd = '', at = NULL, file = NULL, host = NULL,"
            " state = NULL, mode = NULL, model = NULL, started_by = NULL, ended = NULL,"
            " reason = NULL WHERE file = ?",
            (file,),
        )
