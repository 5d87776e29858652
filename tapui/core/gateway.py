"""The gateway: one object that takes messages and time, and gives events and effects.

It owns no socket, no file and no clock. A shell calls `opened`, `received` (bytes) or `given`
(messages of in-process ends), `closed`, `recorded` and `tick`, then takes the turn's events and
effects with `take`: events are written first, then effects are carried out.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

from tapui.core.approvals.approvals import Decided
from tapui.core.approvals.modes import ModeOrder
from tapui.core.conversations.legal import LEGAL
from tapui.core.conversations.reading import PendingRead
from tapui.core.conversations.release import release
from tapui.core.conversations.tool_hosts import ToolHostWanted
from tapui.core.deadlines import Due
from tapui.core.effects import ConnectionId, Copied, Effect, Identified, NotCopied
from tapui.core.handlers import due_handlers, handlers
from tapui.core.hooks.matching import Matcher
from tapui.core.mint import Mint
from tapui.core.model import Connection, OpenSession, Standing, Way
from tapui.core.parts import Parts
from tapui.core.tickets import FolderWanted
from tapui.core.trust.grants import Grant
from tapui.core.trust.guard import IdentityWanted
from tapui.policies.guarded import Guards
from tapui.policies.reading import FolderRules
from tapui.policies.rules import PolicyRule
from tapui.projection.state import State
from tapui.secret import Secret
from tapui.settings import Settings
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
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.events import Entry

_KINDS = {standing: frozenset(kinds.values()) for standing, kinds in LEGAL.items()}
"""By state: the messages that an end in this process may send."""
_READERS = {standing: reader(kinds.values()) for standing, kinds in LEGAL.items()}
"""By state: what reads a well-formed message of it in one pass."""


class Gateway:
    """The core. All methods take the time `now`, in seconds of one steady clock."""

    def __init__(
        self,
        *,
        run: str,
        mint: Mint,
        settings: Settings,
        persist_dir: Callable[[str], str],
        matcher: Matcher,
        provider_token: str,
        internal_token: str,
        most_connections: int = limits.MAX_CONNECTIONS,
    ) -> None:
        self.parts = parts = Parts(
            run=run,
            mint=mint,
            settings=settings,
            persist_dir=persist_dir,
            matcher=matcher,
            most_connections=most_connections,
        )
        """What is known. A shell leaves it alone; tests hold it against what they were sent."""
        context = parts.context
        self._clock, self._out, self._deadlines = context.clock, context.out, context.deadlines
        self._connections, self._gates = parts.connections, parts.gates
        parts.trustees.add(Grant("project", Secret(provider_token)))
        parts.trustees.add(Grant("internal", Secret(internal_token)))
        self._numbers = 0
        self.emitters = parts.emitter_inputs
        """What the shell tells of emitters."""
        self.emitters.finish = self._finish
        self.mcp_servers = parts.mcp_servers
        """What the shell tells of MCP servers."""
        self.part_questions = parts.part_questions
        """What parts ask the person."""
        self._handlers = handlers(parts)
        self._due_handlers = due_handlers(parts)

    # What a shell reads

    @property
    def state(self) -> State:
        """The live state: the fold of all events so far."""
        return self._out.state

    @property
    def seq(self) -> int:
        """The number of the last event."""
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

    def opened(self, origin: str | None, now: float, way: Way = Way.OTHER) -> ConnectionId:
        """A socket was opened; return its number."""
        self._clock.now = now
        connection = self._add(origin)
        connection.way = way
        connection.deadline = self._deadlines.add(now + limits.AUTH_TIMEOUT, Due.AUTH, connection)
        self.parts.places.opened(connection)
        self._finish()
        return connection.id

    def opened_in_process(
        self, now: float, grant: Grant | None = None, *, is_builtin: bool = False
    ) -> ConnectionId:
        """An end in this process was opened: it shows no token and is told the sessions at once.

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
                self.parts.garbled.refuse(connection, error, data)
                self._finish()
                return
        try:
            self._handlers[type(message)](connection, message)
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

    def received_oversized(self, connection_id: ConnectionId, start: bytes, now: float) -> None:
        """A message over `MAX_RESULT_BYTES` arrived; `start` is its beginning."""
        connection = self._connections.by_number.get(connection_id)
        if connection is None:
            return
        self._clock.now = now
        self.parts.garbled.refuse(connection, _oversized(start), start)
        self._finish()

    def received_binary(self, connection_id: ConnectionId, now: float) -> None:
        """A binary message arrived: it is not JSON text."""
        connection = self._connections.by_number.get(connection_id)
        if connection is None:
            return
        self._clock.now = now
        error = WireError(ErrorCode.INVALID_JSON, "a binary frame; messages are JSON text")
        self.parts.garbled.refuse(connection, error, b"")
        self._finish()

    def given(self, connection_id: ConnectionId, message: m.Message, now: float) -> None:
        """An end in this process sent a message."""
        connection = self._connections.by_number.get(connection_id)
        if connection is None:
            return
        self._clock.now = now
        kind = type(message)
        try:
            if kind not in _KINDS[connection.standing]:
                raise WireError(
                    ErrorCode.UNKNOWN_TYPE,
                    f"'{kind.__struct_config__.tag}' is not a message of state "
                    f"{connection.standing}",
                )
            self._handlers[kind](connection, message)
        except WireError as error:
            self._connections.refuse_message(connection, error, envelope_of(message))
        if self._connections.closing or self._gates.has_settled:
            self._finish()

    def closed(self, connection_id: ConnectionId, now: float) -> None:
        """A connection is gone."""
        connection = self._connections.by_number.get(connection_id)
        if connection is not None:
            self._clock.now = now
            self._gone(connection, "connection lost")
            self._finish()

    def recorded(self, ticket: int, now: float, *, is_ok: bool) -> None:
        """The record of a ticket is durable, or could not be made so."""
        self._clock.now = now
        subject = self.parts.context.tickets.take(ticket)
        if isinstance(subject, Decided):
            self.parts.reactions.decided(self.parts.approvals.recorded(subject, is_ok=is_ok))
        elif isinstance(subject, ModeOrder):
            self.parts.modes.recorded(subject, is_ok=is_ok)
        self._finish()

    def identified(self, ticket: int, now: float, found: Identified) -> None:
        """It is known which process is behind a connection."""
        self._clock.now = now
        subject = self.parts.context.tickets.take(ticket)
        if isinstance(subject, IdentityWanted):
            self.parts.guard.identified(subject, found)
        elif isinstance(subject, ToolHostWanted):
            self.parts.tool_hosts.identified(subject, found)
        self._finish()

    def file_copied(self, ticket: int, now: float, copied: Copied | NotCopied) -> None:
        """A result's file was copied, or may not be used."""
        self._clock.now = now
        subject = self.parts.context.tickets.take(ticket)
        if isinstance(subject, tuple):
            call, file = subject
            self.parts.calls.file_copied(call, file, copied)
        self._finish()

    def records_read(
        self, ticket: int, now: float, entries: list[Entry], fault: str | None = None
    ) -> None:
        """Records were read back, oldest first; `fault` says why they could not be."""
        self._clock.now = now
        subject = self.parts.context.tickets.take(ticket)
        if isinstance(subject, PendingRead):
            self.parts.reading.records_read(subject, entries, fault)
        elif isinstance(subject, OpenSession):
            self.parts.history.records_read(subject, entries)
        self._finish()

    def rules_read(self, rules: Sequence[PolicyRule], guards: Guards, now: float) -> None:
        """The person's rules and the administrator's were read, or read again."""
        self._clock.now = now
        self.parts.policies.rules_read(rules, guards)
        self._finish()

    def tools_token_read(self, token: Secret | None, now: float) -> None:
        """The token for tools alone was read, or read again; None: there is none.

        Connections that were opened with a former one end at once.
        """
        self._clock.now = now
        self.parts.tool_hosts.token_read(token)
        self._finish()

    def folder_rules_read(self, ticket: int, read: FolderRules, now: float) -> None:
        """The rules of a session's folder were read."""
        self._clock.now = now
        subject = self.parts.context.tickets.take(ticket)
        if isinstance(subject, FolderWanted):
            self.parts.policies.folder_read(subject.session, read)
        self._finish()

    def folder_rules_changed(self, read: FolderRules, now: float) -> None:
        """The files of a folder were changed."""
        self._clock.now = now
        self.parts.policies.folder_changed(read)
        self._finish()

    def tick(self, now: float) -> None:
        """Let every deadline up to `now` come."""
        self._clock.now = now
        while (come := self._deadlines.pop(now)) is not None:
            self._due(*come)
        self._finish()

    def resend(self, connection_id: ConnectionId, now: float) -> None:
        """Send a tower that fell behind a new snapshot."""
        connection = self._connections.by_number.get(connection_id)
        if connection is not None and connection.id in self.watchers:
            self._clock.now = now
            self.parts.tower.snapshot(connection)

    def notify(self, notice: t.Notice | t.GatewayStopping, now: float) -> None:
        """Tell every tower something that is no event."""
        self._clock.now = now
        for tower in self._connections.of_standing(Standing.TOWER):
            self._out.send(tower.id, notice)

    def shut_down(self, now: float) -> None:
        """Close every session: the gateway is ending."""
        self._clock.now = now
        self.notify(t.GatewayStopping(limits.SHUTDOWN_MS), now)
        self.parts.tool_hosts.stop()
        self.parts.emitter_folders.stop()
        self.parts.mcp_servers.stop()
        for session in list(self.parts.sessions.open.values()):
            self.parts.endings.close(session, "the gateway stops")
        self._finish()

    @property
    def is_quiet(self) -> bool:
        """Whether no provider is still cleaning up after an ended session."""
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
        if self._connections.by_number.pop(connection.id, None) is None:
            return
        release(self.parts, connection, reason)


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
