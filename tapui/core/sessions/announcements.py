"""Announcements: what every client is told when the sessions change."""

from tapui.core.conversations.connections import Connections
from tapui.core.model import Connection, Standing
from tapui.core.output import Output
from tapui.core.sessions.sessions import OpenSessions
from tapui.wire.provider import SessionsUpdated


class Announcements:
    """Sends `sessions.updated`."""

    def __init__(self, *, out: Output, connections: Connections, sessions: OpenSessions) -> None:
        self._out = out
        self._connections = connections
        self._sessions = sessions

    def send(self) -> None:
        """Send every provider the sessions that its token covers."""
        for connection in self._connections.of_standing(
            Standing.AWAIT_HELLO, Standing.BOUND, Standing.UNBOUND, Standing.BUILTIN
        ):
            self.send_to(connection)

    def send_to(self, connection: Connection) -> None:
        """Send one connection its list: what it may bind has changed."""
        sessions = self._sessions.visible(connection.grant)
        self._out.send(connection.id, SessionsUpdated(sessions))
