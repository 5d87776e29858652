"""The built-in session `local`: there is always one, and in it the person is the caller."""

from pathlib import Path

from tapui.hosts.port import HostPort, OpenPort
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
        # When the gateway ends there is nothing to clean up.
        self._port: HostPort = open_port(self._receive, lambda: None)

    def _receive(self, message: Message) -> None:
        match message:
            case Sessions():
                self._port.send(HostHello("local", "local", 2))
            case HostAck():
                session = HostSession(
                    SESSION_ID,
                    label="local",
                    cwd=str(self._cwd),
                    cannot=_CANNOT,
                    reserved_tools=[],
                )
                self._port.send(SessionOpen(session))
            case SessionSend():
                sent = {"content": message.prompt, "from": message.sender.provider}
                self._event("prompt.injected", sent)
                self._event("session.idle", {})
            case SessionLog():
                self._event("log", {"message": message.message, "level": message.level})
            case ModeSet():
                text = f"session '{SESSION_ID}' has no modes: there is no agent in it"
                self._port.send(ModeResult(message.id, ok=False, error=text))
            case _:
                pass  # nothing else concerns a session without an agent

    def _event(self, name: str, data: dict[str, str]) -> None:
        self._port.send(SessionEvent(SESSION_ID, name, raw(data)))
