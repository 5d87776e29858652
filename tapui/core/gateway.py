"""The gateway: one object that takes messages and time, and gives events and effects.

It owns no socket, no file and no clock. A shell calls `opened`, `received` (bytes) or `given`
(messages of in-process ends), and `tell` with `closed`, `answered`, `tick` and what else it knows;
then it takes the turn's events and effects with `take`: events are written first, then effects are
carried out.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ParamSpec, TypeVar

from tapui.core.context import IdSource
from tapui.core.conversations.legal import LEGAL
from tapui.core.deadlines import Due
from tapui.core.effects import ConnectionId, Effect
from tapui.core.handlers import due_handlers, handlers
from tapui.core.hooks.matching import Matcher
from tapui.core.model import Connection, Standing, Way
from tapui.core.parts import Parts
from tapui.core.trust.grants import Grant
from tapui.core.trust.person import SessionShell
from tapui.projection.state import State
from tapui.secret import Secret
from tapui.settings.settings import Settings
from tapui.wire import limits
from tapui.wire import message as m
from tapui.wire import tower as t
from tapui.wire.codec import (
    Envelope,
    decode,
    envelope,
    envelope_of,
    envelope_of_start,
    read,
    reader,
)
from tapui.wire.errors import CallError, ErrorCode, WireError
from tapui.wire.events import Entry

P = ParamSpec("P")
T = TypeVar("T")

_READERS = {standing: reader(kinds.values()) for standing, kinds in LEGAL.items()}
"""By state: what reads a well-formed message of it in one pass."""


class Gateway:
    """The core. `now` is the time, in seconds of one steady clock.

    What opens a connection, and what comes over it, takes the time itself: it is called for each
    message. Every other input goes through `tell`.
    """

    def __init__(
        self,
        *,
        run: str,
        ids: IdSource,
        settings: Settings,
        persist_dir: Callable[[str], str],
        matcher: Matcher,
        provider_token: str,
        internal_token: str,
        most_connections: int = limits.MAX_CONNECTIONS,
        started: t.GatewayStart | None = None,
        shell: SessionShell | None = None,
    ) -> None:
        self.parts = parts = Parts(
            run=run,
            ids=ids,
            settings=settings,
            persist_dir=persist_dir,
            matcher=matcher,
            most_connections=most_connections,
            started=started,
            shell=shell,
        )
        """What is known. A shell leaves it alone; tests hold it against what they were sent."""
        context = parts.context
        self._clock, self._out, self._deadlines = context.clock, context.out, context.deadlines
        self._connections, self._gates = parts.connections, parts.gates
        parts.trustees.add(Grant("project", Secret(provider_token)))
        parts.trustees.add(Grant("internal", Secret(internal_token)))
        self._numbers = 0
        self.emitter_folders, self.runs = parts.emitter_folders, parts.runs
        """What the shell tells of emitters: `begin`, folders' files, and reports of runs."""
        self.mcp_servers = parts.mcp_servers
        """What the shell tells of MCP servers."""
        self.traces = parts.traces
        """What the shell tells of the export of spans."""
        self.part_questions = parts.part_questions
        """What parts ask the person."""
        self.answered = context.tickets.answered
        """Takes a ticket and the answer to its effect."""
        self.proof = parts.proof
        """What the shell tells of ledgers and folders: `begin`."""
        self.policies, self.tool_hosts = parts.policies, parts.tool_hosts
        """What the shell tells of rules, and of the token for tools alone."""
        self._handlers = handlers(parts)
        self._due_handlers = due_handlers(parts)

    # What a shell reads

    @property
    def state(self) -> State:
        """The live state: the fold of all events so far."""
        return self._out.state

    @property
    def seq(self) -> int:
        return self._out.seq

    @property
    def watchers(self) -> dict[ConnectionId, int]:
        """Towers, each with the number of the last event that its snapshot holds."""
        return self.parts.tower.watchers

    @property
    def next_deadline(self) -> float | None:
        """When `tick` is due next, or None."""
        return self._deadlines.next

    def standing(self, connection: ConnectionId) -> Standing:
        """Return the state of a connection; `CLOSED` for one that is gone."""
        known = self._connections.by_number.get(connection)
        return known.standing if known else Standing.CLOSED

    def busy_with(self) -> tuple[int, int, int]:
        """Return how many providers, calls in flight and interactive towers there are."""
        providers = [
            one for one in self.parts.providers.connected.values() if not one.connection.is_builtin
        ]
        return len(providers), len(self.state.calls), len(self._connections.interactive_towers())

    def feeders(self, host: ConnectionId) -> list[ConnectionId]:
        """Return the connections of the providers in a host's sessions."""
        return list(
            {
                provider.connection.id
                for session in self.parts.sessions.open.values()
                if session.host == host
                for provider in session.providers.values()
                if not provider.connection.is_builtin
            }
        )

    def take(self) -> tuple[list[Entry], list[bytes], list[Effect]]:
        """Hand over the events, their JSON and the effects since the last time, in order."""
        guarded = self.parts.policies.take_guarded()
        entries, bodies, effects = self._out.take()
        return entries, bodies, [*guarded, *effects] if guarded else effects

    # What a shell reports

    def refusal(self, origin: str | None = None) -> str | None:
        """Return why the next connection is refused at the handshake (HTTP 503), or None."""
        return self.parts.places.refusal(origin)

    def opened(
        self, origin: str | None, now: float, way: Way = Way.OTHER, pid: int | None = None
    ) -> ConnectionId:
        """A socket was opened, by the process `pid` where that is known; return its number."""
        self._clock.now = now
        connection = self._add(origin)
        connection.way, connection.pid = way, pid
        connection.deadline = self._deadlines.add(now + limits.AUTH_TIMEOUT, Due.AUTH, connection)
        self.parts.places.opened(connection)
        self._finish()
        return connection.id

    def opened_in_process(
        self, now: float, grant: Grant | None = None, *, is_builtin: bool = False
    ) -> ConnectionId:
        """An end in this process was opened: it shows no token and gets the sessions at once.

        `grant` says what it may do, as for a token; None is all that *internal* may.
        """
        self._clock.now = now
        connection = self._add(None)
        connection.is_counted = False
        connection.is_builtin = is_builtin
        if grant is None:
            grant = Grant("internal", is_budgeted=not is_builtin)
        elif grant.sessions is not None:
            grant = replace(grant, sessions=set(grant.sessions))
        self.parts.admission.admit(connection, grant)
        return connection.id

    def _add(self, origin: str | None) -> Connection:
        self._numbers += 1
        connection = Connection(self._numbers, origin)
        self._connections.by_number[connection.id] = connection
        return connection

    def received(self, connection_id: ConnectionId, data: bytes, now: float) -> None:
        """A complete text message arrived on a socket."""
        connection = self._connections.by_number.get(connection_id)
        if connection is None:
            return
        self._clock.now = now
        decoder = _READERS[connection.standing]
        message = None
        if decoder is not None and len(data) <= limits.MAX_MESSAGE_BYTES:
            message = read(data, decoder)
        if message is None:
            try:
                head, kind = self._read(connection, data)
                message = decode(data, head, kind)
            except WireError as error:
                self.parts.bad_frames.refuse(connection, error, data)
                self._finish()
                return
        try:
            self._handlers[connection.standing][type(message)](connection, message)
        except WireError as error:
            self._connections.refuse_message(connection, error, envelope(data))
        if self._connections.closing or self._gates.has_settled:
            self._finish()

    def _read(self, connection: Connection, data: bytes) -> tuple[Envelope, type[m.Message]]:
        if len(data) > limits.MAX_RESULT_BYTES:
            raise _oversized(data[: limits.OVERSIZED_HEAD_BYTES])
        head = envelope(data)
        if len(data) > limits.MAX_MESSAGE_BYTES and head.type != "tool.result":
            raise head.refusal(
                ErrorCode.PAYLOAD_TOO_LARGE,
                f"a {head.type} has at most {limits.MAX_MESSAGE_BYTES} bytes",
            )
        kind = LEGAL[connection.standing].get(head.type)
        if kind is None:
            raise head.refusal(
                ErrorCode.UNKNOWN_TYPE,
                f"'{head.type[:64]}' is not a message of state {connection.standing}",
            )
        return head, kind

    def received_oversized(self, connection_id: ConnectionId, start: bytes) -> None:
        """A message over `MAX_RESULT_BYTES` arrived; `start` is its beginning."""
        connection = self._connections.by_number.get(connection_id)
        if connection is not None:
            self.parts.bad_frames.refuse(connection, _oversized(start), start)

    def received_binary(self, connection_id: ConnectionId) -> None:
        """A binary message arrived: it is not JSON text."""
        connection = self._connections.by_number.get(connection_id)
        if connection is not None:
            error = WireError(ErrorCode.INVALID_JSON, "a binary frame; messages are JSON text")
            self.parts.bad_frames.refuse(connection, error, b"")

    def given(self, connection_id: ConnectionId, message: m.Message, now: float) -> None:
        """An end in this process sent a message."""
        connection = self._connections.by_number.get(connection_id)
        if connection is None:
            return
        self._clock.now = now
        kind = type(message)
        try:
            take = self._handlers[connection.standing].get(kind)
            if take is None:
                raise WireError(
                    ErrorCode.UNKNOWN_TYPE,
                    f"'{kind.__struct_config__.tag}' is not a message of state "
                    f"{connection.standing}",
                )
            take(connection, message)
        except WireError as error:
            self._connections.refuse_message(connection, error, envelope_of(message))
        if self._connections.closing or self._gates.has_settled:
            self._finish()

    def closed(self, connection_id: ConnectionId) -> None:
        """A connection is gone."""
        connection = self._connections.by_number.get(connection_id)
        if connection is not None:
            self._gone(connection, "connection lost")

    def tell(self, now: float, step: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Take any other input at the time `now`: `step` is a method of this object, or of a part
        that it names. What closing connections held is released after it."""
        self._clock.now = now
        result = step(*args, **kwargs)
        self._finish()
        return result

    def tick(self) -> None:
        """Let every deadline up to now come."""
        while (come := self._deadlines.pop(self._clock.now)) is not None:
            self._due(*come)

    def resend(self, connection_id: ConnectionId) -> None:
        """Send a tower that fell behind a new snapshot."""
        connection = self._connections.by_number.get(connection_id)
        if connection is not None and connection.id in self.watchers:
            self.parts.tower.snapshot(connection)

    def notify(self, notice: t.Notice | t.GatewayStopping) -> None:
        """Tell every tower something that is no event."""
        for tower in self._connections.of_standing(Standing.TOWER):
            self._out.send(tower.id, notice)

    def shut_down(self) -> None:
        """Close every session: the gateway is ending."""
        self.notify(t.GatewayStopping(limits.SHUTDOWN_MS))
        self.parts.tool_hosts.stop()
        self.parts.emitter_folders.stop()
        self.parts.mcp_servers.stop()
        for session in list(self.parts.sessions.open.values()):
            self.parts.endings.close(session, "the gateway stops")

    @property
    def is_quiet(self) -> bool:
        """Whether every provider has finished its clean-up after ended sessions."""
        return not any(
            provider.view.state == "bound"
            and not provider.connection.is_builtin
            and not any(session.is_open for session in provider.sessions.values())
            and provider.sessions
            for provider in self.parts.providers.connected.values()
        )

    # Inside

    def _due(self, due: Due, subject: Any) -> None:
        self._due_handlers[due](subject)

    def _finish(self) -> None:
        """Carry out what inquiries decided, and release what closing connections held."""
        while self._connections.closing or self._gates.has_settled:
            for settled in self._gates.take():
                self.parts.caller.settled(settled)
            if self._connections.closing:
                self._gone(self._connections.closing.pop(), "closed")

    def _gone(self, connection: Connection, reason: str) -> None:
        """Cancel what a connection asked for, and end what it was; `reason` is a provider's."""
        if self._connections.by_number.pop(connection.id, None) is None:
            return
        parts = self.parts
        former, connection.standing = connection.standing, Standing.CLOSED
        parts.inspecting.gone(connection)
        self._deadlines.cancel(connection.deadline)
        for call in list(connection.invokes.values()):
            parts.calls.cancel(
                call, CallError.CANCELLED, "the caller is gone", "the caller is gone"
            )
        for inquiry in list(connection.inquiries.values()):
            parts.gates.drop(inquiry, "who asked is gone")
        parts.prompts.drop(connection)
        provider, connection.provider = connection.provider, None
        if provider is not None and provider.id in parts.providers.connected:
            parts.binding.disconnected(provider, provider.view.reason or reason)
        if former is Standing.AWAIT_PAIRING:
            parts.pairings.gone(connection)
        elif former is Standing.HOST:
            parts.host.gone(connection)
        elif former is Standing.TOOL_HOST:
            parts.tool_hosts.gone(connection)
        elif former is Standing.TOWER:
            parts.tower.gone(connection)
            parts.guard.gone(connection)
        for waiting in list(parts.approvals.waiting.values()):
            if waiting.asker is connection:
                parts.approvals.withdraw(waiting, reason="who asked is gone")


def _oversized(start: bytes) -> WireError:
    """Return the refusal of a message that is larger than any that is accepted."""
    head = envelope_of_start(start)
    if head is None:
        text = f"a message has at most {limits.MAX_RESULT_BYTES} bytes"
        return WireError(ErrorCode.PAYLOAD_TOO_LARGE, text)
    is_result = head.type == "tool.result"
    most = limits.MAX_RESULT_BYTES if is_result else limits.MAX_MESSAGE_BYTES
    text = f"a {head.type[:64]} has at most {most} bytes"
    return head.refusal(ErrorCode.PAYLOAD_TOO_LARGE, text)
