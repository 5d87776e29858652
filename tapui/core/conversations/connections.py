"""The connections that are open, by number; how a message is refused and a connection closed."""

from tapui.core.context import CoreContext
from tapui.core.effects import Close, ConnectionId
from tapui.core.model import Connection, Standing
from tapui.wire.codec import Envelope
from tapui.wire.errors import WireError
from tapui.wire.events import ErrorSent
from tapui.wire.message import Error


class Connections:
    """The registry. A connection that is being closed is in `closing` until its input is done."""

    def __init__(self, context: CoreContext) -> None:
        self._out = context.out
        self.by_number: dict[ConnectionId, Connection] = {}
        self.closing: list[Connection] = []

    def of_standing(self, *standings: Standing) -> list[Connection]:
        """Return the connections in one of the given states."""
        return [one for one in self.by_number.values() if one.standing in standings]

    def interactive_towers(self) -> list[Connection]:
        """Return the towers at which a person sits."""
        return [one for one in self.of_standing(Standing.TOWER) if one.is_interactive]

    def refuse(self, connection: Connection, error: WireError) -> None:
        """Answer a refused message; a fatal code closes the connection."""
        provider = connection.provider
        self._out.send(
            connection.id,
            Error(
                code=error.code,
                message=error.text,
                reply_to=error.reply_to,
                id=error.id,
                request_id=error.request_id,
                provider_id=provider.id if provider else None,
                session_id=error.session_id if connection.grant is not None else None,
                query_id=error.query_id,
                tools=error.tools,
            ),
        )
        if connection.grant is not None or error.code.is_fatal:
            self._out.emit(
                ErrorSent(
                    code=error.code,
                    message=error.text,
                    reply_to=error.reply_to,
                    provider=provider.name if provider else connection.name or None,
                    provider_id=provider.id if provider else None,
                    session_id=error.session_id,
                    origin=connection.origin,
                )
            )
        if error.code.is_fatal:
            self.close(connection, 1008, error.code)

    def refuse_message(self, connection: Connection, error: WireError, head: Envelope) -> None:
        """Refuse a message, with what is echoed of it."""
        echoed = head.refusal(error.code, error.text, session_id=error.session_id)
        echoed.tools = error.tools
        echoed.id = error.id or echoed.id
        self.refuse(connection, echoed)

    def close(self, connection: Connection, code: int, reason: str) -> None:
        """Close a connection; what it held is given up at the end of this input."""
        if connection not in self.closing:
            self.closing.append(connection)
            self._out.effects.append(Close(connection.id, code, reason))
