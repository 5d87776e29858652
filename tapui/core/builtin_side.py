"""What the built-in tools may ask beyond a provider: streams, a session's state, its mode."""

from typing import Any

from tapui.core.budgets import HeldInject
from tapui.core.connection import Connection, Standing
from tapui.core.modes import ModeOrder
from tapui.core.registers import Registers
from tapui.core.sessions import OpenSession
from tapui.core.streams import split_name
from tapui.core.tools import BUILTIN_PROVIDER
from tapui.wire.builtin import (
    ModeAnswer,
    ModeRequest,
    ModeRequestCancel,
    StateAnswer,
    StateRead,
    StreamPost,
    StreamPosted,
    StreamSummary,
)
from tapui.wire.codec import optional_object
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.host import Sender, SessionLog


class BuiltinSide:
    """Handlers of the built-in provider's own messages."""

    def __init__(self, registers: Registers) -> None:
        self._r = registers

    def stream_post(self, connection: Connection, message: StreamPost) -> None:
        """Post to a stream of the built-in provider's."""
        r = self._r
        session = self._session(message.session_id, message.id)
        metadata = optional_object(message.metadata, "metadata")
        line = r.streams.post(
            session.id,
            message.stream,
            BUILTIN_PROVIDER,
            level=message.level,
            event=message.event,
            metadata=metadata,
        )
        name = split_name(message.stream, BUILTIN_PROVIDER)
        if message.level == "surface":
            r.out.send(session.host, SessionLog(session.id, f"{name}: {message.event}", "info"))
        elif message.level == "inject":
            sender = Sender(BUILTIN_PROVIDER, message.stream)
            r.budgets.inject(session, HeldInject(sender, message.event, None))
        r.out.send(connection.id, StreamPosted(message.id, name, line.seq))

    def state_read(self, connection: Connection, message: StateRead) -> None:
        """Describe a session."""
        r = self._r
        session = self._session(message.session_id, message.id)
        host = r.connections.get(session.host)
        state: dict[str, Any] = {
            "sessionId": session.id,
            "label": session.view.label,
            "mode": session.view.mode,
            "model": session.view.model,
            "state": session.view.state,
            "tools": [
                {"name": name, "provider": entry.owner} for name, entry in session.tools.items()
            ],
            "providers": [
                {"name": provider.label, "trust": provider.view.trust}
                for provider in session.providers.values()
                if not provider.connection.is_builtin
            ],
            "emitters": [],
            "approvalsWaiting": len(
                [
                    waiting
                    for waiting in r.approvals.waiting.values()
                    if waiting.view.session_id in (None, session.id)
                ]
            ),
            "host": {
                "name": session.view.host,
                "kind": host.host_kind if host else None,
                "hooks": bool(host and host.host_asks_hooks),
                "modes": session.view.mode is not None,
            },
        }
        streams = [
            StreamSummary(name, log.count, log.lines[-1] if log.lines else None)
            for name, log in r.streams.of(session.id).items()
        ]
        r.out.send(connection.id, StateAnswer(message.id, state, streams))

    def mode_request(self, connection: Connection, message: ModeRequest) -> None:
        """Ask the person to switch a session's mode."""
        r = self._r
        session = self._session(message.session_id, message.id)
        if session.view.mode == message.mode:
            r.out.send(connection.id, ModeAnswer(message.id, "nobody: it was so already"))
            return
        detail = {
            "from": session.view.mode,
            "to": message.mode,
            "asker": message.asker,
            "reason": message.reason,
        }
        order = ModeOrder(session, message.mode, "", connection, message.id)
        waiting = r.approvals.request(
            "mode",
            connection,
            order,
            detail,
            r.settings.timeouts.mode_approval,
            session_id=session.id,
        )
        connection.modes[message.id] = waiting.view.id

    def mode_request_cancel(self, connection: Connection, message: ModeRequestCancel) -> None:
        """The caller of the tool gave up."""
        waiting = self._r.approvals.waiting.get(connection.modes.pop(message.id, ""))
        if waiting is not None:
            self._r.approvals.withdraw(waiting, reason="the caller gave up")

    def _session(self, session_id: str, request_id: str) -> OpenSession:
        session = self._r.sessions.get(session_id)
        if session is None:
            raise WireError(
                ErrorCode.INVALID_SESSION,
                f"Session {session_id} does not exist",
                id=request_id,
                session_id=session_id,
            )
        return session


def answer_mode(connection: Connection, registers: Registers, order: ModeOrder, text: str) -> None:
    """Tell a built-in tool that its mode request was not granted."""
    request_id = order.request_id or ""
    connection.modes.pop(request_id, None)
    if connection.standing is Standing.BUILTIN:
        registers.out.send(connection.id, ModeAnswer(request_id, order.by, text))
