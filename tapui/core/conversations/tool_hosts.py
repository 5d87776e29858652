"""Tool hosts: who shows the token for tools alone, an MCP client's door for one.

Each has one session of its own, which is apart from the others: it lists the tools that are offered
there, and calls them. While its program has tapui otherwise, because a session lives in a process
above it, its session stays closed: the same agent would have the same tools twice. A session that
tapui only watches, whose agent has none of the tools, closes none.
"""

from dataclasses import dataclass
from functools import partial

from msgspec.structs import replace

from tapui.core.context import CorePart
from tapui.core.conversations.connections import Connections
from tapui.core.conversations.host import HostConversation
from tapui.core.conversations.legal import check_version
from tapui.core.deadlines import Deadline, Due
from tapui.core.effects import ConnectionId, Identified, Identify, NoteAgent
from tapui.core.model import Connection, OpenSession, Standing
from tapui.core.sessions.ending import Endings
from tapui.core.sessions.sessions import OpenSessions, no_session
from tapui.core.trust.grants import Trustees
from tapui.secret import Secret
from tapui.wire import limits
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.host import (
    HostAck,
    HostHello,
    HostSession,
    HostSessionClosed,
    SessionClose,
    SessionOpen,
    SessionUpdate,
    ToolsChanged,
)

KIND = "mcp"
"""The kind and the name of every tool host; the name that it gives itself is not used."""
ID_PREFIX = "mcp-"
"""How the ids of their sessions begin, so that none takes another's."""


@dataclass(slots=True, eq=False)
class ToolHost:
    """A tool host, and the session that it wants."""

    connection: Connection
    wanted: HostSession | None = None
    line: frozenset[int] | None = None
    """The process behind it and those above; None until that is known."""
    session: OpenSession | None = None


@dataclass(eq=False, repr=False)
class ToolHosts(CorePart):
    """Handlers of what tool hosts send. Each raises `WireError` to refuse."""

    connections: Connections
    sessions: OpenSessions
    endings: Endings
    trustees: Trustees
    host: HostConversation

    def __post_init__(self) -> None:
        super().__post_init__()
        self._hosts: dict[ConnectionId, ToolHost] = {}
        self.pending: Deadline | None = None
        """The look that comes next, because sessions came or went."""
        self._is_stopping = False
        self._openings: list[float] = []
        """When sessions were wanted within the last minute."""
        self.sessions.changed = self._look_soon

    # The token

    def token_read(self, token: Secret | None) -> None:
        """Put a token for tools in force, or none: who has shown the former one is cut off."""
        revoked = self.trustees.replace_tools(token)
        if revoked is None:
            return
        for connection in list(self.connections.by_number.values()):
            if connection.grant is revoked:
                error = WireError(ErrorCode.AUTH_FAILED, "the token was revoked")
                self.connections.refuse(connection, error)

    # Hello and session

    def hello(self, connection: Connection, message: HostHello) -> None:
        """Register a tool host; any other host is for `host`."""
        if connection.grant is None or not connection.grant.is_for_tools:
            self.host.hello(connection, message)
            return
        check_version(message.protocol_version)
        connection.standing = Standing.TOOL_HOST
        connection.name = connection.host_kind = KIND
        self._hosts[connection.id] = ToolHost(connection)
        self._out.send(connection.id, HostAck(self._ids.id("h"), limits.PROTOCOL_VERSION))

    def session_open(self, connection: Connection, message: SessionOpen) -> None:
        """It wants its session, which opens once it is known whose process it is."""
        host, wanted = self._hosts[connection.id], message.session
        if wanted != HostSession(wanted.id, wanted.label, wanted.cwd):
            text = "a tool host's session has an id, a label and a folder alone"
            raise WireError(ErrorCode.UNAUTHORIZED, text, session_id=wanted.id)
        _check_label(wanted.label)
        if len(wanted.cwd) > limits.MAX_PATH:
            text = f"session.cwd: at most {limits.MAX_PATH} characters"
            raise WireError(ErrorCode.INVALID_JSON, text, session_id=wanted.id)
        if not wanted.id.startswith(ID_PREFIX):
            text = f"session.id: that of a tool host begins with {ID_PREFIX}"
            raise WireError(ErrorCode.UNAUTHORIZED, text, session_id=wanted.id)
        if host.wanted is not None:
            text = f"this connection has session {host.wanted.id} already"
            raise WireError(ErrorCode.INVALID_SESSION, text, session_id=wanted.id)
        if wanted.id in self.sessions.open:
            text = f"Session {wanted.id} is open already"
            raise WireError(ErrorCode.INVALID_SESSION, text, session_id=wanted.id)
        self._count_opening(wanted.id)
        host.wanted = wanted
        ticket = self._tickets.keep(partial(self._identified, connection.id))
        self._out.effects.append(Identify(ticket, connection.id))

    def _count_opening(self, session_id: str) -> None:
        now = self._clock.now
        self._openings = [when for when in self._openings if when > now - 60.0]
        most = limits.TOOL_SESSIONS_PER_MINUTE
        if len(self._openings) >= most:
            text = f"more than {most} sessions of tool hosts a minute"
            raise WireError(ErrorCode.RATE_LIMITED, text, session_id=session_id)
        self._openings.append(now)

    def _identified(self, number: ConnectionId, found: Identified) -> None:
        """It is known which process is behind a tool host, or that it cannot be told."""
        host = self._hosts.get(number)
        if host is not None:
            line = [one.pid for one in found.sight.line] if found.sight is not None else []
            host.line = frozenset(line)
            name = f"MCP client '{host.wanted.label if host.wanted is not None else ''}'"
            for pid in line[:2]:  # the door, and the client that has started it
                if pid > 1:
                    self._out.effects.append(NoteAgent(name, pid))
            self._settle(host)

    def _look_soon(self) -> None:
        """A session came or went, or got its tools: see whose program has tapui otherwise, once
        this is done."""
        if self._hosts and self.pending is None:
            self.pending = self._deadlines.add(self._clock.now, Due.TOOL_SESSIONS, None)

    def look(self) -> None:
        """Open and close the sessions of tool hosts as those of other hosts came and went."""
        self.pending = None
        for host in list(self._hosts.values()):
            self._settle(host)

    def _settle(self, host: ToolHost) -> None:
        wanted, line, session = host.wanted, host.line, host.session
        if wanted is None or line is None or self._is_stopping:
            return
        others = [
            one for one in self.sessions.open.values() if one.pid is not None and one.pid in line
        ]
        if session is not None and session.is_open:
            if any(one.has_tools for one in others):
                # Its providers have their time to leave; the tools are gone at once.
                gone = ToolsChanged(session.id, [], session.revision + 1)
                self._out.send(host.connection.id, gone)
                self.endings.close(session, "its program has tapui otherwise")
        elif (session is None or session.is_gone) and all(one.has_tools is False for one in others):
            # A session that has just opened (None) gets its tools at once, as a rule.
            self._open(host, wanted)

    def _open(self, host: ToolHost, wanted: HostSession) -> None:
        try:
            self.host.session_open(host.connection, SessionOpen(wanted))
            host.session = self.sessions.open[wanted.id]
        except WireError as error:
            host.wanted = None
            self.connections.refuse(host.connection, error)

    def session_update(self, connection: Connection, message: SessionUpdate) -> None:
        """Its label changes, and nothing else."""
        host = self._own(connection, message.session_id)
        if message.label is None or message != SessionUpdate(message.session_id, message.label):
            text = "a tool host changes the label of its session alone"
            raise WireError(ErrorCode.UNAUTHORIZED, text, session_id=message.session_id)
        _check_label(message.label)
        assert host.wanted is not None
        host.wanted = replace(host.wanted, label=message.label)
        if host.session is not None and host.session.is_open:
            self.host.session_update(connection, message)

    def session_close(self, connection: Connection, message: SessionClose) -> None:
        """It gives its session up, and may open another."""
        host = self._own(connection, message.session_id)
        if message.replaced_by is not None:
            text = "a tool host's session has no successor"
            raise WireError(ErrorCode.UNAUTHORIZED, text, session_id=message.session_id)
        session, host.wanted, host.session = host.session, None, None
        if session is not None and session.is_open:
            self.endings.close(session, message.reason or "closed by its host")
        elif session is None or session.is_gone:
            self._out.send(connection.id, HostSessionClosed(message.session_id))

    def _own(self, connection: Connection, session_id: str) -> ToolHost:
        host = self._hosts[connection.id]
        if host.wanted is None or host.wanted.id != session_id:
            raise no_session(session_id)
        return host

    # The end

    def gone(self, connection: Connection) -> None:
        """A tool host is gone: its session closes."""
        host = self._hosts.pop(connection.id, None)
        if host is not None and host.session is not None:
            self.endings.close(host.session, "its client is gone")

    def stop(self) -> None:
        """The gateway is ending: nothing is opened again."""
        self._is_stopping = True


def _check_label(label: str) -> None:
    """Check a label, which goes to all clients. Raises `WireError` (`INVALID_JSON`)."""
    if len(label) > limits.MAX_ID:
        raise WireError(ErrorCode.INVALID_JSON, f"label: at most {limits.MAX_ID} characters")
