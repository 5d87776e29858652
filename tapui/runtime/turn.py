"""One turn of the loop: inputs → core → journal → effects. It decides nothing.

Each input goes into the core at once, in the order of arrival; what the core brings forth
waits for the turn, which runs once the loop has read every socket that was ready. The turn first
writes the records of all that happened, then carries out the effects: what a provider, a host or
the person was told survives a kill.

Every step is contained. A fault of an input, an effect or a receiver in this process is logged
with what it was about and costs the connection that it belongs to; the turn goes on.
"""

import asyncio
import logging
import sys
import time
from collections.abc import Callable, Collection, Sequence
from pathlib import Path
from typing import Literal, ParamSpec, Protocol, TypeVar, cast

from tapui.core.effects import (
    AnswerPart,
    Authenticated,
    Close,
    ConnectionId,
    Effect,
    EmitterEffect,
    EndInspection,
    Identify,
    Inspect,
    InspectMore,
    McpSessionsChanged,
    NoteAgent,
    ProofEffect,
    Send,
    SendIfIdle,
    StopGateway,
)
from tapui.core.gateway import Gateway
from tapui.core.trust.grants import Grant
from tapui.records.journal import Journal
from tapui.records.masking import Masks
from tapui.runtime.askers import Askers
from tapui.runtime.disk_work import DiskWork, ReadFolder, no_folder_rules
from tapui.runtime.inspections import Inspections
from tapui.runtime.person import Person
from tapui.runtime.ports import InProcessEnd, InProcessPort, Port, SlowReaders, SocketPort
from tapui.runtime.processes.status import Key
from tapui.runtime.system import SystemIds
from tapui.runtime.tuning import RightOfWay
from tapui.text import safe_text
from tapui.update import UpdatedError
from tapui.wire.codec import encode
from tapui.wire.errors import WireError
from tapui.wire.events import Entry
from tapui.wire.message import Error, Message
from tapui.wire.tower import GatewayStopping, Notice, TowerSnapshot

_log = logging.getLogger(__name__)

_INTERNAL_ERROR = 1011
_TOO_SLOW = 1008
_ABOUT = 300
"""Characters of an effect in the log."""
_IDLE_BELOW = 64 * 1024
"""Unsent bytes of a connection from which a `SendIfIdle` to it is dropped."""

P = ParamSpec("P")
T = TypeVar("T")
Receive = Callable[[SocketPort, bytes], None]
Give = Callable[[ConnectionId, Message], None]


class Flush(Protocol):
    """Writes out what was sent to sockets."""

    def __call__(self) -> None:
        """Write now."""


class LoopTurn:
    """The door of the server, the inputs of in-process ports, and the turn itself."""

    def __init__(
        self,
        gateway: Gateway,
        journal: Journal,
        ids: SystemIds,
        loop: asyncio.AbstractEventLoop,
        *,
        on_stop: Callable[[], None],
        persist_dir: Callable[[str], Path],
        masks: Masks | None = None,
        folder_rules: ReadFolder = no_folder_rules,
        own: Collection[Key] = (),
    ) -> None:
        self.gateway = gateway
        self._journal = journal
        self._ids = ids
        self._loop = loop
        self._on_stop = on_stop
        self.flush: Flush = _no_sockets
        self.way = RightOfWay()
        """Taken from a turn's first input to its end."""
        self.on_turn: Callable[[], None] = _nobody_looks
        """Called at the end of each turn: what waits for the gateway's state looks at it then."""
        self._ports: dict[ConnectionId, Port] = {}
        self._is_scheduled = False
        self._now = 0.0
        """When the turn's first input came, in seconds of the steady clock; 0 before it."""
        self._timer: asyncio.TimerHandle | None = None
        self._timer_when = 0.0
        self._slow = SlowReaders(gateway, self._ports)
        self._touched: set[ConnectionId] = set()
        self._inspections = Inspections(
            self._ports, lambda: ids.timestamp(time.monotonic()), (masks or Masks()).masked_text
        )
        self.received: Receive = self._received
        """A complete text message arrived. (Another function while a connection is inspected,
        which costs nothing otherwise.)"""
        self.given: Give = self._given
        """An in-process end sent a message. (As above.)"""
        self._refusals: list[Send] = []
        self.emitters: Callable[[EmitterEffect], None] = _nobody_runs_emitters
        """Carries out what the core asks of the shell of emitters."""
        self.proof: Callable[[ProofEffect], None] = lambda _: None
        """Carries out what the core asks of ledgers and folders."""
        self.mcp_sessions: Callable[[McpSessionsChanged], None] = lambda _: None
        """Takes the sessions in which MCP servers are offered."""
        self.on_events: Callable[[list[Entry]], None] | None = None
        """Takes the events of each turn once they are recorded; must not wait."""
        self.person = Person(gateway.part_questions, self.tell)
        """Answers what parts ask."""
        self._disk = DiskWork(
            journal,
            loop,
            answer=self.answer,
            warn=lambda text: self._notify(Notice(text, "warning")),
            persist_dir=persist_dir,
            folder_rules=folder_rules,
        )
        self._askers = Askers(self._ports, loop, answer=self.answer, own=own)

    @property
    def recorded(self) -> int:
        """How many turns were recorded so far."""
        return self._journal.turns

    # The door

    def refusal(self, origin: str | None) -> str | None:
        """Return why no further connection is taken (HTTP 503), or None."""
        return self.gateway.refusal(origin)

    def opened(self, port: SocketPort) -> None:
        pid = port.peer.pid
        port.number = self.gateway.opened(port.origin, self._time(), port.way, pid)
        self._ports[port.number] = port
        self._schedule()

    def _received(self, port: SocketPort, data: bytes) -> None:
        """Let the core take a message."""
        now = self._now or self._time()
        try:
            self.gateway.received(port.number, data, now)
        except Exception:  # noqa: BLE001 - logged; one client's input must not end the gateway
            self._input_failed(port.number)
        if not self._is_scheduled:
            self._is_scheduled = self.way.is_taken = True
            self._loop.call_soon(self._run)

    def _received_inspected(self, port: SocketPort, data: bytes) -> None:
        """Show a message to who inspects its connection, and let the core take it."""
        self._inspections.received(port.number, data)
        self._received(port, data)

    def received_oversized(self, port: SocketPort, start: bytes) -> None:
        """A text message arrived that is too large to be kept; `start` is its beginning."""
        self._inspections.refused(port.number, len(start), "a message too large to be kept")
        self._into_core(port.number, self.gateway.received_oversized, port.number, start)

    def received_binary(self, port: SocketPort, size: int) -> None:
        self._inspections.refused(port.number, size, "a binary message")
        self._into_core(port.number, self.gateway.received_binary, port.number)

    def drained(self, port: SocketPort) -> None:
        """A client that was slow has read what was sent to it."""
        number = port.number
        if self._slow.drained(number):
            self._into_core(number, self.gateway.resend, number)

    def closed(self, port: SocketPort) -> None:
        self._forget(port.number)
        self._into_core(port.number, self.gateway.closed, port.number)

    def _forget(self, number: ConnectionId) -> Port | None:
        """Send nothing more to a connection; return its port if it still had one."""
        self._slow.forget(number)
        return self._ports.pop(number, None)

    # In-process ends

    def open_port(
        self,
        receive: Callable[[Message], None],
        closed: Callable[[], None],
        watch: Callable[[list[Entry], int], None] | None = None,
        *,
        grant: Grant | None = None,
        is_builtin: bool = False,
    ) -> InProcessEnd:
        """Open an end in this process; its first message is `sessions`.

        `grant` is what it may do; None is all that *internal* may.
        """
        port = InProcessPort(receive, closed, watch)
        port.number = self.gateway.opened_in_process(self._time(), grant, is_builtin=is_builtin)
        self._ports[port.number] = port
        self._schedule()
        return InProcessEnd(self, port)

    def _given(self, connection: ConnectionId, message: Message) -> None:
        """Let the core take a message of an in-process end."""
        now = self._now or self._time()
        try:
            self.gateway.given(connection, message, now)
        except Exception:  # noqa: BLE001 - logged; one end's input must not end the gateway
            self._input_failed(connection)
        self._schedule()

    def _given_inspected(self, connection: ConnectionId, message: Message) -> None:
        """Show a message to who inspects its end, and let the core take it."""
        if connection in self._inspections.targets:
            self._inspections.received(connection, encode(message))
        self._given(connection, message)

    def unfit(self, connection: ConnectionId, error: WireError) -> None:
        """A message of an in-process end could not be JSON."""
        _log.warning("refused a message of the in-process connection %d: %s", connection, error)
        self._refusals.append(
            Send(connection, Error(error.code, error.text, reply_to=error.reply_to))
        )
        self._schedule()

    def left(self, connection: ConnectionId) -> None:
        """An in-process end was closed from its side."""
        self._forget(connection)
        self._into_core(connection, self.gateway.closed, connection)

    def snapshot_wanted(self, connection: ConnectionId) -> None:
        """An in-process tower has fallen behind and starts from a new snapshot."""
        self._into_core(connection, self.gateway.resend, connection)

    # What happens beside connections

    def tell(self, step: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T | None:
        """Let the core take an input: see `Gateway.tell`. None, too, where that failed."""
        return self._into_core(0, step, *args, **kwargs)

    def answer(self, ticket: int, answer: object) -> None:
        self._into_core(0, self.gateway.answered, ticket, answer)

    def note_agent(self, pid: int, what: str) -> None:
        """Remember a process that was started for agents; `what` is its name in words."""
        self._askers.note(NoteAgent(what, pid))

    # Notices, the end

    def notify(self, text: str, level: Literal["info", "warning", "error"]) -> None:
        """Tell every tower something that is no event. May be called from any thread."""
        self._loop.call_soon_threadsafe(self._notify, Notice(text, level))

    def _notify(self, notice: Notice | GatewayStopping) -> None:
        self._into_core(0, self.gateway.notify, notice)

    def shut_down(self) -> None:
        """Close every session; providers get `shutdown.pending`."""
        self._into_core(0, self.gateway.shut_down)

    def run_now(self) -> None:
        """Run the turn at once, for the last words of a gateway that ends."""
        self._run()

    def close(self) -> None:
        """No further turn runs by itself."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        self._askers.close()
        self._disk.close()

    # Inputs

    def _time(self) -> float:
        """Return the turn's time: its inputs share one, so that it is written out once."""
        now = self._now = self._now or time.monotonic()
        return now

    def _into_core(
        self, number: ConnectionId, step: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T | None:
        """Let the core take an input. A fault of ours costs the connection, never the gateway."""
        result = None
        try:
            result = self.gateway.tell(self._time(), step, *args, **kwargs)
        except Exception:  # noqa: BLE001 - logged; one client's input must not end the gateway
            self._input_failed(number)
        self._schedule()
        return result

    def _input_failed(self, number: ConnectionId) -> None:
        if isinstance(error := sys.exception(), UpdatedError):
            # No fault of the sender's, whose sessions would end with the connection.
            _log.warning("an input of connection %d was not taken: %s", number, error)
            return
        _log.exception("the gateway could not take an input of connection %d", number)
        port = self._ports.get(number)
        if port is not None and not port.is_in_process:
            port.close(_INTERNAL_ERROR, "internal error")

    def _schedule(self) -> None:
        if not self._is_scheduled:
            self._is_scheduled = self.way.is_taken = True
            self._loop.call_soon(self._run)

    # The turn

    def _run(self) -> None:
        self._is_scheduled = False
        self._now = 0.0
        self._ids.follow()
        entries, bodies, effects = self.gateway.take()
        if entries:
            self._record(entries, bodies)
            if self.on_events is not None:
                self._hand_on(self.on_events, entries)
        if self._refusals:
            effects += self._refusals
            self._refusals = []
        ports, touched = self._ports, self._touched
        for effect in effects:
            try:
                if type(effect) is Send:
                    number = effect.connection
                    port = ports.get(number)
                    if port is not None:
                        port.deliver(effect.message)
                        touched.add(number)
                        if type(effect.message) is TowerSnapshot:
                            self._slow.snapshot_sent(number, port)
                else:
                    self._carry_out(effect)
            except Exception:  # noqa: BLE001 - logged; the other effects of the turn go on
                self._effect_failed(effect)
        if entries and self.gateway.watchers:
            self._publish(entries, bodies)
        if self._inspections.targets:
            self._show_inspected()
        for number in touched:
            if self._slow.is_too_slow(number):
                # Its calls fail now; the socket may hang on until its own time-out.
                self._drop(number, _TOO_SLOW, "too slow: it did not read what was sent to it")
        touched.clear()
        self.flush()
        self._set_timer()
        self._look()
        self.way.is_taken = self._is_scheduled

    def _show_inspected(self) -> None:
        try:
            self._touched.update(self._inspections.deliver())
        except Exception:  # noqa: BLE001 - logged; what is inspected goes on
            _log.exception("inspected messages could not be sent to a tower")

    def _hand_on(self, take: Callable[[list[Entry]], None], entries: list[Entry]) -> None:
        try:
            take(entries)
        except Exception:  # noqa: BLE001 - logged; it is not the turn that failed
            _log.exception("what takes each turn's events failed")

    def _look(self) -> None:
        try:
            self.on_turn()
        except Exception:  # noqa: BLE001 - logged; it is not the turn that failed
            _log.exception("what looks at the state after each turn failed")

    def _record(self, entries: list[Entry], bodies: list[bytes]) -> None:
        """Write a turn's events ahead of its effects."""
        try:
            self._journal.write(list(zip(entries, bodies, strict=True)))
        except Exception:  # noqa: BLE001 - logged; what happened has happened, and peers wait
            first, last = entries[0].seq, entries[-1].seq
            _log.exception("the journal failed; events %d to %d are not recorded", first, last)

    def _effect_failed(self, effect: Effect) -> None:
        """Log a fault with what it was about; the connection that it belongs to is closed."""
        number = getattr(effect, "connection", 0)
        if isinstance(effect, Send):  # what a message says is not for the log
            about = f"Send of {type(effect.message).__name__} to connection {number}"
        else:
            about = safe_text(str(effect), limit=_ABOUT)
        _log.exception("an effect failed: %s", about)
        if number:
            self._drop(number, _INTERNAL_ERROR, "internal error")
        if isinstance(effect, Identify):
            self._askers.failed(effect)
        else:
            self._disk.failed(effect)

    def _drop(self, number: ConnectionId, code: int, reason: str) -> None:
        """Close a connection from this side: what it held is given up now."""
        port = self._forget(number)
        if port is None:
            return
        try:
            port.close(code, reason)
        except Exception:  # noqa: BLE001 - logged; it is gone for the core in any case
            _log.exception("connection %d could not be told that it is closed", number)
        self._into_core(number, self.gateway.closed, number)

    def _carry_out(self, effect: Effect) -> None:
        if isinstance(effect, SendIfIdle):
            port = self._ports.get(effect.connection)
            if port is not None and port.outbox_bytes < _IDLE_BELOW:
                port.deliver(effect.message)
                self._touched.add(effect.connection)
        elif isinstance(effect, Close):
            port = self._ports.get(effect.connection)
            if port is not None:
                port.close(effect.code, effect.reason)
                if port.is_in_process:
                    self._forget(effect.connection)
        elif isinstance(effect, Authenticated):
            port = self._ports.get(effect.connection)
            if port is not None:
                port.authenticated()
        elif isinstance(effect, StopGateway):
            self._on_stop()
        elif isinstance(effect, (Inspect, InspectMore, EndInspection)):
            self._inspections.carry_out(effect)
            is_tapped = bool(self._inspections.targets)
            self.received = self._received_inspected if is_tapped else self._received
            self.given = self._given_inspected if is_tapped else self._given
        elif isinstance(effect, Identify):
            self._askers.begin(effect)
        elif isinstance(effect, NoteAgent):
            self._askers.note(effect)
        elif isinstance(effect, EmitterEffect):
            self.emitters(effect)
        elif isinstance(effect, ProofEffect):
            self.proof(effect)
        elif isinstance(effect, McpSessionsChanged):
            self.mcp_sessions(effect)
        elif isinstance(effect, AnswerPart):
            self.person.answered(effect)
        elif not isinstance(effect, Send):
            self._disk.begin(effect)

    # Towers

    def _publish(self, entries: list[Entry], bodies: list[bytes]) -> None:
        """Send the turn's events to every tower whose snapshot does not hold them."""
        frames: list[bytes] = []
        for number, seen in list(self.gateway.watchers.items()):
            start = max(0, seen + 1 - entries[0].seq)
            port = self._ports.get(number)
            if port is None or number in self._slow.behind or start >= len(entries):
                continue
            try:
                if isinstance(port, InProcessPort):
                    port.deliver_events(entries[start:], sum(map(len, bodies[start:])))
                else:
                    frames = frames or _frames(entries, bodies)
                    self._send_frames(cast("SocketPort", port), frames[start:])
            except Exception:  # noqa: BLE001 - logged; the other towers get their events
                _log.exception("events could not be handed to tower connection %d", number)
                self._drop(number, _INTERNAL_ERROR, "internal error")

    def _send_frames(self, port: SocketPort, frames: Sequence[bytes]) -> None:
        for frame in frames:
            port.send(frame)
        self._touched.add(port.number)

    # Time

    def _set_timer(self) -> None:
        when = self.gateway.next_deadline
        if when is None or (self._timer is not None and self._timer_when <= when):
            return
        if self._timer is not None:
            self._timer.cancel()
        self._timer_when = when
        self._timer = self._loop.call_later(max(0.0, when - time.monotonic()), self._tick)

    def _tick(self) -> None:
        self._timer = None
        self._now = time.monotonic()
        self._into_core(0, self.gateway.tick)


def _frames(entries: list[Entry], bodies: list[bytes]) -> list[bytes]:
    """Return the turn's events as `tower.event` frames."""
    return [
        b'{"type":"tower.event","seq":%d,"ts":"%b","event":%b}'
        % (entry.seq, entry.ts.encode(), body)
        for entry, body in zip(entries, bodies, strict=True)
    ]


def _no_sockets() -> None:
    """No server is listening yet."""


def _nobody_runs_emitters(effect: EmitterEffect) -> None:
    raise RuntimeError(f"{type(effect).__name__}: emitters cannot be run here")


def _nobody_looks() -> None:
    """Nothing waits for the gateway's state."""
