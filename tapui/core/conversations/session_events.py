"""What hosts tell of what happens in their sessions (`tapui/wire/README.md`)."""

from msgspec import Struct
from msgspec.structs import replace

from tapui.core.approvals.spending import Spending
from tapui.core.calls.native import NativeCalls
from tapui.core.context import CoreContext
from tapui.core.model import Connection, OpenSession
from tapui.core.runs.runs import Runs
from tapui.core.sessions.sessions import OpenSessions, own_session
from tapui.core.sessions.subagents import Subagents
from tapui.core.streams.injects import Injects
from tapui.core.traces.traces import Traces
from tapui.wire.bounds import Id
from tapui.wire.codec import decode_as, given_object, raw
from tapui.wire.events import SessionHappened
from tapui.wire.host import SessionSent
from tapui.wire.message import SessionEvent
from tapui.wire.provider import SessionLifecycle
from tapui.wire.subjects import ContextUse


class _SubagentStarted(Struct, rename="camel"):
    remote_session_id: Id
    agent_name: Id
    tool_call_id: Id | None = None
    agent_display_name: str | None = None


class _SubagentEnded(Struct, rename="camel"):
    tool_call_id: Id
    error: str | None = None


class _Abort(Struct, rename="camel"):
    agent_id: Id | None = None


class _Context(Struct, rename="camel"):
    agent_id: Id | None = None


_READ: dict[str, type[Struct]] = {
    "subagent.started": _SubagentStarted,
    "subagent.completed": _SubagentEnded,
    "subagent.failed": _SubagentEnded,
    "abort": _Abort,
}
"""Events of which the gateway reads the data."""


class SessionEvents:
    """Handlers of a session's events. Each raises `WireError` to refuse."""

    def __init__(
        self,
        context: CoreContext,
        *,
        sessions: OpenSessions,
        native: NativeCalls,
        subagents: Subagents,
        injects: Injects,
        spending: Spending,
        traces: Traces,
        runs: Runs,
    ) -> None:
        self._clock, self._out = context.clock, context.out
        self._sessions = sessions
        self._native = native
        self._subagents = subagents
        self._injects = injects
        self._spending = spending
        self._traces = traces
        self._runs = runs

    def happened(self, connection: Connection, message: SessionEvent) -> None:
        """Something happened in a session."""
        session = own_session(self._sessions, connection, message.session_id)
        given = given_object(message.data, "data")
        if given is not message.data:
            message = replace(message, data=given)
        event = message.event
        what = decode_as(message.data, _READ[event], "data") if event in _READ else None
        if event in ("tool.execution_start", "tool.execution_complete"):
            message = replace(
                message, data=self._native.happened(session, connection.name, message)
            )
        elif event == "session.context":
            use = decode_as(message.data, ContextUse, "data")
            whose = decode_as(message.data, _Context, "data").agent_id
            if whose is None:
                self._sessions.update(session, context=use)
            else:
                self._subagents.context(session, whose, use)
        else:
            data, data_cut = self._out.recordable(message.data)
            self._out.emit(SessionHappened(session.id, event, data, data_cut))
            self._traces.follow(session)
        session.last_activity = self._clock.now
        if session.subscribers:
            self._forward(session, message)
        if event == "session.idle":
            self._idle(session)
        elif event in ("session.busy", "assistant.turn_start"):
            self._injects.turn_began(session)
            self._sessions.update(session, state="busy")
        elif event == "user.message":
            self._injects.person_spoke(session)
            self._injects.deliver(session)
        elif isinstance(what, _SubagentStarted):
            self._subagents.started(
                session,
                what.remote_session_id,
                what.agent_name,
                what.tool_call_id,
                what.agent_display_name,
            )
        elif isinstance(what, _SubagentEnded):
            is_ok = event == "subagent.completed"
            error = None if is_ok else what.error
            self._subagents.ended(
                session, what.tool_call_id, "completed" if is_ok else "failed", error
            )
        elif isinstance(what, _Abort):
            self._aborted(session, what.agent_id)

    def _forward(self, session: OpenSession, message: SessionEvent) -> None:
        """Hand an event on to the providers that subscribed to it."""
        for provider in session.subscribers.get(message.event, ()):
            self._out.send(
                provider.connection.id, SessionEvent(session.id, message.event, message.data)
            )

    def _idle(self, session: OpenSession) -> None:
        self._native.turn_ended(session, "the turn ended before the tool's end was reported")
        self._subagents.turn_ended(session, "completed")
        self._sessions.update(session, state="idle")
        for provider in session.providers.values():
            if not provider.connection.is_builtin:
                self._out.send(provider.connection.id, SessionLifecycle(session.id, "idle"))
        self._injects.no_turn(session)
        self._runs.session_idle(session)

    def _aborted(self, session: OpenSession, agent_id: str | None) -> None:
        """A turn was stopped, or that of one subagent: what it left open will not end."""
        self._native.turn_ended(session, "the turn was aborted", agent_id)
        if agent_id is None:
            self._subagents.turn_ended(session, "failed")
            self._spending.stopped(session)
        else:
            self._subagents.stopped(session, agent_id)

    def sent(self, connection: Connection, message: SessionSent) -> None:
        """A prompt was handed to its session, or could not be: then the next one may go."""
        session = own_session(self._sessions, connection, message.session_id)
        if message.ok:
            return
        error = message.error or "the host could not send the prompt"
        self._out.emit(SessionHappened(session.id, "prompt.failed", raw({"error": error}), None))
        if session.awaits_turn and not session.is_busy:
            self._injects.no_turn(session, is_refused=True)
            self._runs.session_idle(session)
