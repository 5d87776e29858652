"""The gateway: one object that takes messages and time, and gives events and effects.

It owns no socket, no file and no clock. A shell calls `opened`, `received` (bytes) or `given`
(messages of in-process ends), `closed`, `recorded` and `tick`, then takes the turn's events and
effects with `take`: events are written first, then effects are carried out.
"""

from collections.abc import Callable
from typing import Any

import msgspec
from msgspec import UNSET, Struct

from tapui.core.approvals import Decided
from tapui.core.binding import Binding
from tapui.core.builtin_side import BuiltinSide
from tapui.core.caller_side import CallerSide
from tapui.core.connection import LEGAL, Connection, Standing
from tapui.core.deadlines import Deadlines, Due
from tapui.core.hello import Hellos
from tapui.core.host_side import HostSide
from tapui.core.matching import Matcher
from tapui.core.mint import Mint
from tapui.core.modes import ModeOrder
from tapui.core.output import Authenticated, ConnectionId, Effect, Output
from tapui.core.pairing import Pairings
from tapui.core.provider_side import ProviderSide
from tapui.core.providers import ConnectedProvider
from tapui.core.reactions import Reactions
from tapui.core.registers import Registers
from tapui.core.tower_side import TowerSide
from tapui.core.trust import Grant
from tapui.core.updates import Updates
from tapui.projection.state import State
from tapui.secret import Secret
from tapui.settings import Settings
from tapui.wire import builtin as b
from tapui.wire import host as h
from tapui.wire import limits
from tapui.wire import message as m
from tapui.wire import provider as p
from tapui.wire import tower as t
from tapui.wire.codec import Envelope, decode, envelope, raw, read, reader
from tapui.wire.errors import CallError, ErrorCode, WireError
from tapui.wire.events import Entry
from tapui.wire.message import FileResult

Handler = Callable[[Connection, Any], None]


_READERS = {standing: reader(kinds.values()) for standing, kinds in LEGAL.items()}
"""By state: what reads a well-formed message of it in one pass."""


class _CallId(Struct, rename="camel"):
    call_id: str


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
    ) -> None:
        self._deadlines = Deadlines()
        self._out = Output(run, mint, settings.records.inline)
        self._r = Registers(self._out, self._deadlines, mint, settings, persist_dir, matcher)
        self._r.trustees.add(Grant("project", Secret(provider_token)))
        self._internal = Grant("internal", Secret(internal_token))
        self._r.trustees.add(self._internal)
        self._binding = Binding(self._r)
        self._pairings = Pairings(self._r)
        self._hellos = Hellos(self._r, self._binding)
        self._providers = ProviderSide(self._r, self._binding)
        self._updates = Updates(self._r)
        self._callers = CallerSide(self._r)
        self._hosts = HostSide(self._r, self._binding)
        self._towers = TowerSide(self._r, self._binding, self._pairings)
        self._reactions = Reactions(self._r, self._pairings, self._hosts)
        self._builtins = BuiltinSide(self._r)
        self._numbers = 0
        self._handlers = self._table()

    def _table(self) -> dict[type[m.Message], Handler]:
        return {
            p.Auth: self._auth,
            p.AuthConfirm: self._pairings.confirm,
            p.Hello: self._hellos.hello,
            p.ToolResult: self._providers.tool_result,
            m.ToolProgress: self._providers.tool_progress,
            p.Push: self._providers.push,
            p.ToolsUpdate: self._providers.tools_update,
            p.HooksUpdate: self._updates.hooks_update,
            p.ContextUpdate: self._updates.context_update,
            p.FilterSet: self._updates.filter_set,
            p.StreamQuery: self._updates.stream_query,
            p.GateResult: self._updates.gate_result,
            p.TransformResult: self._updates.transform_result,
            p.SessionReady: self._providers.session_ready,
            p.ShutdownReady: self._providers.shutdown_ready,
            p.Goodbye: self._providers.goodbye,
            h.HostHello: self._hosts.hello,
            h.SessionOpen: self._hosts.session_open,
            h.SessionUpdate: self._hosts.session_update,
            h.SessionClose: self._hosts.session_close,
            m.SessionEvent: self._hosts.session_event,
            h.HookPreToolUse: self._callers.hook_pre_tool_use,
            h.PromptSubmitted: self._callers.prompt_submitted,
            h.ModeResult: self._hosts.mode_result,
            h.ApprovalRequest: self._hosts.approval_request,
            h.ApprovalWithdraw: self._hosts.approval_withdraw,
            h.SessionsUnattached: self._hosts.unattached,
            m.ToolInvoke: self._callers.tool_invoke,
            m.ToolAbort: self._callers.tool_abort,
            t.TowerHello: self._towers.hello,
            t.ApprovalReveal: self._towers.reveal,
            t.ApprovalDecide: self._towers.decide,
            t.CallCancel: self._towers.call_cancel,
            t.ProviderDisconnect: self._towers.provider_disconnect,
            t.ProviderMove: self._towers.provider_move,
            t.InjectsResume: self._towers.injects_resume,
            t.SessionMode: self._towers.session_mode,
            t.StreamRead: self._towers.stream_read,
            t.TokenMint: self._towers.token_mint,
            t.GatewayStop: self._towers.gateway_stop,
            b.StreamPost: self._builtins.stream_post,
            b.StateRead: self._builtins.state_read,
            b.ModeRequest: self._builtins.mode_request,
            b.ModeRequestCancel: self._builtins.mode_request_cancel,
        }

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
        return self._towers.watchers

    @property
    def next_deadline(self) -> float | None:
        """When `tick` is due next, or None."""
        return self._deadlines.next

    def standing(self, connection: ConnectionId) -> Standing:
        """Return the state of a connection; `CLOSED` for one that is gone."""
        known = self._r.connections.get(connection)
        return known.standing if known else Standing.CLOSED

    def busy_with(self) -> tuple[int, int, int]:
        """Return how many providers, calls in flight and interactive towers there are."""
        providers = [
            one for one in self._r.providers.connected.values() if not one.connection.is_builtin
        ]
        return len(providers), len(self.state.calls), len(self._r.interactive_towers())

    def feeders(self, host: ConnectionId) -> list[ConnectionId]:
        """Return the connections of the providers in a host's sessions."""
        return list(
            {
                provider.connection.id
                for session in self._r.sessions.open.values()
                if session.host == host
                for provider in session.providers.values()
                if not provider.connection.is_builtin
            }
        )

    def take(self) -> tuple[list[Entry], list[Effect]]:
        """Hand over the events and effects since the last time, in order."""
        return self._out.take()

    # What a shell reports

    def refusal(self) -> str | None:
        """Return why the next connection is refused at the handshake (HTTP 503), or None."""
        counted = [one for one in self._r.connections.values() if one.is_counted]
        if len(counted) >= limits.MAX_CONNECTIONS:
            return f"{limits.MAX_CONNECTIONS} connections are open already"
        strangers = sum(1 for one in counted if one.standing is Standing.AWAIT_AUTH)
        if strangers >= limits.MAX_UNAUTHENTICATED:
            return f"{limits.MAX_UNAUTHENTICATED} connections have not authenticated yet"
        return None

    def opened(self, origin: str | None, now: float) -> ConnectionId:
        """A socket was opened; return its number."""
        self._out.now = now
        connection = self._add(origin)
        connection.deadline = self._deadlines.add(now + limits.AUTH_TIMEOUT, Due.AUTH, connection)
        return connection.id

    def opened_in_process(self, now: float, *, is_builtin: bool = False) -> ConnectionId:
        """An end in this process was opened: it is trusted, and told the sessions at once."""
        self._out.now = now
        connection = self._add(None)
        connection.is_counted = False
        connection.is_builtin = is_builtin
        self._admit(connection, self._internal)
        return connection.id

    def _add(self, origin: str | None) -> Connection:
        self._numbers += 1
        connection = Connection(self._numbers, origin)
        self._r.connections[connection.id] = connection
        return connection

    def received(self, connection_id: ConnectionId, data: bytes, now: float) -> None:
        """A complete text message arrived on a socket."""
        connection = self._r.connections.get(connection_id)
        if connection is None:
            return
        self._out.now = now
        decoder = _READERS[connection.standing]
        message = None
        if decoder is not None and len(data) <= limits.MAX_MESSAGE_BYTES:
            message = read(data, decoder)
        if message is None:
            try:
                head, kind = self._read(connection, data)
                message = decode(data, head, kind)
            except WireError as error:
                self._garbled(connection, error, data)
                self._finish()
                return
        try:
            self._handlers[type(message)](connection, message)
        except WireError as error:
            self._refuse(connection, error, envelope(data))
        if self._r.closing or self._r.gates.has_settled:
            self._finish()

    def _read(self, connection: Connection, data: bytes) -> tuple[Envelope, type[m.Message]]:
        if len(data) > limits.MAX_RESULT_BYTES:
            raise _too_large(limits.MAX_RESULT_BYTES)
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

    def received_binary(self, connection_id: ConnectionId, now: float) -> None:
        """A binary message arrived: it is not JSON text."""
        connection = self._r.connections.get(connection_id)
        if connection is None:
            return
        self._out.now = now
        error = WireError(ErrorCode.INVALID_JSON, "a binary frame; messages are JSON text")
        self._garbled(connection, error, b"")
        self._finish()

    def given(self, connection_id: ConnectionId, message: m.Message, now: float) -> None:
        """An end in this process sent a message."""
        connection = self._r.connections.get(connection_id)
        if connection is None:
            return
        self._out.now = now
        head = _head_of(message)
        try:
            if head.type not in LEGAL[connection.standing]:
                raise head.refusal(
                    ErrorCode.UNKNOWN_TYPE,
                    f"'{head.type}' is not a message of state {connection.standing}",
                )
            self._handlers[type(message)](connection, message)
        except WireError as error:
            self._refuse(connection, error, head)
        self._finish()

    def closed(self, connection_id: ConnectionId, now: float) -> None:
        """A connection is gone."""
        connection = self._r.connections.get(connection_id)
        if connection is not None:
            self._out.now = now
            self._gone(connection, "connection lost")
            self._finish()

    def recorded(self, ticket: int, now: float, *, is_ok: bool) -> None:
        """The record of a ticket is durable, or could not be made so."""
        self._out.now = now
        subject = self._out.recorded(ticket)
        if isinstance(subject, Decided):
            self._reactions.decided(self._r.approvals.recorded(subject, is_ok=is_ok))
        elif isinstance(subject, ModeOrder):
            self._r.modes.recorded(subject, is_ok=is_ok)
        self._finish()

    def file_checked(self, ticket: int, now: float, fault: str | None, size: int = 0) -> None:
        """A result's file was looked for: `fault` says why it may not be used, `size` is bytes."""
        self._out.now = now
        subject = self._out.recorded(ticket)
        if isinstance(subject, tuple):
            call, file = subject
            self._r.calls.file_found(call, FileResult(file.path, file.mime_type, size), fault)
        self._finish()

    def tick(self, now: float) -> None:
        """Let every deadline up to `now` come."""
        self._out.now = now
        while (deadline := self._deadlines.pop(now)) is not None:
            self._due(deadline.due, deadline.subject)
        self._finish()

    def resend(self, connection_id: ConnectionId, now: float) -> None:
        """Send a tower that fell behind a new snapshot."""
        connection = self._r.connections.get(connection_id)
        if connection is not None and connection.id in self.watchers:
            self._out.now = now
            self._towers.snapshot(connection)

    def notify(self, notice: t.Notice | t.GatewayStopping, now: float) -> None:
        """Tell every tower something that is no event."""
        self._out.now = now
        for tower in self._r.of_standing(Standing.TOWER):
            self._out.send(tower.id, notice)

    def shut_down(self, now: float) -> None:
        """Close every session: the gateway is ending."""
        self._out.now = now
        self.notify(t.GatewayStopping(limits.SHUTDOWN_MS), now)
        for session in list(self._r.sessions.open.values()):
            self._binding.close_session(session, "the gateway stops")
        self._finish()

    @property
    def is_quiet(self) -> bool:
        """Whether no provider is still cleaning up after an ended session."""
        return not any(
            provider.view.state == "bound"
            and not provider.connection.is_builtin
            and not any(session.is_open for session in provider.sessions.values())
            and provider.sessions
            for provider in self._r.providers.connected.values()
        )

    # Inside

    def _auth(self, connection: Connection, message: p.Auth) -> None:
        if message.mode == "pair" and message.token is None:
            self._pairings.ask(connection)
            return
        if message.token is None:
            raise WireError(ErrorCode.INVALID_JSON, "token: missing")
        grant = self._r.trustees.find(message.token, connection.origin)
        if grant is None:
            raise WireError(ErrorCode.AUTH_FAILED, "unknown token")
        self._admit(connection, grant)

    def _admit(self, connection: Connection, grant: Grant) -> None:
        self._deadlines.cancel(connection.deadline)
        connection.grant = grant
        connection.standing = Standing.AWAIT_HELLO
        self._out.effects.append(Authenticated(connection.id))
        self._out.send(connection.id, p.Sessions(self._r.sessions.visible(grant)))

    def _refuse(self, connection: Connection, error: WireError, head: Envelope) -> None:
        echoed = head.refusal(error.code, error.text, session_id=error.session_id)
        echoed.id = error.id or echoed.id
        self._r.refuse(connection, echoed)

    def _garbled(self, connection: Connection, error: WireError, data: bytes) -> None:
        """Refuse what could not be read; a call that it may have answered must not hang.

        Core Profile "Tool call terminal semantics", rule 4.
        """
        self._r.refuse(connection, error)
        provider = connection.provider
        if provider is None:
            return
        if error.reply_to in ("gate.result", "transform.result"):
            self._garbled_answer(provider, data)
        if not provider.running:
            return
        if error.reply_to not in (None, "tool.result") or error.code is ErrorCode.UNKNOWN_TYPE:
            return
        running = [call for call in provider.calls.values() if not call.is_settled]
        if error.reply_to == "tool.result" and error.id is not None:
            call = provider.calls.get(error.id)
            if call is not None:
                self._r.calls.fail(call, CallError.INTERNAL, error.text)
        elif len(running) == 1:
            self._r.calls.fail(running[0], error.code, error.text)
        else:
            self._r.close(connection, 1008, "unreadable message with several calls in flight")

    def _garbled_answer(self, provider: ConnectedProvider, data: bytes) -> None:
        """A malformed answer to a gate is a no; one to a transform changes nothing."""
        try:
            call_id = msgspec.json.decode(data, type=_CallId).call_id
        except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
            asked = [*provider.gates, *provider.transforming]
            if len(asked) != 1:
                return  # which of them it was, nobody can tell: their time-outs decide
            call_id = asked[0]
        self._r.gates.failed(provider, call_id, "sent a malformed answer")
        self._r.prompts.failed(provider, call_id)

    def _due(self, due: Due, subject: Any) -> None:
        if due is Due.CALL:
            self._r.calls.due(subject)
        elif due is Due.CANCEL_GRACE:
            self._r.calls.grace_over(subject)
        elif due is Due.TOOLS_CHANGED:
            self._r.tools.tell(subject)
        elif due is Due.AUTH:
            error = WireError(ErrorCode.AUTH_FAILED, f"no auth within {limits.AUTH_TIMEOUT:g} s")
            self._r.refuse(subject, error)
        elif due is Due.SHUTDOWN:
            self._binding.shutdown_over(subject)
        elif due is Due.APPROVAL:
            self._reactions.expired(subject)
        elif due is Due.MODE_SET:
            self._r.modes.due(subject)
        elif due is Due.GATE:
            self._r.gates.due(subject)
        elif due is Due.TRANSFORM:
            self._r.prompts.due(subject)
        elif due is Due.IDENTITY:
            self._r.providers.forget(subject)

    def _finish(self) -> None:
        """Let settled inquiries have their way, and give up what closing connections held."""
        while self._r.closing or self._r.gates.has_settled:
            for settled in self._r.gates.take():
                self._callers.settled(settled)
            if self._r.closing:
                self._gone(self._r.closing.pop(), "closed")

    def _gone(self, connection: Connection, reason: str) -> None:
        if self._r.connections.pop(connection.id, None) is None:
            return
        former, connection.standing = connection.standing, Standing.CLOSED
        self._deadlines.cancel(connection.deadline)
        for call in list(connection.invokes.values()):
            self._r.calls.cancel(
                call, CallError.CANCELLED, "the caller is gone", "the caller is gone"
            )
        for inquiry in list(connection.inquiries.values()):
            self._r.gates.drop(inquiry, "who asked is gone")
        self._r.prompts.drop(connection)
        provider = connection.provider
        if provider is not None and provider.id in self._r.providers.connected:
            self._binding.disconnected(provider, provider.view.reason or reason)
        if former is Standing.AWAIT_PAIRING:
            self._pairings.gone(connection)
        elif former is Standing.HOST:
            self._hosts.gone(connection)
        elif former is Standing.TOWER:
            self._towers.gone(connection)
        for waiting in list(self._r.approvals.waiting.values()):
            if waiting.asker is connection:
                self._r.approvals.withdraw(waiting, reason="who asked is gone")


def _too_large(most: int) -> WireError:
    return WireError(ErrorCode.PAYLOAD_TOO_LARGE, f"a message has at most {most} bytes")


def _head_of(message: m.Message) -> Envelope:
    """Return the envelope of a message that never was bytes."""
    given = getattr(message, "id", None)
    return Envelope(
        type=str(message.__struct_config__.tag),
        id=raw(given) if isinstance(given, str) else UNSET,
    )
