"""Auth: a token is shown, or pairing is asked for; the answer is the list of sessions."""

from tapui.core.context import CoreContext
from tapui.core.effects import Authenticated
from tapui.core.model import Connection, Standing
from tapui.core.sessions.sessions import OpenSessions
from tapui.core.trust.grants import Grant, Trustees
from tapui.core.trust.pairing import Pairings
from tapui.core.trust.places import Places
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.provider import Auth, Sessions


class Admission:
    """The handler of `auth`, and how a connection is admitted. Raises `WireError` to refuse."""

    def __init__(
        self,
        context: CoreContext,
        *,
        sessions: OpenSessions,
        trustees: Trustees,
        pairings: Pairings,
        places: Places,
    ) -> None:
        self._out, self._deadlines = context.out, context.deadlines
        self._sessions = sessions
        self._trustees = trustees
        self._pairings = pairings
        self._places = places

    def auth(self, connection: Connection, message: Auth) -> None:
        """Admit a connection whose token is known, or begin to pair."""
        if message.mode == "pair" and message.token is None:
            self._pairings.ask(connection)
            return
        if message.token is None:
            raise WireError(ErrorCode.INVALID_JSON, "token: missing")
        grant = self._trustees.find(message.token, connection.origin)
        if grant is None:
            raise WireError(ErrorCode.AUTH_FAILED, "unknown token")
        why = self._places.objection(grant)
        if why is None:
            self.admit(connection, grant)
        else:
            self._places.refuse(connection, grant, why)

    def admit(self, connection: Connection, grant: Grant) -> None:
        """Let a connection say hello; it is told the sessions that it may bind."""
        self._deadlines.cancel(connection.deadline)
        connection.grant = grant
        connection.standing = Standing.AWAIT_HELLO
        self._out.effects.append(Authenticated(connection.id))
        self._out.send(connection.id, Sessions(self._sessions.visible(grant)))
