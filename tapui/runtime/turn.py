"""One turn of the loop: inputs → core → journal → effects. It decides nothing.

Whatever arrives goes into the core at once, in the order of arrival; what the core brings forth
waits for the turn, which runs once the loop has read every socket that was ready. The turn first
writes the records of all that happened, then carries out the effects: what a provider, a host or
the person was told survives a kill (design section 7, "Write-ahead").
"""

import asyncio
import logging
import time
from collections.abc import Callable
from pathlib import Path
from typing import Literal, Protocol

from tapui.core.effects import (
    Authenticated,
    CheckFile,
    Close,
    ConnectionId,
    Effect,
    MakeDurable,
    MakePersistDir,
    Send,
    Stop,
)
from tapui.core.gateway import Gateway
from tapui.core.model import Standing
from tapui.core.trust.grants import Grant
from tapui.records.journal import Journal
from tapui.runtime.files import look_for
from tapui.runtime.inprocess import InProcessPort
from tapui.runtime.mint import SystemMint
from tapui.runtime.ports import SocketPort
from tapui.text import safe_text
from tapui.wire import limits
from tapui.wire.codec import encode
from tapui.wire.events import Entry
from tapui.wire.message import Message
from tapui.wire.tower import GatewayStopping, Notice

_log = logging.getLogger(__name__)

_HOST_HIGH = limits.OUTBOX_BYTES // 8


class Flush(Protocol):
    """Writes out what was sent to sockets."""

    def __call__(self) -> None:
        """Write now."""


class Turn:
    """The door of the server, the inputs of in-process ports, and the turn itself."""

    def __init__(
        self,
        gateway: Gateway,
        journal: Journal,
        mint: SystemMint,
        loop: asyncio.AbstractEventLoop,
        *,
        on_stop: Callable[[], None],
        persist_dir: Callable[[str], Path],
    ) -> None:
        self._gateway = gateway
        self._journal = journal
        self._mint = mint
        self._loop = loop
        self._on_stop = on_stop
        self._persist_dir = persist_dir
        self.flush: Flush = _no_sockets
        self.on_turn: Callable[[], None] = _nobody_looks
        """Called at the end of each turn: what waits for the gateway's state looks at it then."""
        self._sockets: dict[ConnectionId, SocketPort] = {}
        self._numbers: dict[SocketPort, ConnectionId] = {}
        self._in_process: dict[ConnectionId, InProcessPort] = {}
        self._is_scheduled = False
        self._timer: asyncio.TimerHandle | None = None
        self._timer_when = 0.0
        self._full_hosts: dict[ConnectionId, list[ConnectionId]] = {}
        self._behind: set[ConnectionId] = set()
        self._touched: set[ConnectionId] = set()

    # The door

    def refusal(self) -> str | None:
        """Return why no further connection is taken (HTTP 503), or None."""
        return self._gateway.refusal()

    def opened(self, port: SocketPort) -> None:
        """A handshake was completed."""
        number = self._gateway.opened(port.origin, time.monotonic())
        self._sockets[number] = port
        self._numbers[port] = number
        self._schedule()

    def received(self, port: SocketPort, data: bytes) -> None:
        """A complete text message arrived."""
        number = self._numbers.get(port)
        if number is None:
            return
        try:
            self._gateway.received(number, data, time.monotonic())
        except Exception:  # noqa: BLE001 - logged; one client's input must not end the gateway
            self._faulted(number)
        if not self._is_scheduled:
            self._is_scheduled = True
            self._loop.call_soon(self._run)

    def received_binary(self, port: SocketPort, size: int) -> None:  # noqa: ARG002
        """A binary message arrived."""
        number = self._numbers.get(port)
        if number is not None:
            self._into_core(number, lambda now: self._gateway.received_binary(number, now))

    def drained(self, port: SocketPort) -> None:
        """A client that was slow has read what was sent to it."""
        number = self._numbers.get(port)
        if number is None:
            return
        self._feed_again(number)
        if number in self._behind:
            self._behind.discard(number)
            self._gateway.resend(number, time.monotonic())
            self._schedule()

    def closed(self, port: SocketPort) -> None:
        """A connection is gone."""
        number = self._numbers.pop(port, None)
        if number is None:
            return
        del self._sockets[number]
        self._behind.discard(number)
        self._feed_again(number)
        self._into_core(number, lambda now: self._gateway.closed(number, now))

    def _feed_again(self, host: ConnectionId) -> None:
        """Read on from the providers that were paused for the sake of a full host."""
        for feeder in self._full_hosts.pop(host, ()):
            if feeder in self._sockets and not self._is_feeding_a_full_host(feeder):
                self._sockets[feeder].resume_reading()

    # In-process ends

    def open_port(
        self,
        receive: Callable[[Message], None],
        closed: Callable[[], None],
        watch: Callable[[list[Entry], int], None] | None = None,
        *,
        grant: Grant | None = None,
        is_builtin: bool = False,
    ) -> InProcessPort:
        """Open an end in this process; its first message is `sessions`.

        `grant` is what it may do; None is all that *internal* may.
        """
        port = InProcessPort(self, receive, closed, watch)
        port.connection = self._gateway.opened_in_process(
            time.monotonic(), grant, is_builtin=is_builtin
        )
        self._in_process[port.connection] = port
        self._schedule()
        return port

    def given(self, connection: ConnectionId, message: Message) -> None:
        """An in-process end sent a message."""
        self._into_core(connection, lambda now: self._gateway.given(connection, message, now))

    def left(self, connection: ConnectionId) -> None:
        """An in-process end was closed from its side."""
        self._in_process.pop(connection, None)
        self._into_core(connection, lambda now: self._gateway.closed(connection, now))

    def snapshot_wanted(self, connection: ConnectionId) -> None:
        """An in-process tower has fallen behind and starts from a new snapshot."""
        self._into_core(connection, lambda now: self._gateway.resend(connection, now))

    # Notices, the end

    def notify(self, text: str, level: Literal["info", "warning", "error"]) -> None:
        """Tell every tower something that is no event. May be called from any thread."""
        self._loop.call_soon_threadsafe(self._notify, Notice(text, level))

    def _notify(self, notice: Notice | GatewayStopping) -> None:
        self._gateway.notify(notice, time.monotonic())
        self._schedule()

    def shut_down(self) -> None:
        """Close every session; providers are told `shutdown.pending`."""
        self._gateway.shut_down(time.monotonic())
        self._schedule()

    def run_now(self) -> None:
        """Run the turn at once, for the last words of a gateway that ends."""
        self._run()

    def close(self) -> None:
        """No further turn runs by itself."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    # The turn

    def _into_core(self, number: ConnectionId, step: Callable[[float], None]) -> None:
        """Let the core take an input. A fault of ours costs the connection, never the gateway."""
        try:
            step(time.monotonic())
        except Exception:  # noqa: BLE001 - logged; one client's input must not end the gateway
            self._faulted(number)
        self._schedule()

    def _faulted(self, number: ConnectionId) -> None:
        _log.exception("the gateway could not take an input of connection %d", number)
        if number in self._sockets:
            self._sockets[number].close(1011, "internal error")

    def _schedule(self) -> None:
        if not self._is_scheduled:
            self._is_scheduled = True
            self._loop.call_soon(self._run)

    def _run(self) -> None:
        self._is_scheduled = False
        self._mint.follow()
        entries, effects = self._gateway.take()
        if entries:
            bodies = [encode(entry.event) for entry in entries]
            self._journal.write(list(zip(entries, bodies, strict=True)))
        sockets, touched = self._sockets, self._touched
        for effect in effects:
            if type(effect) is Send and (socket := sockets.get(effect.connection)) is not None:
                socket.send(encode(effect.message))
                touched.add(effect.connection)
            else:
                self._carry_out(effect)
        if entries and self._gateway.watchers:
            self._publish(entries, bodies)
        for number in touched:
            self._check_outbox(number)
        touched.clear()
        self.flush()
        self._set_timer()
        self.on_turn()

    def _carry_out(self, effect: Effect) -> None:
        if isinstance(effect, Send):  # to a socket it was sent already
            port = self._in_process.get(effect.connection)
            if port is not None:
                port.deliver(effect.message)
        elif isinstance(effect, Close):
            socket = self._sockets.get(effect.connection)
            if socket is not None:
                socket.close(effect.code, effect.reason)
            elif (port := self._in_process.pop(effect.connection, None)) is not None:
                port.ended()
        elif isinstance(effect, Authenticated):
            socket = self._sockets.get(effect.connection)
            if socket is not None:
                socket.authenticated()
        elif isinstance(effect, MakeDurable):
            self._record(effect)
        elif isinstance(effect, MakePersistDir):
            self._make_persist_dir(effect.provider)
        elif isinstance(effect, CheckFile):
            self._check_file(effect)
        elif isinstance(effect, Stop):
            self._on_stop()

    def _record(self, effect: MakeDurable) -> None:
        def done(is_ok: bool) -> None:
            try:
                self._loop.call_soon_threadsafe(self._recorded, effect.ticket, is_ok)
            except RuntimeError:
                _log.debug("a record became durable after the loop had closed")

        self._journal.sync(frozenset({effect.seq}), done)

    def _recorded(self, ticket: int, is_ok: bool) -> None:
        self._into_core(0, lambda now: self._gateway.recorded(ticket, now, is_ok=is_ok))

    def _check_file(self, effect: CheckFile) -> None:
        """Look where a result's file really is; the answer goes into the core."""
        fault, size = look_for(effect.path, effect.folder)
        self._into_core(
            0,
            lambda now: self._gateway.file_checked(effect.ticket, now, fault, size),
        )

    def _make_persist_dir(self, provider: str) -> None:
        try:
            self._persist_dir(provider)
        except OSError as error:
            text = (
                f"{safe_text(str(error.filename or ''))}: {error.strerror}; provider "
                f"'{safe_text(provider)}' has no folder for its files"
            )
            self._notify(Notice(text, "warning"))

    def _publish(self, entries: list[Entry], bodies: list[bytes]) -> None:
        """Send the turn's events to every tower whose snapshot does not hold them."""
        frames: list[bytes] | None = None
        for number, seen in self._gateway.watchers.items():
            if number in self._behind:
                continue
            start = max(0, seen + 1 - entries[0].seq)
            if start >= len(entries):
                continue
            port = self._in_process.get(number)
            if port is not None:
                port.deliver_events(entries[start:], sum(map(len, bodies[start:])))
            elif (socket := self._sockets.get(number)) is not None:
                if frames is None:
                    frames = [
                        b'{"type":"tower.event","seq":%d,"ts":"%b","event":%b}'
                        % (entry.seq, entry.ts.encode(), body)
                        for entry, body in zip(entries, bodies, strict=True)
                    ]
                for frame in frames[start:]:
                    socket.send(frame)
                self._touched.add(number)

    def _check_outbox(self, number: ConnectionId) -> None:
        """Bound what waits for a slow reader, by what it is (design section 5, "slow readers")."""
        socket = self._sockets.get(number)
        if socket is None:
            return
        waiting = socket.outbox_bytes
        if waiting < _HOST_HIGH:
            return
        standing = self._gateway.standing(number)
        if standing is Standing.HOST:
            for feeder in self._gateway.feeders(number):
                fed = self._full_hosts.setdefault(number, [])
                if feeder in self._sockets and feeder not in fed:
                    fed.append(feeder)
                    self._sockets[feeder].pause_reading()
        elif waiting > limits.OUTBOX_BYTES:
            if standing is Standing.TOWER:
                self._behind.add(number)
            else:
                # Its calls fail now; the socket may hang on until its own time-out.
                socket.close(1008, "too slow: it did not read what was sent to it")
                self._into_core(number, lambda now: self._gateway.closed(number, now))

    def _is_feeding_a_full_host(self, feeder: ConnectionId) -> bool:
        return any(feeder in feeders for feeders in self._full_hosts.values())

    def _set_timer(self) -> None:
        when = self._gateway.next_deadline
        if when is None or (self._timer is not None and self._timer_when <= when):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_when = when
        self._timer = self._loop.call_later(max(0.0, when - time.monotonic()), self._tick)

    def _tick(self) -> None:
        self._timer = None
        self._into_core(0, self._gateway.tick)


def _no_sockets() -> None:
    """No server is listening yet."""


def _nobody_looks() -> None:
    """Nobody waits for the gateway's state."""
