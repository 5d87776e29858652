"""The built-in session `local`: there is always one, and in it the person is the caller."""

from collections.abc import Callable
from pathlib import Path

from tapui.hosts.port import HostPort, OpenPort
from tapui.text import safe_text
from tapui.wire.codec import raw
from tapui.wire.host import (
    HostAck,
    HostHello,
    HostSession,
    ModeResult,
    ModeSet,
    SessionEvent,
    SessionLog,
    SessionOpen,
    SessionSend,
)
from tapui.wire.message import Message
from tapui.wire.provider import Sessions

SESSION_ID = "local"
_CANNOT = dict.fromkeys(
    ("tell", "now", "stop", "compact", "model", "effort", "label"), "there is no agent in it"
)


class LocalHost:
    """Opens the session and keeps it open as long as the gateway lives.

    No agent answers a prompt here: an inject is kept as an event of the session, and the session is
    idle again at once.
    """

    def __init__(self, open_port: OpenPort, cwd: Path) -> None:
        self._cwd = cwd
        self._answers: dict[type[Message], Callable[[Message], None]] = {
            Sessions: self._on_sessions,
            HostAck: self._on_ack,
            SessionSend: self._on_send,
            SessionLog: self._on_log,
            ModeSet: self._on_mode,
        }
        self._port: HostPort = open_port(self._receive, self._closed)

    def _receive(self, message: Message) -> None:
        answer = self._answers.get(type(message))
        if answer is not None:
            answer(message)

    def _closed(self) -> None:
        """The gateway ends; there is nothing to clean up."""

    def _on_sessions(self, _message: Message) -> None:
        self._port.send(HostHello("local", "local", 2))

    def _on_ack(self, _message: Message) -> None:
        self._port.send(
            SessionOpen(
                HostSession(
                    SESSION_ID,
                    label="local",
                    cwd=str(self._cwd),
                    cannot=_CANNOT,
                    reserved_tools=[],
                )
            )
        )

    def _on_send(self, message: Message) -> None:
        assert isinstance(message, SessionSend)
        self._event("prompt.injected", {"content": message.prompt, "from": message.sender.provider})
        self._event("session.idle", {})

    def _on_log(self, message: Message) -> None:
        assert isinstance(message, SessionLog)
        self._event("log", {"message": message.message, "level": message.level})

    def _on_mode(self, message: Message) -> None:
        assert isinstance(message, ModeSet)
        text = f"session '{SESSION_ID}' has no modes: there is no agent in it"
        self._port.send(ModeResult(message.id, ok=False, error=safe_text(text)))

    def _event(self, name: str, data: dict[str, str]) -> None:
        self._port.send(SessionEvent(SESSION_ID, name, raw(data)))
