"""The sessions that are open, their order, aliases, children and subagents, and the list of them
that clients get.

Provider Interface v2 "Multi-session model"; `tapui/wire/README.md`. A subagent has a child session
of its own; what it asks for is asked of the parent.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

from msgspec.structs import replace

from tapui.core.context import CoreContext, CorePart
from tapui.core.conversations.connections import Connections
from tapui.core.deadlines import Deadline, Due
from tapui.core.model import Connection, OpenSession, Standing
from tapui.core.traces import Traces
from tapui.core.trust.grants import Grant
from tapui.wire import limits
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.events import SessionUpdated
from tapui.wire.message import ActiveSession
from tapui.wire.provider import SessionsUpdated
from tapui.wire.subjects import ContextUse, SpanStatus, Subagent


class UnknownSessionError(Exception):
    """No session answers to an id; the text is the document's."""


class OpenSessions:
    """The registry."""

    def __init__(self, context: CoreContext) -> None:
        self._out = context.out
        self.open: dict[str, OpenSession] = {}
        self.aliases: dict[str, str] = {}
        self._child_parent: dict[str, str] = {}
        self.changed: Callable[[], None] = lambda: None
        """Called when a session came, went, or is gone for good."""

    def get(self, session_id: str) -> OpenSession | None:
        """Return the open session that answers to an id, a former id included."""
        session = self.open.get(session_id)
        if session is None and session_id in self.aliases:
            session = self.open.get(self.aliases[session_id])
        return session

    def required(self, session_id: str) -> OpenSession:
        """Return what `get` finds. Raises `WireError` (`INVALID_SESSION`)."""
        session = self.get(session_id)
        if session is None:
            raise no_session(session_id)
        return session

    def resolve(self, session_id: str) -> tuple[OpenSession, str | None]:
        """Return the session and, when the id is a child's, the child's agent name.

        Raises `UnknownSessionError` with the words of the subagent document.
        """
        session = self.get(session_id)
        if session is not None:
            return session, None
        parent_id = self._child_parent.get(session_id)
        if parent_id is None:
            raise UnknownSessionError(f"unknown session {session_id}")
        parent = self.get(parent_id)
        if parent is None:
            raise UnknownSessionError(
                f"parent session {parent_id} for child {session_id} not found"
            )
        return parent, parent.children.get(session_id, "")

    def in_order(self) -> list[OpenSession]:
        """Return the open sessions as clients see them: foreground first, `local` last.

        Those that are apart come after all others: clients take the first.
        """
        return sorted(
            self.open.values(),
            key=lambda session: (
                session.is_apart,
                session.is_local,
                not session.view.foreground,
                -session.last_activity,
            ),
        )

    def foreground(self) -> OpenSession | None:
        """Return the first session in order, or None; one that is apart never is."""
        return next((one for one in self.in_order() if not one.is_apart), None)

    def visible(self, grant: Grant | None) -> list[ActiveSession]:
        """Return what a client may bind, in order."""
        if grant is None:
            return []
        return [
            ActiveSession(
                id=session.id,
                label=session.view.label,
                cwd=session.view.cwd,
                foreground=session.view.foreground,
                mode=session.view.mode,
                model=session.view.model,
                state="busy" if session.is_busy else "idle",
            )
            for session in self.in_order()
            if grant.covers(session.id)
        ]

    def add(self, session: OpenSession) -> None:
        """Register a session; a foreground one takes the foreground from its host's others."""
        self.open[session.id] = session
        if session.view.foreground:
            self._take_foreground(session)
        self.changed()

    def update(self, session: OpenSession, **changes: object) -> None:
        """Change the session's view and say so, unless nothing changed."""
        view = replace(session.view, **changes)
        if view == session.view:
            return
        session.view = view
        self._out.emit(SessionUpdated(session.id, view))
        if changes.get("foreground"):
            self._take_foreground(session)

    def refresh_providers(self, session: OpenSession) -> None:
        """Bring the view's list of providers up to date; the built-in one is not listed."""
        if session.is_open:
            listed = [
                id_
                for id_, provider in session.providers.items()
                if not provider.connection.is_builtin
            ]
            self.update(session, providers=listed)

    def _take_foreground(self, session: OpenSession) -> None:
        for other in self.open.values():
            if other is not session and other.host == session.host and other.view.foreground:
                other.view = replace(other.view, foreground=False)
                self._out.emit(SessionUpdated(other.id, other.view))

    def remove(self, session: OpenSession) -> None:
        """Take a session out of the registry; its children stay known until `forget`."""
        self.open.pop(session.id, None)
        self.changed()

    def forget(self, session: OpenSession) -> None:
        """Drop the children and aliases of a session that is gone for good."""
        for child in session.children:
            if self._child_parent.get(child) == session.id:
                del self._child_parent[child]
        for alias in [alias for alias, target in self.aliases.items() if target == session.id]:
            del self.aliases[alias]
        self.changed()

    def replace(self, former: OpenSession, current: OpenSession) -> None:
        """Let `current` answer to the ids of `former` as well."""
        for alias, target in self.aliases.items():
            if target == former.id:
                self.aliases[alias] = current.id
        self.aliases[former.id] = current.id
        of_current = [alias for alias, target in self.aliases.items() if target == current.id]
        for alias in of_current[: -limits.MAX_FORMER_IDS]:
            del self.aliases[alias]
        current.children.update(former.children)
        for child in former.children:
            self._child_parent[child] = current.id
        self.update(current, subagents=[*former.view.subagents, *current.view.subagents])

    def add_child(self, session: OpenSession, child_id: str, agent: str) -> None:
        """Remember a subagent's session; it outlives the subagent, and goes with its parent."""
        if child_id not in session.children and len(session.children) >= limits.MAX_CHILDREN:
            oldest = next(iter(session.children))
            del session.children[oldest]
            if self._child_parent.get(oldest) == session.id:
                del self._child_parent[oldest]
        session.children[child_id] = agent
        self._child_parent[child_id] = session.id


def no_session(session_id: str) -> WireError:
    """Return the refusal of a message about a session that is not there for its sender."""
    return WireError(
        ErrorCode.INVALID_SESSION, f"Session {session_id} does not exist", session_id=session_id
    )


def resolved(sessions: OpenSessions, session_id: str) -> OpenSession:
    """Return the session of an id, a child's included. Raises `WireError` (`INVALID_SESSION`)."""
    try:
        return sessions.resolve(session_id)[0]
    except UnknownSessionError as error:
        raise WireError(ErrorCode.INVALID_SESSION, str(error), session_id=session_id) from None


def own_or_child(sessions: OpenSessions, host: Connection, session_id: str) -> OpenSession:
    """Return the session of this host that an id, a child's included, is of. Raises `WireError`."""
    session = resolved(sessions, session_id)
    if session.host != host.id:
        raise no_session(session_id)
    return session


def own_session(sessions: OpenSessions, host: Connection, session_id: str) -> OpenSession:
    """Return a session of this host. Raises `WireError` (`INVALID_SESSION`)."""
    session = sessions.get(session_id)
    if session is None or session.host != host.id:
        raise no_session(session_id)
    return session


_ERROR = 300
"""Characters that are kept of why a subagent failed."""


@dataclass(eq=False, repr=False)
class Subagents(CorePart):
    """Follows the subagents of all sessions."""

    sessions: OpenSessions
    traces: Traces

    def started(
        self,
        session: OpenSession,
        child_id: str,
        agent: str,
        tool_call_id: str | None,
        display_name: str | None = None,
    ) -> None:
        """Remember a subagent's child session, and show the subagent as running."""
        self.sessions.add_child(session, child_id, agent)
        shown = [one for one in session.view.subagents if one.id != child_id]
        if len(shown) >= limits.MAX_SUBAGENTS:
            oldest = next((one for one in shown if one.state != "running"), shown[0])
            shown.remove(oldest)
        new = Subagent(
            id=child_id,
            agent=agent,
            state="running",
            started_at=self._clock.timestamp(),
            tool_call_id=tool_call_id,
            display_name=None if display_name is None else display_name[: limits.MAX_NAME],
        )
        self.sessions.update(session, subagents=[*shown, new])
        self.traces.agent_began(session, child_id, agent, tool_call_id)

    def ended(
        self,
        session: OpenSession,
        tool_call_id: str,
        state: Literal["completed", "failed"],
        error: str | None = None,
    ) -> None:
        """Show the subagent that a call launched as ended; its child session stays known.

        One that was stopped before stays so.
        """
        shown = [
            replace(one, state=state, error=None if error is None else error[:_ERROR])
            if one.tool_call_id == tool_call_id and one.state == "running"
            else one
            for one in session.view.subagents
        ]
        self.sessions.update(session, subagents=shown)
        status: SpanStatus = "ok" if state == "completed" else "error"
        self.traces.agents_ended(session, status, tool_call_id=tool_call_id)

    def stopped(self, session: OpenSession, child_id: str) -> None:
        """Show a subagent as failed: its turn was stopped."""
        shown = [
            replace(one, state="failed") if one.id == child_id and one.state == "running" else one
            for one in session.view.subagents
        ]
        self.sessions.update(session, subagents=shown)
        self.traces.agents_ended(session, "cancelled", child_id=child_id)

    def context_used(self, session: OpenSession, child_id: str, use: ContextUse) -> None:
        """Show how full a subagent's context is."""
        shown = [
            replace(one, context=use) if one.id == child_id else one
            for one in session.view.subagents
        ]
        self.sessions.update(session, subagents=shown)

    def turn_ended(self, session: OpenSession, state: Literal["completed", "failed"]) -> None:
        """Show as ended what runs: the turn is over, and nothing runs on its own."""
        self.sessions.update(session, subagents=all_ended(session.view.subagents, state))
        self.traces.agents_ended(session, "ok" if state == "completed" else "cancelled")


def all_ended(
    subagents: Sequence[Subagent], state: Literal["completed", "failed"]
) -> list[Subagent]:
    """Return the same subagents, with `state` for those that were running."""
    return [replace(one, state=state) if one.state == "running" else one for one in subagents]


def may_call(session: OpenSession, agent: str | None, tool: str) -> bool:
    """Return whether an agent may call a tool; None is the session itself.

    `agent` is a name. An agent without an allowlist may call everything. One that the session
    does not know may do so only while no agent of the session has an allowlist.
    """
    if agent is None:
        return True
    if agent in session.agents:
        allowed = session.agents[agent]
        return allowed is None or tool in allowed
    if agent in session.children.values():
        return True
    return all(allowed is None for allowed in session.agents.values())


@dataclass(eq=False, repr=False)
class Announcements(CorePart):
    """Sends `sessions.updated`: at once when a session comes or goes, soon when one changed."""

    connections: Connections
    sessions: OpenSessions

    def __post_init__(self) -> None:
        super().__post_init__()
        self.pending: Deadline | None = None
        self._pending_since = 0.0

    def soon(self) -> None:
        """Send the sessions after a quiet period: something about one has changed."""
        now = self._clock.now
        if self.pending is None:
            self._pending_since = now
        else:
            self._deadlines.cancel(self.pending)
        when = min(now + limits.SESSIONS_QUIET, self._pending_since + limits.SESSIONS_QUIET_MAX)
        self.pending = self._deadlines.add(when, Due.SESSIONS_CHANGED, None)

    def send(self) -> None:
        """Send every provider the sessions that its token covers."""
        self._deadlines.cancel(self.pending)
        self.pending = None
        for connection in self.connections.of_standing(
            Standing.AWAIT_HELLO, Standing.BOUND, Standing.UNBOUND, Standing.BUILTIN
        ):
            self.send_to(connection)

    def send_to(self, connection: Connection) -> None:
        """Send one connection its list: what it may bind has changed."""
        sessions = self.sessions.visible(connection.grant_as(connection.may_bind_all))
        self._out.send(connection.id, SessionsUpdated(sessions))
