"""What towers read on demand: lines of streams, turns, a session's tools, what a snapshot cut,
another connection's messages. And what the records hold of a session from before this run.

What memory has is answered at once; for the rest the shell reads the records.
"""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from msgspec import Raw, Struct
from msgspec.structs import replace

from tapui.core.approvals.approvals import Approvals
from tapui.core.calls.calls import Calls
from tapui.core.context import CorePart
from tapui.core.effects import (
    ConnectionId,
    EarlierTurns,
    EndInspection,
    Inspect,
    InspectMore,
    LinesAfter,
    LinesBefore,
    ReadRecords,
    RecordsAbout,
    RecordsRead,
    SpansBetween,
)
from tapui.core.emitters.folders import EmitterFolders
from tapui.core.emitters.registry import Emitters, described
from tapui.core.model import Connection, OpenSession
from tapui.core.providers.identity import Providers
from tapui.core.providers.tools import ToolTable
from tapui.core.sessions.sessions import OpenSessions, own_session, resolved
from tapui.core.streams.streams import Streams, fitting
from tapui.projection.state import State
from tapui.projection.turns.earlier_turns import bounded, unknown_of
from tapui.projection.turns.turn import LiveTurn
from tapui.wire import limits
from tapui.wire.codec import decode_as, encode
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.events import (
    CallExited,
    CallFinished,
    CallStarted,
    Entry,
    SpanEnded,
    StreamPosted,
    TurnsRestored,
)
from tapui.wire.host import SessionHistory
from tapui.wire.message import Error, Line
from tapui.wire.subjects import Call
from tapui.wire.tower import (
    Detail,
    DetailRead,
    InspectEnded,
    InspectLines,
    InspectRead,
    InspectStart,
    InspectStop,
    SpansList,
    SpansRead,
    StreamLines,
    StreamRead,
    ToolsList,
    ToolsRead,
    TurnsList,
    TurnsRead,
)
from tapui.wire.turns import Turn


@dataclass(eq=False, repr=False)
class History(CorePart):
    """Puts earlier turns before those of this run. What records have goes before a host's."""

    sessions: OpenSessions

    def read_back(self, session: OpenSession) -> None:
        """A session has opened: ask for its turns of earlier runs."""
        session.awaits_history = True
        ticket = self._tickets.keep(partial(self._records_read, session), session)
        self._out.effects.append(ReadRecords(ticket, session.id, EarlierTurns()))

    def _records_read(self, session: OpenSession, read: RecordsRead) -> None:
        """The shell has read them, or could not: then there are none."""
        session.awaits_history = False
        for entry in read.entries:
            if isinstance(entry.event, TurnsRestored):
                self._restore(session, entry.event.turns)
        if session.told_history is not None:
            told, session.told_history = session.told_history, None
            self._restore(session, told)

    def told(self, connection: Connection, message: SessionHistory) -> None:
        """A host tells what happened before it came."""
        session = own_session(self.sessions, connection, message.session_id)
        turns = bounded(decode_as(Raw(message.turns), list[Turn], "turns"))
        if session.awaits_history:
            session.told_history = turns
        else:
            self._restore(session, turns)

    def _restore(self, session: OpenSession, turns: list[Turn]) -> None:
        known = self._out.state.turns.get(session.id)
        new = unknown_of(known, turns) if known is not None else []
        if new:
            self._out.emit(TurnsRestored(session.id, new))


@dataclass(eq=False, repr=False)
class Inspecting(CorePart):
    """The inspections of all towers. One ends with the tower, or with what it looks at."""

    sessions: OpenSessions
    providers: Providers

    def __post_init__(self) -> None:
        super().__post_init__()
        self._targets: dict[tuple[ConnectionId, str], ConnectionId] = {}
        """What is looked at, by the tower and the id that it chose."""

    def start(self, connection: Connection, message: InspectStart) -> None:
        """Begin to inspect. Raises `WireError` to refuse."""
        key = (connection.id, message.id)
        if key in self._targets:
            raise WireError(ErrorCode.INVALID_JSON, "id: this inspection goes on", id=message.id)
        if sum(tower == connection.id for tower, _ in self._targets) >= limits.MAX_INSPECTIONS:
            text = f"a tower has at most {limits.MAX_INSPECTIONS} inspections"
            raise WireError(ErrorCode.RATE_LIMITED, text, id=message.id)
        self._targets[key] = target = self._target(message)
        self._out.effects.append(Inspect(connection.id, message.id, target))
        self._out.send(connection.id, InspectLines(message.id, []))

    def read(self, connection: Connection, message: InspectRead) -> None:
        """Ask for more; of an inspection that has ended meanwhile there is none."""
        if (connection.id, message.id) in self._targets:
            self._out.effects.append(InspectMore(connection.id, message.id))

    def stop(self, connection: Connection, message: InspectStop) -> None:
        """End an inspection, if it has not ended."""
        if self._targets.pop((connection.id, message.id), None) is not None:
            self._out.effects.append(EndInspection(connection.id, message.id))

    def gone(self, connection: Connection) -> None:
        """A connection is gone: a tower, or one that was inspected."""
        for (tower, id_), target in list(self._targets.items()):
            if connection.id in (tower, target):
                del self._targets[tower, id_]
                self._out.effects.append(EndInspection(tower, id_))
                if target == connection.id:
                    self._out.send(tower, InspectEnded(id_))

    def _target(self, message: InspectStart) -> ConnectionId:
        if (message.provider_id is None) == (message.session_id is None):
            text = "providerId, sessionId: one of them says what to inspect"
            raise WireError(ErrorCode.INVALID_JSON, text, id=message.id)
        if message.session_id is not None:
            return self.sessions.required(message.session_id).host
        provider = self.providers.connected.get(message.provider_id or "")
        if provider is None:
            text = f"provider {message.provider_id} is not connected"
            raise WireError(ErrorCode.NOT_FOUND, text, id=message.id)
        return provider.connection.id


DETAIL_KINDS = {
    "call": ("call.started", "call.finished", "call.exited"),
    "approval": ("approval.requested", "approval.decided"),
}


class PendingRead(Struct, eq=False):
    """A tower's request that waits for records. `newer` are the lines that are there already; of
    lines after a number they are used where the records have none. `former` are the sessions
    whose records are read next, where lines are still wanted."""

    reader: Connection
    message: StreamRead | DetailRead | SpansRead
    newer: list[Line] = []
    former: tuple[str, ...] = ()


@dataclass(eq=False, repr=False)
class Reading(CorePart):
    """Answers `stream.read`, `turns.read`, `spans.read`, `tools.read` and `detail.read`."""

    sessions: OpenSessions
    streams: Streams
    tools: ToolTable
    calls: Calls
    approvals: Approvals
    providers: Providers
    emitters: Emitters
    emitter_folders: EmitterFolders

    def stream_read(self, connection: Connection, message: StreamRead) -> None:
        session = self.sessions.get(message.session_id)
        if session is None:
            self._out.send(connection.id, StreamLines(message.id, []))
            return
        session = self.emitter_folders.owner_of(session, message.stream)
        wanted = min(max(message.last, 0), limits.STREAM_LINES)
        at = message.at or ""
        if message.after is not None:
            self._read_after(connection, message, session.id, wanted)
            return
        until = at if message.before is None else ""
        lines = self.streams.read(session.id, message.stream, wanted, message.before, until)
        before = lines[0].seq if lines else message.before or limits.MAX_SEQ
        if len(lines) == wanted or not self.streams.has_older(session.id, message.stream, before):
            self._out.send(connection.id, StreamLines(message.id, lines))
            return
        known_at = "" if until else lines[0].ts if lines else at
        self._read(
            session.id,
            LinesBefore(message.stream, wanted - len(lines), before, known_at, until),
            PendingRead(connection, message, lines, session.former_ids),
        )

    def _read_after(
        self, connection: Connection, message: StreamRead, session_id: str, wanted: int
    ) -> None:
        """Read the first lines after a number; memory has the newest ones only."""
        after = message.after or 0
        lines, is_whole = self.streams.read_after(session_id, message.stream, wanted, after)
        if is_whole or not wanted:
            self._out.send(connection.id, StreamLines(message.id, lines))
            return
        self._read(
            session_id,
            LinesAfter(message.stream, wanted, after, message.at or ""),
            PendingRead(connection, message, lines),
        )

    def turns_read(self, connection: Connection, message: TurnsRead) -> None:
        """Read turns whole, newest first until they are too many bytes; one at least."""
        self._out.send(connection.id, turns_asked(self._out.state, message))

    def spans_read(self, connection: Connection, message: SpansRead) -> None:
        """Read spans back from the records: memory has none."""
        session = self.sessions.get(message.session_id)
        session_id = session.id if session is not None else message.session_id
        if session is None and session_id not in self._out.state.sessions:
            self._out.send(connection.id, SpansList(message.id, []))
            return
        self._read(session_id, spans_between(message), PendingRead(connection, message))

    def tools_read(self, connection: Connection, message: ToolsRead) -> None:
        """Read a session's tools. The id may be a child's, as at `tool.invoke`."""
        session = resolved(self.sessions, message.session_id)
        if not message.all:
            self._out.send(connection.id, ToolsList(message.id, self.tools.offer(session)))
            return
        own = session.reserved_tools
        known = None if own is None else sorted(own)[: limits.MAX_TOOLS]
        self._out.send(connection.id, ToolsList(message.id, self.tools.registered(session), known))

    def detail_read(self, connection: Connection, message: DetailRead) -> None:
        """Read all of a call, an approval or a provider."""
        found, session_id = self._in_memory(message)
        if found is not None:
            self._out.send(connection.id, found)
        elif session_id is not None:
            about = RecordsAbout(message.subject, DETAIL_KINDS[message.of])
            self._read(session_id or None, about, PendingRead(connection, message))
        else:
            raise WireError(
                ErrorCode.NOT_FOUND, f"no {message.of} {message.subject}", id=message.id
            )

    def _in_memory(self, message: DetailRead) -> tuple[Detail | None, str | None]:
        """Return the answer, or the session in whose records it is ("" for the gateway's)."""
        state, subject = self._out.state, message.subject
        if message.of == "call":
            pending = self.calls.pending.get(subject)
            if pending is not None:
                return Detail(message.id, call=replace(pending.view, args=pending.args)), None
            call = state.calls.get(subject) or state.recent_calls.get(subject)
            if call is not None and not call.is_cut:
                return Detail(message.id, call=call), None
            asked = message.session_id if message.session_id in state.sessions else None
            return None, asked if call is None else call.session_id
        if message.of == "approval":
            approvals = self.approvals
            waiting = approvals.waiting.get(subject) or approvals.deciding.get(subject)
            if waiting is not None:
                return Detail(message.id, approval=waiting.view), None
            approval = state.approvals.get(subject)
            if approval is not None and not approval.is_cut:
                return Detail(message.id, approval=approval), None
            return None, None if approval is None else approval.session_id or ""
        if message.of == "emitter":
            emitter = self.emitters.by_id.get(subject)
            answer = Detail(message.id, emitter=described(emitter)) if emitter is not None else None
            return answer, None
        connected = self.providers.connected.get(subject)
        if connected is not None:
            return Detail(message.id, provider=connected.view), None
        provider = state.providers.get(subject)
        return (None if provider is None else Detail(message.id, provider=provider)), None

    def _reads_on(self, pending: PendingRead, message: StreamRead, lines: list[Line]) -> bool:
        """Ask for older lines in the records of the session before this one, if any are wanted."""
        wanted = min(max(message.last, 0), limits.STREAM_LINES) - len(lines)
        first = lines[0].seq if lines else message.before or limits.MAX_SEQ
        if not pending.former or wanted <= 0 or first <= 1:
            return False
        until = (message.at or "") if message.before is None else ""
        self._read(
            pending.former[0],
            LinesBefore(message.stream, wanted, first, "", until),
            PendingRead(pending.reader, message, lines, pending.former[1:]),
        )
        return True

    def _read(
        self,
        session_id: str | None,
        wanted: LinesBefore | LinesAfter | RecordsAbout | SpansBetween,
        pending: PendingRead,
    ) -> None:
        """Ask for events that memory no longer has."""
        ticket = self._tickets.keep(partial(self._records_read, pending))
        self._out.effects.append(ReadRecords(ticket, session_id, wanted))

    def _records_read(self, pending: PendingRead, read: RecordsRead) -> None:
        entries, fault = read.entries, read.fault
        if not pending.reader.is_open:
            return
        message = pending.message
        if fault is not None:
            error = Error(ErrorCode.INTERNAL, fault, str(message.__struct_config__.tag))
            self._out.send(pending.reader.id, replace(error, id=message.id))
        elif isinstance(message, StreamRead):
            events = [entry.event for entry in entries]
            found = [event.line for event in events if isinstance(event, StreamPosted)]
            if message.after is not None:
                lines = fitting(found or pending.newer)
            else:
                lines = [*found, *pending.newer]
                if self._reads_on(pending, message, lines):
                    return
                lines = fitting(reversed(lines))[::-1]
            self._out.send(pending.reader.id, StreamLines(message.id, lines))
        elif isinstance(message, SpansRead):
            self._out.send(pending.reader.id, spans_asked(message, entries))
        else:
            self._out.send(pending.reader.id, detail_asked(self._out.state, message, entries))


def turns_asked(
    state: State, message: TurnsRead, told_of: Callable[[LiveTurn], Turn] = LiveTurn.told
) -> TurnsList:
    """Return the turns of a session that were asked for, each as `told_of` tells it."""
    known = state.turns.get(message.session_id)
    turns = known.turns if known is not None else []
    if message.before is not None:
        turns = [turn for turn in turns if turn.number < message.before]
    wanted = min(max(message.last, 0), limits.TURNS)
    told: list[Turn] = []
    room = limits.MAX_TURNS_READ_BYTES
    for turn in reversed(turns[-wanted:] if wanted else []):
        one = told_of(turn)
        room -= len(encode(one))
        if told and room < 0:
            break
        told.insert(0, one)
    return TurnsList(message.id, told)


def spans_between(message: SpansRead) -> SpansBetween:
    """Return what is read for a `spans.read`: one more than an answer has shows that it is cut."""
    most = limits.MAX_SPANS_READ + 1
    return SpansBetween(message.since, message.until or "", most, message.trace_id)


def spans_asked(message: SpansRead, entries: list[Entry]) -> SpansList:
    """Return the spans that were read."""
    spans = [entry.event.span for entry in entries if isinstance(entry.event, SpanEnded)]
    kept = spans[-limits.MAX_SPANS_READ :]
    return SpansList(message.id, kept, is_cut=len(kept) < len(spans))


def detail_asked(state: State, message: DetailRead, entries: list[Entry]) -> Detail | Error:
    """Put the head in the state and the bodies in the records together."""
    subject = message.subject
    if message.of == "call":
        known = state.recent_calls.get(subject) or state.calls.get(subject)
        calls = [getattr(entry.event, "call", None) for entry in entries]
        known = known or next((one for one in reversed(calls) if one is not None), None)
        if known is not None:
            return Detail(message.id, call=_whole_call(known, entries))
    approval = state.approvals.get(subject)
    for entry in entries:
        given = getattr(entry.event, "approval", None)
        if approval is None or given is None:
            continue
        kept = given.cuts.get("detail")
        if kept is None or kept.head:  # else it was not repeated there
            approval = replace(
                approval, detail=given.detail, cuts=given.cuts, is_cut=kept is not None
            )
    if approval is not None:
        return Detail(message.id, approval=approval)
    if message.of == "emitter" and (emitter := state.emitters.get(subject)) is not None:
        return Detail(message.id, emitter=emitter)
    text = f"no {message.of} {subject}"
    return replace(Error(ErrorCode.NOT_FOUND, text, "detail.read"), id=message.id)


def _whole_call(known: Call, entries: list[Entry]) -> Call:
    for entry in entries:
        event = entry.event
        if isinstance(event, CallStarted):
            known = replace(known, args=event.call.args, args_cut=event.call.args_cut)
        elif isinstance(event, CallFinished):
            known = replace(
                known,
                data=event.call.data,
                data_cut=event.call.data_cut,
                error=event.call.error,
                context=event.call.context,
                shell=event.call.shell,
                cuts=event.call.cuts,
                is_cut=bool(event.call.cuts),
            )
        elif isinstance(event, CallExited):
            known = replace(known, exit_code=event.call.exit_code, shell=event.call.shell)
    return known
