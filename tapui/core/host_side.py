"""The host's conversation: sessions, their events, calls and approval requests (design 6)."""

from math import isfinite
from typing import Any

import msgspec
from msgspec import Raw, Struct
from msgspec.structs import replace

from tapui.core.binding import Binding
from tapui.core.connection import Connection, Standing
from tapui.core.registers import Registers
from tapui.core.sessions import OpenSession, resolved
from tapui.wire import limits
from tapui.wire.codec import optional_object, raw, require_object
from tapui.wire.errors import CallError, ErrorCode, WireError
from tapui.wire.events import (
    Call,
    CallFinished,
    CallStarted,
    ContextUse,
    Session,
    SessionHappened,
    SessionOpened,
    SessionReplaced,
    UnattachedFound,
)
from tapui.wire.host import (
    ApprovalAnswer,
    ApprovalRequest,
    ApprovalWithdraw,
    HostAck,
    HostHello,
    HostSession,
    ModeResult,
    SessionClose,
    SessionOpen,
    SessionsUnattached,
    SessionUpdate,
)
from tapui.wire.host import SessionOpened as SessionOpenedMessage
from tapui.wire.message import OptionalRaw, SessionEvent
from tapui.wire.provider import SessionLifecycle

LOCAL_KIND = "local"


class _Subagent(Struct, rename="camel"):
    remote_session_id: str
    agent_name: str


class _Execution(Struct, rename="camel"):
    tool: str
    tool_call_id: str | None = None
    args: Raw = Raw(b"{}")
    result: OptionalRaw = None
    duration_ms: float | None = None


class _ExecutionResult(Struct):
    type: str = "success"
    output: OptionalRaw = None


class HostSide:
    """Handlers of what hosts send. Each raises `WireError` to refuse."""

    def __init__(self, registers: Registers, binding: Binding) -> None:
        self._r = registers
        self._binding = binding

    def hello(self, connection: Connection, message: HostHello) -> None:
        """Register a host."""
        _check_version(message.protocol_version)
        if connection.grant is None or connection.grant.trust != "internal":
            raise WireError(ErrorCode.UNAUTHORIZED, "host.hello needs the internal token")
        connection.standing = Standing.HOST
        connection.name = message.name
        connection.host_kind = message.kind
        connection.host_asks_hooks = message.hooks
        self._r.out.send(connection.id, HostAck(self._r.mint.id("h"), limits.PROTOCOL_VERSION))

    # Sessions

    def session_open(self, connection: Connection, message: SessionOpen) -> None:
        """A session begins, or takes another's place."""
        r, wanted = self._r, message.session
        if not wanted.id or wanted.id == "all":
            raise WireError(ErrorCode.INVALID_JSON, "session.id: must be a name other than 'all'")
        if wanted.id in r.sessions.open:
            raise WireError(
                ErrorCode.INVALID_SESSION,
                f"Session {wanted.id} is open already",
                session_id=wanted.id,
            )
        former = r.sessions.open.get(wanted.replaces) if wanted.replaces else None
        if former is not None and former.host != connection.id:
            raise WireError(
                ErrorCode.INVALID_SESSION,
                f"Session {former.id} is another host's",
                session_id=former.id,
            )
        r.sessions.aliases.pop(wanted.id, None)
        session = self._new_session(connection, wanted)
        if former is not None:
            r.out.emit(SessionReplaced(session.id, session.view, former.id))
            r.sessions.remove(former)
            r.sessions.add(session)
            self._binding.replace_session(former, session)
        else:
            r.out.emit(SessionOpened(session.id, session.view))
            r.sessions.add(session)
        for builtin in r.of_standing(Standing.BUILTIN):
            provider = builtin.provider
            if provider is not None and not provider.is_in(session):
                self._binding.join(provider, session, provider.offered)
        if not session.is_local:
            self._binding.gather(session)
        r.tools.settle(session)
        r.out.send(
            connection.id,
            SessionOpenedMessage(
                session.id, r.tools.offer(session), session.revision, r.tools.agents(session)
            ),
        )
        r.announce_sessions()
        r.budgets.deliver(session)

    def _new_session(self, connection: Connection, wanted: HostSession) -> OpenSession:
        return OpenSession(
            view=Session(
                id=wanted.id,
                label=wanted.label,
                cwd=wanted.cwd,
                state="idle",
                host=connection.name,
                providers=[],
                opened_at=self._r.out.timestamp(),
                foreground=wanted.foreground,
                mode=wanted.mode,
                model=wanted.model,
                workspace=wanted.workspace,
            ),
            host=connection.id,
            is_local=connection.host_kind == LOCAL_KIND,
            agents={agent.name: agent.tools for agent in wanted.agents or []},
            reserved_tools=frozenset(wanted.reserved_tools or ()),
            last_activity=self._r.out.now,
        )

    def session_update(self, connection: Connection, message: SessionUpdate) -> None:
        """Something about a session changed."""
        session = self._own(connection, message.session_id)
        if message.mode is not None:
            self._r.modes.changed_by_host(session, message.mode, connection.name)
        changes = {
            name: value
            for name in ("label", "cwd", "foreground", "model")
            if (value := getattr(message, name)) is not None
        }
        if changes:
            self._r.sessions.update(session, **changes)

    def session_close(self, connection: Connection, message: SessionClose) -> None:
        """A session ended."""
        session = self._own(connection, message.session_id)
        self._binding.close_session(session, message.reason or "closed by its host")

    def unattached(self, connection: Connection, message: SessionsUnattached) -> None:
        """Sessions that the host sees but cannot reach."""
        self._r.out.emit(UnattachedFound(connection.name, message.unattached))

    def gone(self, connection: Connection) -> None:
        """A host disconnected: its sessions close."""
        r = self._r
        mine = [one for one in r.sessions.open.values() if one.host == connection.id]
        for session in mine:
            self._binding.close_session(session, "host disconnected")
        if connection.name in r.out.state.unattached:
            r.out.emit(UnattachedFound(connection.name, []))

    def _own(self, connection: Connection, session_id: str) -> OpenSession:
        session = self._r.sessions.get(session_id)
        if session is None or session.host != connection.id:
            raise WireError(
                ErrorCode.INVALID_SESSION,
                f"Session {session_id} does not exist",
                session_id=session_id,
            )
        return session

    # Events

    def session_event(self, connection: Connection, message: SessionEvent) -> None:
        """Something happened in a session."""
        r = self._r
        session = self._own(connection, message.session_id)
        require_object(message.data, "data")
        event = message.event
        child = _read(message.data, _Subagent) if event == "subagent.started" else None
        if event in ("tool.execution_start", "tool.execution_complete"):
            self._execution(session, connection, message)
        elif event == "session.context":
            use = _read(message.data, ContextUse)
            r.sessions.update(session, context=use)
        else:
            data, data_cut = r.out.recordable(message.data)
            r.out.emit(SessionHappened(session.id, event, data, data_cut))
        session.last_activity = r.out.now
        if session.subscribers:
            self._forward(session, message)
        if event == "session.idle":
            self._idle(session)
        elif event in ("session.busy", "assistant.turn_start"):
            r.budgets.turn_began(session)
            r.sessions.update(session, state="busy")
        elif event == "user.message":
            r.budgets.person_spoke(session)
            r.budgets.deliver(session)
        elif child is not None:
            r.sessions.add_child(session, child.remote_session_id, child.agent_name)

    def _forward(self, session: OpenSession, message: SessionEvent) -> None:
        """Hand an event on to the providers that subscribed to it."""
        subscribers = session.subscribers.get(message.event)
        if not subscribers:
            return
        data = message.data
        if message.event == "tool.execution_complete":
            what = _read(data, _Execution)
            known = self._r.out.state.recent_calls.get(what.tool_call_id or "")
            data = raw(
                {
                    "tool": what.tool,
                    "args": known.args if known is not None and known.args else what.args,
                    "result": what.result or Raw(b"{}"),
                    "durationMs": what.duration_ms,
                }
            )
        for provider in subscribers:
            self._r.out.send(provider.connection.id, SessionEvent(session.id, message.event, data))

    def _idle(self, session: OpenSession) -> None:
        r = self._r
        session.awaits_turn = False
        session.turn_of = None
        r.sessions.update(session, state="idle")
        for provider in session.providers.values():
            if not provider.connection.is_builtin:
                r.out.send(provider.connection.id, SessionLifecycle(session.id, "idle"))
        r.budgets.deliver(session)

    def _execution(
        self, session: OpenSession, connection: Connection, message: SessionEvent
    ) -> None:
        """The session's own tool calls stand beside the providers'."""
        out = self._r.out
        what = _read(message.data, _Execution)
        id_ = what.tool_call_id or f"{session.id}-{what.tool}"
        args, args_cut = out.recordable(what.args)
        if message.event == "tool.execution_start":
            call_id, _ = session.own_calls.get(id_, (id_, 0.0))
            if id_ not in session.own_calls and id_ in out.state.calls:
                call_id = self._r.mint.id("call")
            session.own_calls[id_] = (call_id, out.now)
            call = Call(
                id=call_id,
                session_id=session.id,
                provider=connection.name,
                tool=what.tool,
                state="running",
                started_at=out.timestamp(),
                caller=connection.name,
                args=args,
                args_cut=args_cut,
            )
            out.emit(CallStarted(session.id, call))
            return
        given = optional_object(what.result, "data.result")
        result = _read(given, _ExecutionResult) if given is not None else _ExecutionResult()
        call_id, started = session.own_calls.pop(id_, ("", 0.0))
        known = out.state.calls.get(call_id)
        if known is None:
            return
        is_ok = result.type == "success"
        data, data_cut = out.recordable(result.output) if result.output else (None, None)
        out.emit(
            CallFinished(
                session.id,
                replace(
                    known,
                    state="done" if is_ok else "failed",
                    args=None,
                    args_cut=None,
                    data=data,
                    data_cut=data_cut,
                    error=None if is_ok else "the tool failed",
                    error_code=None if is_ok else CallError.INTERNAL,
                    duration=what.duration_ms or round((out.now - started) * 1000, 3),
                ),
            )
        )

    # Modes and approvals

    def mode_result(self, connection: Connection, message: ModeResult) -> None:  # noqa: ARG002
        """The host set a mode, or could not."""
        error = None if message.ok else message.error or "the session refused the mode"
        self._r.modes.result(message.id, error)

    def approval_request(self, connection: Connection, message: ApprovalRequest) -> None:
        """Something in a session waits for the person."""
        session = resolved(self._r.sessions, message.session_id)
        require_object(message.detail, "detail")
        if message.id in connection.requests:
            raise WireError(ErrorCode.INVALID_JSON, f"id: {message.id} waits already")
        timeout = limits.HOST_APPROVAL_TIMEOUT
        if message.timeout is not None:
            if not (isfinite(message.timeout) and message.timeout > 0):
                raise WireError(
                    ErrorCode.INVALID_JSON, "timeout: must be a number of milliseconds above 0"
                )
            timeout = min(timeout, message.timeout / 1000)
        waiting = self._r.approvals.request(
            message.kind,
            connection,
            message.id,
            _read(message.detail, dict[str, Any]),
            timeout,
            session_id=session.id,
        )
        connection.requests[message.id] = waiting.view.id

    def approval_withdraw(self, connection: Connection, message: ApprovalWithdraw) -> None:
        """It was answered elsewhere; of a request that is settled, this is ignored."""
        approval_id = connection.requests.pop(message.id, None)
        waiting = self._r.approvals.waiting.get(approval_id or "")
        if waiting is not None:
            self._r.approvals.withdraw(waiting, by=message.decided_by)

    def answer(
        self,
        connection: Connection,
        request_id: str,
        decision: str,
        answer: Any = None,
        reason: str | None = None,
    ) -> None:
        """Tell a host what became of its request."""
        connection.requests.pop(request_id, None)
        if connection.is_open:
            self._r.out.send(
                connection.id,
                ApprovalAnswer(request_id, decision, answer, reason),  # type: ignore[arg-type]
            )


def _check_version(version: float) -> None:
    if version != limits.PROTOCOL_VERSION:
        raise WireError(
            ErrorCode.UNSUPPORTED_VERSION,
            f"protocolVersion {version:g} is not supported; "
            f"this gateway speaks {limits.PROTOCOL_VERSION}",
        )


def _read(raw: Raw, kind: Any) -> Any:
    """Decode a small object that a host sent. Raises `WireError` (`INVALID_JSON`)."""
    try:
        return msgspec.json.decode(raw, type=kind)
    except (msgspec.DecodeError, RecursionError) as error:
        raise WireError(ErrorCode.INVALID_JSON, f"data: {error}") from None
