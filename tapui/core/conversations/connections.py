"""The connections that are open, by number; how a message is refused, and a connection closed.

What a message that cannot be read may have answered must not hang: Core Profile "Tool call terminal
semantics", rule 4.
"""

import msgspec
from msgspec import Struct

from tapui.core.calls.calls import Calls
from tapui.core.context import CoreContext
from tapui.core.effects import Close, ConnectionId
from tapui.core.hooks.gates import Gates
from tapui.core.hooks.prompts import Prompts
from tapui.core.model import ConnectedProvider, Connection, Standing
from tapui.wire.codec import Envelope
from tapui.wire.errors import CallError, ErrorCode, WireError
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

    def asking(self) -> list[Connection]:
        """Return the connections at which the person can be asked: towers, and the terminal of
        `tapui serve`."""
        return [one for one in self.of_standing(Standing.TOWER) if one.asks]

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


class _CallId(Struct, rename="camel"):
    call_id: str


class BadFrames:
    """Refuses what could not be read, and settles what it can only have been about."""

    def __init__(
        self, *, connections: Connections, calls: Calls, gates: Gates, prompts: Prompts
    ) -> None:
        self._connections = connections
        self._calls = calls
        self._gates = gates
        self._prompts = prompts

    def refuse(self, connection: Connection, error: WireError, data: bytes) -> None:
        """Answer `data` with an error; a call that it may have answered fails."""
        self._connections.refuse(connection, error)
        provider = connection.provider
        if provider is None:
            return
        if error.reply_to in ("gate.result", "transform.result"):
            self._answer(provider, data)
        if not provider.running:
            return
        if error.reply_to not in (None, "tool.result") or error.code is ErrorCode.UNKNOWN_TYPE:
            return
        running = [call for call in provider.calls.values() if not call.is_settled]
        if error.reply_to == "tool.result" and error.id is not None:
            call = provider.calls.get(error.id)
            is_too_large = error.code is ErrorCode.PAYLOAD_TOO_LARGE
            if call is not None:
                code = CallError.PAYLOAD_TOO_LARGE if is_too_large else CallError.INTERNAL
                self._calls.fail(call, code, error.text)
        elif len(running) == 1:
            self._calls.fail(running[0], error.code, error.text)
        else:
            self._connections.close(
                connection, 1008, "unreadable message with several calls in flight"
            )

    def _answer(self, provider: ConnectedProvider, data: bytes) -> None:
        """A malformed answer to a gate is a no; one to a transform changes nothing."""
        try:
            call_id = msgspec.json.decode(data, type=_CallId).call_id
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            asked = [*provider.gates, *provider.transforming]
            if len(asked) != 1:
                return  # it cannot be told which of them it was: their time-outs decide
            call_id = asked[0]
        self._gates.failed(provider, call_id, "sent a malformed answer")
        self._prompts.failed(provider, call_id)
