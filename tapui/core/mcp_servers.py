"""MCP servers: the shell runs them, for the sessions that it gets, and reports the status of
each."""

from dataclasses import dataclass

from tapui.core.context import CorePart
from tapui.core.effects import McpSession, McpSessionsChanged
from tapui.core.model import OpenSession
from tapui.core.sessions.sessions import OpenSessions
from tapui.core.trust.grants import Grant, Trustees
from tapui.secret import Secret
from tapui.wire import limits
from tapui.wire.events import McpServerChanged, McpServerGone
from tapui.wire.mcp_servers import McpServer


@dataclass(eq=False, repr=False)
class McpServers(CorePart):
    """Which sessions have MCP servers, and the status and tokens of these.

    Nothing is asked of the shell until it can run servers (`begin`).
    """

    sessions: OpenSessions
    trustees: Trustees

    def __post_init__(self) -> None:
        super().__post_init__()
        self._is_on = False
        self._told: tuple[McpSession, ...] = ()

    # Sessions

    def sessions_changed(self) -> None:
        """A session came, went or changed: the shell gets all that have MCP servers.

        tapui's own session has them while it is the only one, so that they can be tried without
        Copilot; the session of an MCP client, which has servers of its own, has none.
        """
        if not self._is_on:
            return
        sessions = [one for one in self.sessions.in_order() if not one.is_apart]
        main = [one for one in sessions if one.is_main]
        now = tuple(_described(one) for one in main or sessions)
        if now != self._told:
            self._told = now
            self._out.effects.append(McpSessionsChanged(now))

    def stop(self) -> None:
        """The gateway ends: the shell hears of nothing more."""
        self._is_on = False

    # What the shell tells

    def begin(self) -> None:
        """The shell can run servers from now on."""
        self._is_on = True
        self.sessions_changed()

    def token(self, session_id: str) -> Secret | None:
        """Make a token with which a server enters one session; None when that has ended.

        It is good for the session that takes the other's place, and is revoked with it.
        """
        session = self.sessions.get(session_id)
        if session is None or not session.is_open:
            return None
        token = Secret(self._ids.token("ptk-"))
        self.trustees.add(Grant("project", token, {session.id}, is_bridge=True))
        return token

    def revoke(self, token: Secret) -> None:
        """Take a token out of force: its server has left the session."""
        self.trustees.revoke(token)

    def changed(self, server: McpServer) -> None:
        """A server is there, or something of it changed."""
        known = self._out.state.mcp_servers
        if known.get(server.id) == server:
            return
        if server.id in known or len(known) < limits.MAX_MCP_SERVERS:
            self._out.emit(McpServerChanged(server=server))

    def gone(self, server_id: str, reason: str) -> None:
        """A server is not there any more."""
        known = self._out.state.mcp_servers.get(server_id)
        if known is not None:
            self._out.emit(McpServerGone(server_id=known.id, name=known.name, reason=reason))


def _described(session: OpenSession) -> McpSession:
    return McpSession(
        session.id, session.view.cwd, session.own_mcp_servers, session.view.unattended
    )
