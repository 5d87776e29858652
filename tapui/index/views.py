"""The views: what questions to the records are asked of.

They are the contract; the tables below them are not. They are made in each connection that reads
(`install`), as temporary ones: what a view shows changes without a new index. Rows of files that
are gone are left out, also before the index knows that they are.
"""

import contextlib
import os
import sqlite3
import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from tapui.index.numbering import BITS

MAX_VALUE = 16 * 1024 * 1024
"""Bytes of a value in an answer."""
Type = Literal["text", "integer", "real"]
BEFORE_LEDGER = "from before tapui kept a ledger"
NO_CHECK = "no check was known there, or none was looked for"


@dataclass(frozen=True, slots=True)
class ViewColumn:
    """A column: its type, its meaning, and the expression over the view's tables.

    `path` leads to the same in a record (`call.errorCode`), where a record has it. An expression
    that begins with `@` is a column with the number of a name.
    """

    name: str
    type: Type
    about: str
    sql: str
    path: str = ""


@dataclass(frozen=True, slots=True)
class RecordView:
    """A view: `source` is the FROM clause, `x` its main table; `example` a question that runs."""

    name: str
    about: str
    collection: str
    """That of its records; an expression where they are in several."""
    source: str
    columns: tuple[ViewColumn, ...]
    example: str
    where: str = ""
    noun: str = ""
    """The noun of the records: `call`."""

    @property
    def all_columns(self) -> tuple[ViewColumn, ...]:
        own = {one.name for one in self.columns}
        return (*_PLACE, *self.columns, *(one for one in _LAST if one.name not in own))


def _ts(number: str) -> str:
    micros = f"({number} >> {BITS})"
    return (
        f"strftime('%Y-%m-%dT%H:%M:%S', {micros} / 1000000, 'unixepoch')"
        f" || printf('.%06dZ', {micros} % 1000000)"
    )


_SESSION = "(SELECT name FROM main.sessions WHERE id = x.session)"
_RUN = "(SELECT name FROM main.runs WHERE id = x.run)"
_PLACE = (
    ViewColumn("ts", "text", "when, RFC 3339 in UTC", _ts("x.id"), "ts"),
    ViewColumn("session", "text", "the session's id", _SESSION, "sessionId"),
    ViewColumn("run", "text", "the run of the gateway that recorded it", _RUN, "run"),
    ViewColumn("seq", "integer", "the record's number in that run", "x.seq", "seq"),
    ViewColumn("ref", "text", "leads to the record: `tapui records --at REF`",
           f"{{collection}} || '/' || {_RUN} || '/' || x.seq"),
    ViewColumn("id", "integer", "grows with the time: what `since=` is compared with", "x.id"),
    ViewColumn("session_no", "integer", "the session as a number, which is quicker to group by",
           "x.session"),
)  # fmt: skip
RECORDED = "recorded"
_LAST = (
    ViewColumn("provenance", "text", "recorded; with --past also: Copilot's files",
               f"'{RECORDED}'"),
)  # fmt: skip
_TURN = ViewColumn("turn", "integer", "the number of the turn", "x.turn", "turn")


def _text(name: str, about: str, sql: str = "", path: str = "") -> ViewColumn:
    return ViewColumn(name, "text", about, sql or f"x.{name}", path)


def _count(name: str, about: str, sql: str = "", path: str = "") -> ViewColumn:
    return ViewColumn(name, "integer", about, sql or f"x.{name}", path)


def _real(name: str, about: str, sql: str = "", path: str = "") -> ViewColumn:
    return ViewColumn(name, "real", about, sql or f"x.{name}", path)


def _name(name: str, about: str, column: str = "", path: str = "") -> ViewColumn:
    return ViewColumn(name, "text", about, f"@{column or name}", path)


_STREAM = "(SELECT name FROM main.names WHERE id = x.stream)"
_CALL_OF_ROW = "(SELECT call FROM main.rows WHERE id = x.id)"
_TEXT_OF_ROW = "unpacked((SELECT text FROM main.rows WHERE id = x.id))"
VIEWS = (
    RecordView(
        "sessions",
        "a row for each session that is recorded",
        "sessions",
        "(SELECT at AS id, id AS session, name, label, cwd, file, offset, run, seq, host, state,"
        " mode, model, started_by, ended, reason FROM main.sessions WHERE file IS NOT NULL) x",
        (
            _text("label", "its name", path="session.label"),
            _text("cwd", "its folder", path="session.cwd"),
            _name("host", "where it came from", path="session.host"),
            _text("state", "idle, busy or ended", path="session.state"),
            _text("mode", "interactive, plan or autopilot", path="session.mode"),
            _name("model", "its model", path="session.model"),
            _name("started_by", "who started it here", path="session.startedBy"),
            _text("ended", "when it ended", path="session.endedAt"),
            _text("reason", "why it ended", path="session.reason"),
        ),
        "SELECT label, cwd, state FROM sessions ORDER BY ts DESC LIMIT 5",
        noun="session",
    ),
    RecordView(
        "turns",
        "a row for each prompt and what the agent did until it was idle again",
        "sessions",
        "main.turns x",
        (
            _TURN,
            _text("prompt", "the beginning of what was asked"),
            _text("source", "who asked: person, provider, agent, schedule …"),
            _name("source_name", "the provider that asked"),
            _text("state", "running, waiting, done, failed, stopped, unknown"),
            _real("duration", "milliseconds until it ended"),
            _text("ended", "when it ended"),
            _count("steps", "how many steps it had"),
            _count("failed", "how many of them failed"),
            _count("denied", "how many were denied"),
            _count("cancelled", "how many were cancelled"),
            _count("stopped", "how many the person stopped"),
            _count("timed_out", "how many timed out"),
            _real("waited", "milliseconds for which it waited for the person"),
            _count("sent_back", "how often the agent was sent back"),
            _count("files", "how many files it changed"),
            _count("added", "lines that were added"),
            _count("removed", "lines that were removed"),
            _count("is_outside", "1: calls while the session was idle"),
            _count("is_history", "1: it was told of after it happened"),
            _text("proof", "checked, failed, unchecked; unknown; none where no file was changed",
                  "coalesce(x.proof, CASE WHEN x.files > 0 THEN 'unknown' END)"),
            _text("proof_reason", "what was checked, or why that is unknown",
                  "coalesce(x.proof_text, CASE WHEN x.files > 0 THEN CASE WHEN"
                  f" (SELECT has_proof FROM main.runs WHERE id = x.run) THEN '{NO_CHECK}'"
                  f" ELSE '{BEFORE_LEDGER}' END END)"),
            _count("checked_in", "the later turn in which the same was checked"),
        ),
        "SELECT ts, prompt, proof, proof_reason FROM turns WHERE files > 0 LIMIT 5",
    ),
    RecordView(
        "calls",
        "a row for each tool call: a session's own tools and those of providers",
        "calls",
        "main.calls x",
        (
            _TURN,
            _text("call", "its id", _CALL_OF_ROW, "call.id"),
            _name("tool", "the tool", path="call.tool"),
            _count("tool_no", "the tool as a number", "x.tool"),
            _name("provider", "who has the tool", path="call.provider"),
            _text("state", "queued, running, cancelling, done, failed, cancelled",
                  path="call.state"),
            _text("outcome", "done, failed, denied, cancelled, stopped, timedOut: failed is what"
                  " failed by itself or by its exit code; none while it runs"),
            _count("is_failed", "1: its outcome is failed"),
            _real("duration", "milliseconds", path="call.duration"),
            _real("queued", "milliseconds in which it waited for a place", path="call.queued"),
            _real("gated", "milliseconds in which providers were asked about it",
                  path="call.gated"),
            _name("error_code", "why it failed, as a code", path="call.errorCode"),
            _text("error", "why it failed, in words", path="call.error"),
            _count("exit_code", "of a shell", path="call.exitCode"),
            _name("agent", "the subagent that made it", path="call.agentId"),
            _name("caller", "who else made it", path="call.caller"),
            _name("summary", "the command, the file, the question"),
            _count("summary_no", "the same as a number", "x.summary"),
            _count("files", "how many files it changed"),
        ),
        "SELECT tool, count(*) AS calls, sum(is_failed) AS failed FROM calls GROUP BY tool",
        noun="call",
    ),
    RecordView(
        "approvals",
        "a row for each request to the person, and each call that a rule or a gate decided",
        "CASE x.kind WHEN 'gate' THEN 'calls' ELSE 'approvals' END",
        "main.approvals x",
        (
            _TURN,
            _text("approval", "its id", _CALL_OF_ROW, "approval.id"),
            _text("kind", "permission, mode, pairing, gate, command …", path="approval.kind"),
            _text("state", "waiting, approved, denied, expired, withdrawn …",
                  path="approval.state"),
            _name("decided_by", "you, rule, a provider, a host", path="approval.decidedBy"),
            _name("rule", "the pattern of the rule", path="approval.rule.pattern"),
            _text("effect", "what the rule says: allow, ask, deny", path="approval.rule.effect"),
            _real("waited", "milliseconds until it was settled", path="approval.duration"),
            _name("provider", "who asked", path="approval.provider"),
            _name("tool", "the tool that is asked about"),
            _name("summary", "what is asked"),
            _text("reason", "why it was decided so", path="approval.reason"),
            _text("expires", "until when it waits", path="approval.expiresAt"),
        ),
        "SELECT summary, state, decided_by, waited FROM approvals ORDER BY ts DESC LIMIT 5",
        noun="approval",
    ),
    RecordView(
        "lines",
        "a row for each line of a stream",
        "streams",
        "main.lines x",
        (
            _TURN,
            _name("stream", "stream@provider", path="stream"),
            _count("number", "its number in the stream", path="line.seq"),
            _text("level", "keep, surface, inject", path="line.level"),
            _text("text", "the line", f"substr({_TEXT_OF_ROW}, length({_STREAM}) + 2, x.size)",
                  "line.event"),
            _count("emitter_run", "the emitter's run that wrote it", path="line.metadata.run"),
            _text("trace", "the trace of that run", path="line.metadata.traceId"),
        ),
        "SELECT ts, stream, text FROM lines ORDER BY ts DESC LIMIT 5",
        noun="line",
    ),
    RecordView(
        "runs",
        "a row for each run of an emitter that has ended (from the traces)",
        "traces",
        "main.spans x",
        (
            _name("emitter", "its name", path="span.emitter"),
            _count("number", "the number of the run", "x.emitter_run", "span.run"),
            _text("status", "ok, error, cancelled", path="span.status"),
            _name("code", "how it ended, as a code", path="span.code"),
            _text("error", "why it failed", path="span.error"),
            _real("duration", "milliseconds", path="span.duration"),
            _count("lines", "the lines that it wrote", path="span.lines"),
            _count("kept", "of them kept", path="span.kept"),
            _count("surfaced", "of them shown to you", path="span.surfaced"),
            _count("injected", "of them sent to the agent", path="span.injected"),
            _text("trace", "its trace", "lower(hex(x.trace))", "span.traceId"),
        ),
        "SELECT emitter, count(*) AS runs, sum(lines) AS lines FROM runs GROUP BY emitter",
        where="x.name = 'emitter'",
        noun="span",
    ),
    RecordView(
        "spans",
        "a row for each part of a trace that has ended",
        "traces",
        "main.spans x",
        (
            _text("trace", "the trace", "CASE typeof(x.trace) WHEN 'blob' THEN lower(hex(x.trace))"
                  " ELSE x.trace END", "span.traceId"),
            _text("span", "its id", "CASE typeof(x.span) WHEN 'blob' THEN lower(hex(x.span))"
                  " ELSE x.span END", "span.spanId"),
            _text("parent", "the part that it belongs to",
                  "CASE typeof(x.parent) WHEN 'blob' THEN lower(hex(x.parent)) ELSE x.parent END",
                  "span.parentId"),
            _text("name", "turn, gate, queue, provider, tool, agent …", path="span.name"),
            _real("duration", "milliseconds", path="span.duration"),
            _text("status", "ok, error, denied, cancelled", path="span.status"),
            _name("code", "the error code", path="span.code"),
            _name("tool", "the tool", path="span.tool"),
            _name("provider", "the provider", path="span.provider"),
            _text("call", "the call's id", path="span.callId"),
            _name("agent", "the subagent", path="span.agent"),
            _TURN,
            _name("emitter", "the emitter", path="span.emitter"),
            _count("emitter_run", "its run", path="span.run"),
            _name("stream", "the stream that has the lines", path="span.stream"),
            _count("lines", "the lines of a run or a batch", path="span.lines"),
            _count("kept", "of them kept", path="span.kept"),
            _count("surfaced", "of them shown to you", path="span.surfaced"),
            _count("injected", "of them sent to the agent", path="span.injected"),
            _count("held", "of them held", path="span.held"),
            _count("dropped", "spans of a turn that were too many", path="span.dropped"),
            _name("model", "the model of a turn", path="span.model"),
            _text("error", "why a run failed", path="span.error"),
        ),
        "SELECT name, count(*) AS spans, avg(duration) AS ms FROM spans GROUP BY name",
        noun="span",
    ),
    RecordView(
        "goals",
        "a row for each goal, as it stands",
        "goals",
        "main.goals x",
        (
            _TURN,
            _text("goal", "its id", "x.name", "goal.id"),
            _text("title", "its title", path="goal.title"),
            _text("status", "active, paused, blocked, achieved, failed, abandoned",
                  path="goal.status"),
            _text("opened_by", "agent, person, file, copilot", path="goal.openedBy"),
            _text("closed", "when it was closed", path="goal.closedAt"),
            _name("closed_by", "who or what closed it", path="goal.closedBy"),
            _count("criteria", "how many criteria it has"),
            _count("passed", "how many of them have passed"),
            _count("sent_back", "turns that were sent back for it", path="goal.sentBack.turns"),
            _count("tokens", "what that used", path="goal.sentBack.tokens"),
            _count("revision", "how often it was changed", path="goal.revision"),
            _text("note", "the newest note", path="goal.note"),
        ),
        "SELECT title, status, passed, criteria FROM goals ORDER BY ts DESC LIMIT 5",
        noun="goal",
    ),
    RecordView(
        "checks",
        "a row for each check of a goal, and each run of a command that a turn's proof rests on",
        "CASE WHEN x.goal IS NULL THEN 'sessions' ELSE 'goals' END",
        "main.checks x",
        (
            _TURN,
            _text("name", "its id"),
            _text("kind", "ran, call, file, stream, person, command"),
            _text("state", "passed, failed, error, unknown"),
            _text("goal", "the goal that it is of"),
            _name("command", "the command"),
            _count("exit_code", "its exit code"),
            _text("tests", "how many tests passed, in words"),
            _text("by", "agent or person"),
            _text("call", "the call that ran it"),
            _text("expected", "what was wanted"),
            _text("actual", "what was found"),
            _text("reason", "why it stands so"),
            _text("provenance", "recorded, observed, stated"),
        ),
        "SELECT ts, command, state, exit_code, tests FROM checks WHERE kind = 'ran' LIMIT 5",
    ),
    RecordView(
        "claims",
        "a row for each claim that an agent had audited",
        "goals",
        "main.claims x",
        (
            _TURN,
            _text("name", "its id"),
            _text("text", "the claim"),
            _text("verdict", "supported, contradicted, unsupported"),
            _text("reason", "why"),
            _count("is_material", "1: it counts"),
            _count("checks", "how many checks were made"),
            _text("goal", "the goal that it is of"),
        ),
        "SELECT verdict, count(*) AS claims FROM claims GROUP BY verdict",
    ),
    RecordView(
        "reviews",
        "a row for each finding of a review, and each review without one",
        "reviews",
        "main.reviews x",
        (
            _TURN,
            _text("review", "the review's id", path="review.id"),
            _name("monitor", "what was reviewed", path="review.monitor"),
            _text("decision", "ignore, note, surface, act, escalate", path="review.decision"),
            _text("observed", "what was seen", path="review.observed"),
            _text("reason", "why it was decided so", path="review.reason"),
            _name("stream", "the stream that was looked at", path="review.stream"),
            _count("first", "the number of its first line"),
            _count("last", "the number of its last line"),
            _count("unreviewed", "lines before them that no review has",
                   path="review.unreviewed"),
            _name("reviewer", "who reviewed", path="review.reviewer"),
            _name("model", "the model", path="review.model"),
            _text("finding", "the finding's id"),
            _text("fingerprint", "the same for the same finding in a later review"),
            _text("title", "what was found"),
            _text("priority", "P0 to P3"),
            _real("confidence", "0 to 1, as its reviewer says"),
            _text("path", "the file"),
            _count("line", "the first line"),
            _text("rule", "the rule that is broken"),
            _count("is_opinion", "1: it has no check"),
            _text("verdict", "how its check stood"),
            _text("disposition", "open, accepted, rejected, deferred, fixed"),
        ),
        "SELECT reviewer, avg(disposition IN ('accepted', 'fixed')) AS precision FROM reviews"
        " WHERE disposition NOT IN ('open', 'deferred') GROUP BY reviewer",
        noun="review",
    ),
    RecordView(
        "files",
        "a row for each change of a file by a call",
        "calls",
        "(SELECT row AS id, file, session, run, seq, turn, path, added, removed, is_probable"
        " FROM main.changes) x",
        (
            _TURN,
            _text("path", "the file"),
            _count("added", "lines that were added"),
            _count("removed", "lines that were removed"),
            _count("is_probable", "1: a command seems to have changed it"),
            _text("call", "the call's id", _CALL_OF_ROW),
        ),
        "SELECT path, count(*) AS changes FROM files GROUP BY path ORDER BY changes DESC LIMIT 5",
    ),
    RecordView(
        "usage",
        "a row for each answer of a model, and for what a session's total said beyond them: the"
        " plain sum is what was used",
        "sessions",
        "(SELECT *, at AS id FROM main.usage) x",
        (
            _TURN,
            _name("model", "the model"),
            _count("model_no", "the model as a number", "x.model"),
            _count("day_no", "the day in UTC: days since 1970", "x.day"),
            _text("kind", "answer; first total: from before tapui came; total: not seen by it"),
            _count("input", "tokens that were read"),
            _count("output", "tokens that were written"),
            _real("cost", "as the host tells it; none: it does not"),
            _real("requests", "premium requests, as the host tells them"),
            _count("cache_read", "tokens that came from a cache"),
            _count("cache_write", "tokens that went into one"),
            _real("credits", "as the host tells them"),
            _count("calls", "answers"),
            _count("is_again", "1: after the agent was sent back"),
        ),
        "SELECT model, sum(input) AS input, sum(output) AS output FROM usage GROUP BY model",
    ),
    RecordView(
        "errors",
        "a row for each message that was refused, and each error of a session or an order",
        "CASE x.is_session WHEN 1 THEN 'sessions' ELSE 'errors' END",
        "main.errors x",
        (
            _TURN,
            _name("code", "the code, or the event's name", path="code"),
            _name("source", "the provider that sent the message", path="provider"),
            _text("message", "in words, with its code first", _TEXT_OF_ROW),
        ),
        "SELECT code, count(*) AS errors FROM errors GROUP BY code",
        noun="error",
    ),
)  # fmt: skip
BY_NAME = {view.name: view for view in VIEWS}
TABLES = frozenset(
    {
        "sessions", "runs", "names", "rows", "calls", "approvals", "lines", "errors", "spans",
        "turns", "goals", "checks", "claims", "reviews", "changes", "usage",
    }
)  # fmt: skip
"""The tables that the views read."""
GONE = "gone_files"
"""The files that are not there any more, a temporary table of each connection."""


PAST = "past"
"""The name of the database with what another program's files tell, in a connection that has one."""
PAST_VIEWS = frozenset({"sessions", "turns", "calls", "files", "usage", "errors"})
"""The views that have rows of it."""
NOT_RECORDED = "the files of the session do not tell"


def select(view: RecordView, more: str = "", *, checks_files: bool = True) -> str:
    """Return the statement that a view is. `more` are further columns; with `checks_files` rows of
    files that are gone are left out."""
    columns = [f"{_expression(view, one)} AS {one.name}" for one in view.all_columns]
    conditions = [f"x.file NOT IN (SELECT id FROM temp.{GONE})"] if checks_files else []
    conditions += [view.where] if view.where else []
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    return f"SELECT {', '.join(columns)}{more} FROM {view.source}{where}"


def _select_past(view: RecordView, provenance: str) -> str:
    """Return what a view shows of the other database, which no record is behind."""
    quoted = provenance.replace("'", "''")
    told = {"run": "NULL", "ref": "NULL", "provenance": f"'{quoted}'"}
    columns = [
        f"{told.get(one.name) or _expression(view, one)} AS {one.name}" for one in view.all_columns
    ]
    statement = f"SELECT {', '.join(columns)} FROM {view.source}"
    return statement.replace("main.", f"{PAST}.").replace(BEFORE_LEDGER, NOT_RECORDED)


def _expression(view: RecordView, column: ViewColumn) -> str:
    """Return what a column is. What stands in another table is looked up by a subquery of its own:
    SQLite makes joins also for columns that a question does not have, where it groups."""
    sql = column.sql
    if sql.startswith("@"):
        return f"(SELECT name FROM main.names WHERE id = x.{sql[1:]})"
    collection = view.collection
    if collection.isidentifier():
        collection = f"'{collection}'"
    return sql.replace("{collection}", collection)


def install(connection: sqlite3.Connection, past: Path | None = None, provenance: str = "") -> None:
    """Make the views in a connection that reads, or make them anew. Raises `sqlite3.Error`.

    With `past`, an index of what another program's files tell (`past.py`), its rows stand beside
    those of the records, and have that provenance.
    """
    connection.create_function("unpacked", 1, _unpacked, deterministic=True)
    gone = [(file,) for file in gone_files(connection)]
    connection.execute("PRAGMA query_only = OFF")
    if past is not None:
        connection.execute(f"ATTACH ? AS {PAST}", (f"{past.absolute().as_uri()}?mode=ro",))
    connection.execute("PRAGMA temp_store = MEMORY")
    connection.execute(f"CREATE TEMP TABLE IF NOT EXISTS {GONE} (id INTEGER PRIMARY KEY)")
    connection.execute(f"DELETE FROM temp.{GONE}")
    connection.executemany(f"INSERT INTO temp.{GONE} VALUES (?)", gone)
    for view in VIEWS:
        connection.execute(f"DROP VIEW IF EXISTS temp.{view.name}")
        statement = select(view, checks_files=bool(gone))
        if past is not None and view.name in PAST_VIEWS:
            statement += f" UNION ALL {_select_past(view, provenance)}"
        connection.execute(f"CREATE TEMP VIEW {view.name} AS {statement}")
    connection.execute("PRAGMA query_only = ON")


def imitate(connection: sqlite3.Connection) -> None:
    """Make views of these names and columns, and nothing else, in an empty connection: a
    statement that it takes asks of views alone."""
    connection.create_function("unpacked", 1, _unpacked, deterministic=True)
    for view in VIEWS:
        columns = ", ".join(f"NULL AS {column.name}" for column in view.all_columns)
        connection.execute(f"CREATE TEMP VIEW {view.name} AS SELECT {columns}")


def _unpacked(stored: str | bytes | None) -> str | None:
    """Return a stored text (`rows.unpacked`); of a damaged one nothing."""
    if stored is None or isinstance(stored, str):
        return stored
    try:
        return zlib.decompressobj().decompress(stored, MAX_VALUE).decode("utf-8", "replace")
    except zlib.error:
        return None


def gone_files(connection: sqlite3.Connection) -> list[int]:
    """Return the files whose records were deleted since they were indexed.

    A folder is listed once: its files are known by their numbers, not by their names.
    """
    gone: list[int] = []
    folders: dict[str, set[int]] = {}
    for file, inode, path in connection.execute(
        "SELECT f.id, f.inode, o.path FROM main.files f JOIN main.folders o ON o.id = f.folder"
    ):
        if path not in folders:
            with contextlib.suppress(OSError), os.scandir(path) as entries:  # gone: no files
                folders[path] = {entry.inode() for entry in entries}
        if inode not in folders.get(path, ()):
            gone.append(file)
    return gone
