"""Messages that cannot be read: what they may have answered must not hang.

Core Profile "Tool call terminal semantics", rule 4.
"""

import msgspec
from msgspec import Struct

from tapui.core.calls.calls import Calls
from tapui.core.conversations.connections import Connections
from tapui.core.hooks.gates import Gates
from tapui.core.hooks.prompts import Prompts
from tapui.core.model import ConnectedProvider, Connection
from tapui.wire.errors import CallError, ErrorCode, WireError


class _CallId(Struct, rename="camel"):
    call_id: str


class Garbled:
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
