"""Announcements: what every client is told when the sessions change."""

from tapui.core.context import CoreContext
from tapui.core.conversations.connections import Connections
from tapui.core.deadlines import Deadline, Due
from tapui.core.model import Connection, Standing
from tapui.core.sessions.sessions import OpenSessions
from tapui.wire import limits
from tapui.wire.provider import SessionsUpdated


class Announcements:
    """Sends `sessions.updated`: at once when a session comes or goes, soon when one changed."""

    def __init__(
        self, context: CoreContext, *, connections: Connections, sessions: OpenSessions
    ) -> None:
        self._clock, self._out, self._deadlines = context.clock, context.out, context.deadlines
        self._connections = connections
        self._sessions = sessions
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
        for connection in self._connections.of_standing(
            Standing.AWAIT_HELLO, Standing.BOUND, Standing.UNBOUND, Standing.BUILTIN
        ):
            self.send_to(connection)

    def send_to(self, connection: Connection) -> None:
        """Send one connection its list: what it may bind has changed."""
        sessions = self._sessions.visible(connection.grant_as(connection.may_bind_all))
        self._out.send(connection.id, SessionsUpdated(sessions))
