"""The host's conversation: sessions and their events, modes, approval requests
(`tapui/wire/README.md`).
"""

from dataclasses import dataclass
from math import isfinite
from typing import Annotated, Any, Literal

from msgspec import Meta, Struct
from msgspec.structs import replace

from tapui.core.approvals.approvals import Approvals, Decided, WaitingApproval, said_by
from tapui.core.approvals.modes import Modes
from tapui.core.approvals.policies import Policies
from tapui.core.approvals.spending import Spending
from tapui.core.calls.native import NativeCalls
from tapui.core.context import CorePart
from tapui.core.conversations.connections import Connections
from tapui.core.conversations.legal import check_version
from tapui.core.conversations.reading import History
from tapui.core.effects import NoteAgent, SendIfIdle
from tapui.core.emitters.folders import EmitterFolders
from tapui.core.goals.objectives import Objectives
from tapui.core.hooks.gates import SHELL_TOOLS
from tapui.core.mcp_servers import McpServers
from tapui.core.model import Connection, OpenSession, Standing
from tapui.core.providers.binding import Binding
from tapui.core.providers.identity import Providers, check_unreserved
from tapui.core.providers.tools import ToolTable
from tapui.core.runs.runs import Runs
from tapui.core.sessions.ending import Endings
from tapui.core.sessions.membership import Membership
from tapui.core.sessions.sessions import (
    Announcements,
    OpenSessions,
    Subagents,
    own_or_child,
    own_session,
)
from tapui.core.sessions.starts import Starts
from tapui.core.streams.injects import Injects
from tapui.core.streams.streams import Streams
from tapui.core.traces import Traces
from tapui.core.trust.pairing import Pairings
from tapui.projection.summary import one_line
from tapui.wire import limits
from tapui.wire.bounds import Id
from tapui.wire.codec import decode_as, given_object, raw
from tapui.wire.errors import CallError, ErrorCode, WireError
from tapui.wire.events import (
    HostLooks,
    SessionHappened,
    SessionOpened,
    SessionReplaced,
    UnattachedFound,
)
from tapui.wire.goals import Objective
from tapui.wire.host import (
    Agent,
    ApprovalAnswer,
    ApprovalRequest,
    ApprovalWithdraw,
    HostAck,
    HostHello,
    HostLooked,
    HostNotice,
    HostSession,
    HostSessionClosed,
    HostSessionOpened,
    ModeResult,
    SessionClose,
    SessionOpen,
    SessionSent,
    SessionsUnattached,
    SessionUpdate,
)
from tapui.wire.message import NowText, SessionEvent
from tapui.wire.provider import SessionLifecycle
from tapui.wire.subjects import (
    ContextUse,
    HostLook,
    LookState,
    ModelWait,
    Quota,
    Session,
    SessionWarning,
    Todo,
    TodoCounts,
)
from tapui.wire.tower import Notice


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


class _ModelFailure(Struct, rename="camel"):
    source: str = ""
    status_code: int | None = None
    error_code: str = ""
    error_type: str = ""
    error_message: str = ""
    agent_id: Id | None = None


class _Todos(Struct):
    todos: Annotated[list[Todo], Meta(max_length=limits.MAX_TODOS)] = []
    counts: TodoCounts | None = None


def _counts(told: _Todos) -> TodoCounts | None:
    """Return the counts of a list that has more than was told of it."""
    counts = told.counts
    if counts is None:
        return None
    if min(counts.done, counts.in_progress, counts.blocked, counts.pending) < 0:
        raise WireError(ErrorCode.INVALID_JSON, "data.counts: below zero")
    return counts if counts.total > len(told.todos) else None


class _Quotas(Struct):
    quotas: Annotated[list[Quota], Meta(max_length=limits.MAX_QUOTAS)] = []


class _Warning(Struct, rename="camel"):
    message: str
    warning_type: str = ""
    agent_id: Id | None = None


_READ: dict[str, type[Struct]] = {
    "model.call_failure": _ModelFailure,
    "session.warning": _Warning,
    "subagent.started": _SubagentStarted,
    "subagent.completed": _SubagentEnded,
    "subagent.failed": _SubagentEnded,
    "abort": _Abort,
}
"""Events whose data is checked before they are recorded."""
_ANSWERED_BY_MODEL = frozenset(
    {"abort", "assistant.message", "assistant.turn_end", "assistant.usage", "session.error",
     "session.idle", "tool.execution_start", "user.message"}
)  # fmt: skip
"""Events of a session's own agent with which it waits for its model no longer."""
_MOST_FAILURES = 1_000
_WARNING_LENGTH = 1_000


@dataclass(eq=False, repr=False)
class SessionEvents(CorePart):
    """Handlers of a session's events. Each raises `WireError` to refuse."""

    sessions: OpenSessions
    native: NativeCalls
    subagents: Subagents
    injects: Injects
    spending: Spending
    traces: Traces
    runs: Runs
    objectives: Objectives

    def happened(self, connection: Connection, message: SessionEvent) -> None:
        session = own_session(self.sessions, connection, message.session_id)
        given = given_object(message.data, "data")
        if given is not message.data:
            message = replace(message, data=given)
        event = message.event
        what = decode_as(message.data, _READ[event], "data") if event in _READ else None
        if event in ("tool.execution_start", "tool.execution_complete"):
            message = replace(message, data=self.native.happened(session, connection.name, message))
        elif event == "tool.execution_partial_result":
            self.native.printed(session, message.data)
        elif event == "shell.completed":
            message = replace(message, data=self.native.exited(session, message.data))
            self._record(session, message)
        elif event == "session.context":
            use = decode_as(message.data, ContextUse, "data")
            whose = decode_as(message.data, _Context, "data").agent_id
            if whose is None:
                self.sessions.update(session, context=use)
            else:
                self.subagents.context_used(session, whose, use)
        elif event == "session.todos":
            told = decode_as(message.data, _Todos, "data")
            shown = [replace(one, title=one_line(one.title)) for one in told.todos]
            self.sessions.update(session, todos=shown, todo_counts=_counts(told))
        elif event == "session.quota":
            quotas = decode_as(message.data, _Quotas, "data").quotas
            named = [replace(one, name=one_line(one.name)) for one in quotas]
            self.sessions.update(session, quotas=named)
        elif event == "session.objective":
            self.objectives.told(session, decode_as(message.data, Objective, "data"))
        else:
            self._record(session, message)
        session.last_activity = self._clock.now
        if session.subscribers:
            self._forward(session, message)
        if event == "session.idle":
            self._idle(session)
        elif event in ("session.busy", "assistant.turn_start"):
            self.injects.turn_began(session)
            self.sessions.update(session, state="busy")
        elif event == "user.message":
            self.injects.person_spoke(session)
            self.injects.deliver(session)
        elif isinstance(what, _SubagentStarted):
            self.subagents.started(
                session,
                what.remote_session_id,
                what.agent_name,
                what.tool_call_id,
                what.agent_display_name,
            )
        elif isinstance(what, _SubagentEnded):
            is_ok = event == "subagent.completed"
            error = None if is_ok else what.error
            self.subagents.ended(
                session, what.tool_call_id, "completed" if is_ok else "failed", error
            )
        elif isinstance(what, _Abort):
            self._aborted(session, what.agent_id)
        elif isinstance(what, _ModelFailure):
            self._model_failed(session, what)
        elif isinstance(what, _Warning):
            kind, text = one_line(what.warning_type), what.message[:_WARNING_LENGTH]
            warning = SessionWarning(self._clock.timestamp(), text, kind)
            self.sessions.update(session, warning=warning)
        if event in _ANSWERED_BY_MODEL and session.view.model_wait is not None:
            whose = decode_as(message.data, _Context, "data").agent_id
            if whose is None:
                self.sessions.update(session, model_wait=None)

    def _model_failed(self, session: OpenSession, failure: _ModelFailure) -> None:
        """A request to the model failed; unless it was the last try, it is made again soon."""
        if failure.agent_id is not None or failure.source not in ("", "top_level"):
            return  # a subagent's, or one for an MCP server
        known = session.view.model_wait
        reason = one_line(failure.error_code or failure.error_type or failure.error_message)
        wait = ModelWait(
            since=known.since if known is not None else self._clock.timestamp(),
            times=min(known.times + 1, _MOST_FAILURES) if known is not None else 1,
            status=failure.status_code,
            reason=reason,
        )
        self.sessions.update(session, model_wait=wait)

    def _record(self, session: OpenSession, message: SessionEvent) -> None:
        data, data_cut = self._out.recordable(message.data)
        self._out.emit(SessionHappened(session.id, message.event, data, data_cut))
        self.traces.follow(session)

    def _forward(self, session: OpenSession, message: SessionEvent) -> None:
        """Hand an event on to the providers that subscribed to it."""
        for provider in session.subscribers.get(message.event, ()):
            self._out.send(
                provider.connection.id, SessionEvent(session.id, message.event, message.data)
            )

    def _idle(self, session: OpenSession) -> None:
        self.native.turn_ended(session, "the turn ended before the tool's end was reported")
        self.subagents.turn_ended(session, "completed")
        self.sessions.update(session, state="idle")
        for provider in session.providers.values():
            if not provider.connection.is_builtin:
                self._out.send(provider.connection.id, SessionLifecycle(session.id, "idle"))
        self.injects.no_turn(session)
        self.runs.session_idle(session)

    def _aborted(self, session: OpenSession, agent_id: str | None) -> None:
        """A turn was stopped, or that of one subagent: what it left open will not end."""
        self.native.turn_ended(session, "the turn was aborted", CallError.STOPPED, agent_id)
        if agent_id is None:
            self.subagents.turn_ended(session, "failed")
            self.spending.stopped(session)
        else:
            self.subagents.stopped(session, agent_id)

    def sent(self, connection: Connection, message: SessionSent) -> None:
        """A prompt was handed to its session, or could not be: then the next one may go."""
        session = own_session(self.sessions, connection, message.session_id)
        if message.ok:
            return
        error = message.error or "the host could not send the prompt"
        self._out.emit(SessionHappened(session.id, "prompt.failed", raw({"error": error}), None))
        if session.awaits_turn and not session.is_busy:
            self.injects.no_turn(session, is_refused=True)
            self.runs.session_idle(session)


_SHOWN = (
    "label", "cwd", "foreground", "model", "effort", "can", "cannot", "silent", "asks_there",
    "permissions", "account", "shells",
)  # fmt: skip
"""Fields of an update that a session shows as they are."""

LOCAL_KIND = "local"
_ANSWERED: dict[str, Literal["approved", "denied"]] = {"approve": "approved", "deny": "denied"}


@dataclass(eq=False, repr=False)
class HostConversation(CorePart):
    """Handlers of what hosts send. Each raises `WireError` to refuse."""

    connections: Connections
    sessions: OpenSessions
    announcements: Announcements
    membership: Membership
    endings: Endings
    providers: Providers
    tools: ToolTable
    binding: Binding
    streams: Streams
    injects: Injects
    approvals: Approvals
    modes: Modes
    pairings: Pairings
    policies: Policies
    spending: Spending
    history: History
    starts: Starts
    emitter_folders: EmitterFolders
    mcp_servers: McpServers

    def hello(self, connection: Connection, message: HostHello) -> None:
        check_version(message.protocol_version)
        if connection.grant is None or connection.grant.trust != "internal":
            raise WireError(ErrorCode.UNAUTHORIZED, "host.hello needs the internal token")
        check_unreserved(message.name)
        connection.standing = Standing.HOST
        connection.name = message.name
        connection.host_kind = message.kind
        connection.host_asks_hooks = message.hooks
        connection.host_applies_sections = message.sections
        connection.host_session_looks = message.session_looks
        connection.host_starts, connection.host_launches = message.starts, message.launches
        connection.host_looks = message.looks
        self._out.send(connection.id, HostAck(self._ids.id("h"), limits.PROTOCOL_VERSION))
        if message.looks:
            self._look(connection, "looking")
        self.starts.host_came(connection)

    # Sessions

    def session_open(self, connection: Connection, message: SessionOpen) -> None:
        """A session begins, or takes another's place."""
        wanted = message.session
        if not wanted.id or wanted.id == "all":
            raise WireError(ErrorCode.INVALID_JSON, "session.id: must be a name other than 'all'")
        if wanted.id in self.sessions.open:
            raise WireError(
                ErrorCode.INVALID_SESSION,
                f"Session {wanted.id} is open already",
                session_id=wanted.id,
            )
        former = self.sessions.open.get(wanted.replaces) if wanted.replaces else None
        if former is None and len(self.sessions.open) >= limits.MAX_SESSIONS:
            text = f"{limits.MAX_SESSIONS} sessions are open already"
            raise WireError(ErrorCode.RATE_LIMITED, text, session_id=wanted.id)
        if former is not None and former.host != connection.id:
            raise WireError(
                ErrorCode.INVALID_SESSION,
                f"Session {former.id} is another host's",
                session_id=former.id,
            )
        self.sessions.aliases.pop(wanted.id, None)
        self.providers.session_opened(wanted.id)
        self.streams.drop(wanted.id)  # of an ending session that had the same id
        session = self._new_session(connection, wanted)
        if session.pid is not None:
            name = f"session '{session.view.label or session.id}'"
            self._out.effects.append(NoteAgent(name, session.pid))
        self.starts.opened(session, wanted.start)
        if former is not None:
            self._out.emit(SessionReplaced(session.id, session.view, former.id))
            self.sessions.remove(former)
            self.sessions.add(session)
            self.endings.replace(former, session)
        else:
            self._out.emit(SessionOpened(session.id, session.view))
            self.sessions.add(session)
        for builtin in self.connections.of_standing(Standing.BUILTIN):
            provider = builtin.provider
            if provider is not None and not provider.is_in(session):
                self.membership.join(provider, session, provider.offered)
        if session.is_main:
            self.binding.gather(session)
        self.tools.settle(session)
        self._out.send(
            connection.id,
            HostSessionOpened(
                session.id,
                self.tools.offer(session),
                session.revision,
                self.tools.agents(session),
            ),
        )
        self.announcements.send()
        self.injects.deliver(session)
        self.history.read_back(session)
        self.policies.read_folder(session)
        self.emitter_folders.wants(session)
        self.mcp_servers.sessions_changed()
        self.pairings.open_into_timeline()

    def _new_session(self, connection: Connection, wanted: HostSession) -> OpenSession:
        return OpenSession(
            view=Session(
                id=wanted.id,
                label=wanted.label,
                cwd=wanted.cwd,
                state="idle",
                host=connection.name,
                providers=[],
                opened_at=self._clock.timestamp(),
                foreground=wanted.foreground,
                mode=wanted.mode,
                model=wanted.model,
                effort=wanted.effort,
                workspace=wanted.workspace,
                can=wanted.can or [],
                cannot=wanted.cannot or {},
                headless=wanted.headless,
                program=wanted.program,
                permissions=wanted.permissions,
                unattended=wanted.unattended,
                budget=self.spending.default,
            ),
            host=connection.id,
            is_local=connection.host_kind == LOCAL_KIND,
            is_apart=connection.standing is Standing.TOOL_HOST,
            agents=_allowlists(wanted.agents or []),
            agent_notes=_notes(wanted.agents or []),
            reserved_tools=_names(wanted.reserved_tools),
            shell_tools=SHELL_TOOLS
            if wanted.shell_tools is None
            else frozenset(wanted.shell_tools),
            named_shells=frozenset(wanted.shell_tools or ()),
            pid=None if wanted.pid is None else int(wanted.pid),
            own_mcp_servers=_names(wanted.mcp_servers),
            applies_sections=connection.host_applies_sections
            if wanted.sections is None
            else wanted.sections,
            # None leaves it to `host.hello`, whose sections come with the prompts; False has none.
            asks_sections_apart=wanted.sections is True,
            last_activity=self._clock.now,
            ports=frozenset(wanted.ports or ()),
        )

    def session_update(self, connection: Connection, message: SessionUpdate) -> None:
        session = own_session(self.sessions, connection, message.session_id)
        if message.mode is not None:
            self.modes.changed_by_host(session, message.mode, connection.name)
        changes = {name: value for name in _SHOWN if (value := getattr(message, name)) is not None}
        shown = (session.view.label, session.view.foreground)
        if changes:
            self.sessions.update(session, **changes)
        if message.cwd is not None:
            self.policies.read_folder(session)
            self.emitter_folders.wants(session)
        if message.mcp_servers is not None:
            session.own_mcp_servers = _names(message.mcp_servers)
        if message.cwd is not None or message.mcp_servers is not None:
            self.mcp_servers.sessions_changed()
        if shown != (session.view.label, session.view.foreground):
            self.announcements.soon()
        if message.agents is not None:
            session.agents = _allowlists(message.agents)
            session.agent_notes = _notes(message.agents)
            self.tools.agents_changed(session)
        if message.tools_revision is not None:
            self.tools.taken(session, message.tools_revision)
            self.sessions.changed()

    def session_close(self, connection: Connection, message: SessionClose) -> None:
        """A session ended, or one that opened beside it took its place."""
        session = own_session(self.sessions, connection, message.session_id)
        current = self.sessions.get(message.replaced_by) if message.replaced_by else None
        if current is session:
            return  # that was told already: the former id is the other's alias
        if current is not None and current.host == connection.id:
            self.endings.replace_late(session, current)
            self.announcements.send()
            self.injects.deliver(current)
            self._out.send(connection.id, HostSessionClosed(session.id))
            return
        reason = message.reason or "closed by its host"
        self.endings.close(session, reason, by_itself=message.by_itself)

    def unattached(self, connection: Connection, message: SessionsUnattached) -> None:
        """Sessions that the host sees but cannot reach, and ports of what it sees."""
        if message.ports is not None:
            self.policies.ports_seen(connection.id, message.ports)
        for one in message.unattached:
            name = f"pid {one.pid}"  # of a program without a session
            name = name if one.id == name else f"session {one.id}"
            self._out.effects.append(NoteAgent(name, one.pid))
        self._out.emit(UnattachedFound(connection.name, message.unattached))

    def looked(self, connection: Connection, message: HostLooked) -> None:
        connection.host_looks = False
        error = one_line(message.error or "") or None
        self._look(connection, "looked" if error is None else "failed", error)

    def _look(self, host: Connection, state: LookState, error: str | None = None) -> None:
        look = HostLook(host.name, state, self._clock.timestamp(), error)
        self._out.emit(HostLooks(look))

    def gone(self, connection: Connection) -> None:
        """A host disconnected: its sessions close."""
        self.policies.ports_seen(connection.id, ())
        self.starts.host_gone(connection)
        mine = [one for one in self.sessions.open.values() if one.host == connection.id]
        for session in mine:
            self.endings.close(session, "host disconnected")
        hosts = self.connections.of_standing(Standing.HOST)
        is_last = all(host is connection or host.name != connection.name for host in hosts)
        if is_last and connection.name in self._out.state.unattached:
            self._out.emit(UnattachedFound(connection.name, []))
        known = self._out.state.looks.get(connection.name)
        if known is not None and known.state == "looking" and connection.host_looks:
            self._look(connection, "failed", "it has ended before its first look was over")
        elif known is not None and is_last:
            self._look(connection, "gone")

    def notice(self, connection: Connection, message: HostNotice) -> None:
        text = f"{connection.name}: {message.message}"
        for tower in self.connections.of_standing(Standing.TOWER):
            self._out.send(tower.id, Notice(text, message.level))

    def now_text(self, connection: Connection, message: NowText) -> None:
        """What an agent writes this moment goes to the towers, and nowhere else."""
        session = own_session(self.sessions, connection, message.session_id)
        now = self._clock.now
        if session.told_now is not None and now - session.told_now < limits.NOW_INTERVAL:
            return
        session.told_now = now
        shortened = replace(message, text=one_line(message.text))
        for tower in self.connections.of_standing(Standing.TOWER):
            self._out.effects.append(SendIfIdle(tower.id, shortened))

    # Modes and approvals

    def mode_result(self, connection: Connection, message: ModeResult) -> None:
        """The host set a mode, or could not."""
        error = None if message.ok else message.error or "the session refused the mode"
        self.modes.result(message.id, error, connection.id)

    def approval_request(self, connection: Connection, message: ApprovalRequest) -> None:
        """Something in a session waits for the person."""
        session = own_or_child(self.sessions, connection, message.session_id)
        detail = given_object(message.detail, "detail")
        if message.id in connection.requests:
            raise WireError(ErrorCode.INVALID_JSON, f"id: {message.id} waits already")
        self.approvals.check_room(connection, len(memoryview(detail)))
        timeout = limits.HOST_APPROVAL_TIMEOUT
        if message.timeout is not None:
            if not (isfinite(message.timeout) and message.timeout > 0):
                raise WireError(
                    ErrorCode.INVALID_JSON, "timeout: must be a number of milliseconds above 0"
                )
            timeout = min(timeout, message.timeout / 1000)
        waited = (message.waited or 0) / 1000
        if not (isfinite(waited) and waited >= 0):
            raise WireError(ErrorCode.INVALID_JSON, "waited: must be a number of milliseconds")
        fields = decode_as(detail, dict[str, Any], "detail")
        asked = self.policies.asked(session, fields) if message.kind == "permission" else None
        verdict, rule, judged = None, None, None
        if asked is not None:
            verdict = self.policies.judge(session, asked)
            rule, judged = self.policies.said(session, asked, verdict)
        waiting = self.approvals.request(
            message.kind,
            connection,
            message.id,
            fields,
            timeout,
            on_decided=self._decided,
            on_expired=lambda one: self._answer(one, "expired"),
            on_withdrawn=self._withdrawn,
            session_id=session.id,
            size=len(memoryview(detail)),
            waited=min(waited, limits.MAX_WAITED),
            asked=asked,
            rule=rule,
            judged=judged,
        )
        connection.requests[message.id] = waiting.view.id
        self.policies.answer(waiting, verdict)

    def _withdrawn(self, waiting: WaitingApproval, _: str) -> None:
        waiting.asker.requests.pop(waiting.subject, None)

    def _decided(self, decided: Decided) -> None:
        if decided.is_kept and decided.verdict == "approve":
            self.policies.keep(decided.waiting)
        self._answer(decided.waiting, decided.verdict, decided.answer, decided.reason)

    def _answer(
        self, waiting: WaitingApproval, decision: str, answer: Any = None, reason: str | None = None
    ) -> None:
        """Tell a host what became of its request."""
        host, request_id = waiting.asker, waiting.subject
        host.requests.pop(request_id, None)
        if host.is_open:
            answered = ApprovalAnswer(request_id, decision, answer, reason)  # type: ignore[arg-type]
            self._out.send(host.id, answered)

    def approval_withdraw(self, connection: Connection, message: ApprovalWithdraw) -> None:
        """It was answered elsewhere; of a request that is settled, this is ignored."""
        approval_id = connection.requests.pop(message.id, None)
        waiting = self.approvals.waiting.get(approval_id or "")
        if waiting is not None:
            by = said_by(connection, message.decided_by)
            answered = _ANSWERED[message.decision] if message.decision is not None else None
            self.approvals.withdraw(waiting, by=by, reason=message.reason, answered=answered)


def _names(given: list[str] | None) -> frozenset[str] | None:
    return None if given is None else frozenset(given)


def _notes(agents: list[Agent]) -> dict[str, str]:
    """Return what custom agents are for, by name, as far as their host says."""
    return {one.name: one_line(one.description) for one in agents if one.description}


def _allowlists(agents: list[Agent]) -> dict[str, list[str] | None]:
    return {agent.name: agent.tools for agent in agents}
