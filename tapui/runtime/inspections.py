"""Inspections: towers see what goes to and comes from another connection.

A connection that no tower inspects passes nothing here: its port is the real one, and the inputs
go to the core unchanged. What waits for a tower is bounded; a tower gets more once it asks for it.
"""

import logging
import re
from collections import deque
from collections.abc import Callable
from typing import Any, Literal

import msgspec

from tapui.core.effects import ConnectionId, EndInspection, Inspect, InspectMore
from tapui.core.model import Way
from tapui.home.local_socket import Peer
from tapui.runtime.ports import Port, SocketPort
from tapui.wire import limits
from tapui.wire.codec import encode, envelope_of_start
from tapui.wire.message import Message
from tapui.wire.tower import Inspected, InspectLines

_log = logging.getLogger(__name__)

Key = tuple[ConnectionId, str]
"""A tower, and the id that it chose."""
REDACTED = "[redacted]"
_SECRETS = frozenset({"token", "reconnectToken", "code", "nonce", "secret", "password"})
_CODED = frozenset({"error", "tool.outcome", "tool.result"})
"""Messages whose `code` is the code of an error."""
_WHOLE = 64 * 1024
"""Bytes of a message that is decoded to find its secrets; of a longer one the head is read."""
_SECRET_FIELD = re.compile(
    r'("(?:token|reconnectToken|nonce|secret|password|code)"\s*:\s*)(?:"(?:[^"\\]|\\.)*"?|[^\s",}\]]+)'
)


class _Waiting:
    """What one tower is still to be sent of one connection."""

    def __init__(self, target: ConnectionId) -> None:
        self.target = target
        self.is_asked = False
        self.dropped = 0
        self._lines: deque[Inspected] = deque()
        self._bytes = 0

    def __bool__(self) -> bool:
        return bool(self._lines or self.dropped)

    def add(self, line: Inspected) -> None:
        self._lines.append(line)
        self._bytes += len(line.text)
        while len(self._lines) > limits.INSPECT_LINES or self._bytes > limits.INSPECT_BYTES:
            self._bytes -= len(self._lines.popleft().text)
            self.dropped += 1

    def take(self, id_: str) -> InspectLines:
        lines, dropped = list(self._lines), self.dropped
        self._lines.clear()
        self._bytes = self.dropped = 0
        self.is_asked = False
        return InspectLines(id_, lines, dropped)


class TappedPort:
    """The port of an inspected connection: shows what it delivers. Implements `SocketPort`."""

    def __init__(self, inner: SocketPort, see: Callable[[ConnectionId, bytes], None]) -> None:
        self.inner = inner
        self.number = inner.number
        self._see = see

    @property
    def origin(self) -> str | None:
        """See `Port`; an end in this process has none."""
        return None if self.inner.is_in_process else self.inner.origin

    @property
    def way(self) -> Way:
        return Way.INSIDE if self.inner.is_in_process else self.inner.way

    @property
    def is_in_process(self) -> bool:
        return self.inner.is_in_process

    @property
    def client_end(self) -> tuple[tuple[str, int], tuple[str, int]] | None:
        return self.inner.client_end

    @property
    def peer(self) -> Peer:
        return self.inner.peer

    @property
    def outbox_bytes(self) -> int:
        return self.inner.outbox_bytes

    @property
    def sent_bytes(self) -> int:
        return self.inner.sent_bytes

    def deliver(self, message: Message) -> None:
        self.inner.deliver(message)
        self._see(self.number, encode(message))

    def send(self, data: bytes) -> None:
        self.inner.send(data)
        self._see(self.number, data)

    def authenticated(self) -> None:
        self.inner.authenticated()

    def close(self, code: int, reason: str) -> None:
        self.inner.close(code, reason)

    def pause_reading(self) -> None:
        self.inner.pause_reading()

    def resume_reading(self) -> None:
        self.inner.resume_reading()


class Inspections:
    """The running inspections. `ports` are the turn's; `stamp` says what time it is, `mask`
    takes secrets out of a text."""

    def __init__(
        self,
        ports: dict[ConnectionId, Port],
        stamp: Callable[[], str],
        mask: Callable[[str], str],
    ) -> None:
        self._ports = ports
        self._stamp = stamp
        self._mask = mask
        self._waiting: dict[Key, _Waiting] = {}
        self.targets: dict[ConnectionId, list[_Waiting]] = {}
        """Each inspected connection, with the towers that inspect it."""

    def carry_out(self, effect: Inspect | InspectMore | EndInspection) -> None:
        key = (effect.connection, effect.id)
        if isinstance(effect, Inspect):
            waiting = self._waiting[key] = _Waiting(effect.target)
            port = self._ports.get(effect.target)
            if port is not None:
                if effect.target not in self.targets:
                    self._ports[effect.target] = TappedPort(port, self.sent)  # type: ignore[arg-type]
                self.targets.setdefault(effect.target, []).append(waiting)
        elif isinstance(effect, InspectMore):
            if key in self._waiting:
                self._waiting[key].is_asked = True
        else:
            self._end(key)

    def _end(self, key: Key) -> None:
        waiting = self._waiting.pop(key, None)
        if waiting is None:
            return
        watching = self.targets.get(waiting.target, [])
        if waiting in watching:
            watching.remove(waiting)
            if not watching:
                del self.targets[waiting.target]
                port = self._ports.get(waiting.target)
                if isinstance(port, TappedPort):
                    self._ports[waiting.target] = port.inner
        tower = self._ports.get(key[0])
        if waiting and tower is not None:
            tower.deliver(waiting.take(key[1]))

    # What is seen

    def received(self, number: ConnectionId, data: bytes) -> None:
        """A frame came from a connection, or a message from an end in this process."""
        self._see(number, data, "in")

    def sent(self, number: ConnectionId, data: bytes) -> None:
        self._see(number, data, "out")

    def refused(self, number: ConnectionId, size: int, text: str) -> None:
        """A frame came that is not kept; `text` says what it was."""
        watching = self.targets.get(number)
        if watching:
            self._add(watching, note(size, self._stamp(), text))

    def _see(self, number: ConnectionId, data: bytes, way: Literal["in", "out"]) -> None:
        watching = self.targets.get(number)
        if not watching:
            return
        try:
            line = inspected(data, self._stamp(), way, self._mask)
        except Exception:  # noqa: BLE001 - logged; showing a message must not cost its connection
            _log.exception("a message of connection %d could not be shown", number)
            line = note(len(data), self._stamp(), "a message that cannot be shown")
        self._add(watching, line)

    def _add(self, watching: list[_Waiting], line: Inspected) -> None:
        for waiting in watching:
            waiting.add(line)

    def deliver(self) -> list[ConnectionId]:
        """Send what has come to the towers that have asked for it; return who was sent some."""
        sent = []
        for (tower, id_), waiting in self._waiting.items():
            port = self._ports.get(tower)
            if waiting.is_asked and waiting and port is not None:
                port.deliver(waiting.take(id_))
                sent.append(tower)
        return sent


def inspected(data: bytes, ts: str, way: Any, mask: Callable[[str], str]) -> Inspected:
    """Return a frame as an inspection shows it. `mask` takes out what looks like a secret."""
    kind, text = _read(data)
    is_cut = len(text) > limits.INSPECT_HEAD or len(data) > _WHOLE
    text = mask(text[: 2 * limits.INSPECT_HEAD])  # what is cut off there is never shown
    return Inspected(ts, way, len(data), text[: limits.INSPECT_HEAD], kind, is_cut)


def note(size: int, ts: str, text: str) -> Inspected:
    """Return a line about a frame that was not kept."""
    return Inspected(ts, "in", size, text, is_cut=True)


def _redacted(message: dict[str, Any]) -> tuple[str, str]:
    named = message.get("type")
    kind = named[: limits.MAX_ID] if isinstance(named, str) else ""
    hidden = _SECRETS - {"code"} if kind in _CODED else _SECRETS
    if message.get("ephemeral") is True:
        hidden |= {"message"}  # what is to be kept nowhere, such as a pairing code
    shown = {name: REDACTED if name in hidden else one for name, one in message.items()}
    return kind, encode(shown).decode()


def _read(data: bytes) -> tuple[str, str]:
    """Return the type of a message, "" without one, and its text without the fields of secrets."""
    if len(data) <= _WHOLE:
        try:
            message = msgspec.json.decode(data)
            if isinstance(message, dict):
                return _redacted(message)
        except (msgspec.DecodeError, UnicodeError, RecursionError):
            pass  # it is no message: it is shown as text
    head = envelope_of_start(data[: limits.INSPECT_HEAD])
    kind = head.type[: limits.MAX_ID] if head is not None else ""
    # A secret that the head ends in is whole within what is looked at.
    text = data[: 2 * limits.INSPECT_HEAD].decode("utf-8", "replace")
    return kind, _SECRET_FIELD.sub(rf'\1"{REDACTED}"', text)
