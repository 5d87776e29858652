"""The tower's conversation: the snapshot, the person's decisions (`tapui/wire/README.md`)."""

from dataclasses import dataclass

from tapui.core.approvals.approvals import Approvals, Decided
from tapui.core.approvals.modes import ModeOrder, Modes
from tapui.core.approvals.policies import Policies
from tapui.core.calls.calls import Calls
from tapui.core.calls.native import NativeCalls
from tapui.core.context import CorePart
from tapui.core.conversations.connections import Connections
from tapui.core.conversations.legal import check_version
from tapui.core.effects import ConnectionId, StopGateway
from tapui.core.emitters.registry import Emitters
from tapui.core.model import ConnectedProvider, Connection, Standing
from tapui.core.providers.binding import Binding
from tapui.core.providers.identity import Providers
from tapui.core.sessions.sessions import Announcements, OpenSessions
from tapui.core.sessions.starts import Starts
from tapui.core.streams.injects import Injects
from tapui.core.trust.grants import Grant, Trustees
from tapui.core.trust.guard import PersonGuard
from tapui.core.trust.pairing import Pairings
from tapui.core.trust.places import Places
from tapui.projection.requests.kinds import kind_of
from tapui.secret import Secret
from tapui.wire.errors import CallError, ErrorCode, WireError
from tapui.wire.host import SessionAbort
from tapui.wire.subjects import YOU
from tapui.wire.tower import (
    ApprovalDecide,
    ApprovalReveal,
    CallCancel,
    GatewayStart,
    GatewayStop,
    InjectsResume,
    ProviderDisconnect,
    ProviderMove,
    SessionMode,
    TokenMint,
    TokenMinted,
    TowerHello,
    TowersChanged,
    TowerSnapshot,
)


@dataclass(eq=False, repr=False)
class TowerConversation(CorePart):
    """Handlers of what towers send. Each raises `WireError` to refuse."""

    connections: Connections
    sessions: OpenSessions
    announcements: Announcements
    providers: Providers
    binding: Binding
    calls: Calls
    native: NativeCalls
    injects: Injects
    approvals: Approvals
    modes: Modes
    trustees: Trustees
    pairings: Pairings
    policies: Policies
    starts: Starts
    emitters: Emitters
    guard: PersonGuard
    places: Places
    started: GatewayStart | None

    def __post_init__(self) -> None:
        super().__post_init__()
        self.watchers: dict[ConnectionId, int] = {}
        """Towers by connection, with the number of the last event that their snapshot holds."""

    def hello(self, connection: Connection, message: TowerHello) -> None:
        """Register a tower and send it the state."""
        check_version(message.protocol_version)
        if connection.grant is None or connection.grant.trust != "internal":
            raise WireError(ErrorCode.UNAUTHORIZED, "tower.hello needs the internal token")
        connection.standing = Standing.TOWER
        connection.name = message.name or "tower"
        connection.is_interactive = message.role in (None, "tower")
        connection.asks = connection.is_interactive
        connection.is_inside = message.is_inside
        if not connection.is_counted:
            connection.by, connection.asks = YOU, message.role != "client"
        self.snapshot(connection)
        if connection.is_interactive:
            self.guard.look_at(connection, message)
            self._count(but=connection)

    def snapshot(self, connection: Connection) -> None:
        """Send the whole state; events after it follow."""
        out, towers = self._out, self.connections.interactive_towers()
        self.watchers[connection.id] = out.seq
        out.send(
            connection.id,
            TowerSnapshot(
                out.seq,
                out.state.snapshot(),
                out.run,
                len(towers),
                is_first=towers[:1] == [connection],
                places=self.places.taken(),
                started=self.started,
            ),
        )

    def gone(self, connection: Connection) -> None:
        self.watchers.pop(connection.id, None)
        self.starts.tower_gone(connection)
        if connection.is_interactive:
            connection.is_interactive = connection.asks = False
            self._count(but=connection)
            self.pairings.open_into_timeline()
            self.modes.tower_gone()

    def _count(self, but: Connection) -> None:
        towers = self.connections.interactive_towers()
        for tower in towers:
            if tower is not but:
                is_first = tower is towers[0]
                self._out.send(tower.id, TowersChanged(len(towers), is_first))

    # Approvals

    def reveal(self, connection: Connection, message: ApprovalReveal) -> None:
        waiting = self.approvals.find(message.approval_id)
        if waiting.view.kind != "pairing":
            raise WireError(ErrorCode.INVALID_JSON, "approvalId: only a pairing is revealed")
        sessions = tuple(self.sessions.required(id_).id for id_ in message.sessions or ())
        self.pairings.reveal(waiting, connection, sessions, connection.by)

    def decide(self, connection: Connection, message: ApprovalDecide) -> None:
        """Approve, with what answers it, or deny. A pairing is approved by revealing it."""
        waiting = self.approvals.find(message.approval_id)
        if waiting.view.kind == "pairing" and message.decision == "approve":
            self.pairings.reveal(waiting, connection, (), connection.by)
            return
        unfit = kind_of(waiting.view).unfit(waiting.view, message.answer)
        if unfit and message.decision == "approve":
            raise WireError(ErrorCode.INVALID_JSON, unfit)
        is_kept = message.keep and message.decision == "approve"
        if is_kept:
            self.policies.check_keepable(waiting)
        self.approvals.decide(
            Decided(
                waiting,
                message.decision,
                connection.by,
                answer=message.answer,
                reason=message.reason,
                tower=connection,
                is_kept=is_kept,
            )
        )

    # Calls, providers, sessions

    def call_cancel(self, connection: Connection, message: CallCancel) -> None:  # noqa: ARG002
        """Cancel a call. One of a session's own tools ends with the session's turn."""
        call = self.calls.pending.get(message.id)
        if call is not None:
            self.calls.cancel(
                call, CallError.CANCELLED, "cancelled by the person", "cancelled by the person"
            )
            return
        session = self.native.session_with(self.sessions.open.values(), message.id)
        if session is None:
            text = f"call {message.id} is not in flight"
            raise WireError(ErrorCode.NOT_FOUND, text, id=message.id)
        self._out.send(session.host, SessionAbort(session.id))

    def provider_disconnect(self, connection: Connection, message: ProviderDisconnect) -> None:  # noqa: ARG002
        provider = self._provider(message.provider_id)
        provider.reconnect = None
        self.connections.close(provider.connection, 1000, "disconnected by the person")

    def provider_move(self, connection: Connection, message: ProviderMove) -> None:
        provider = self._provider(message.provider_id)
        session = self.sessions.required(message.session_id)
        if provider.is_everywhere or provider.view.state != "bound":
            raise WireError(
                ErrorCode.INVALID_SESSION,
                f"provider '{provider.label}' is not bound to one session",
                session_id=session.id,
            )
        source = next(iter(provider.sessions.values()))
        if source is session:
            return
        if not source.is_open:
            raise WireError(
                ErrorCode.INVALID_SESSION, f"Session {source.id} is ending", session_id=source.id
            )
        holder = self.providers.holder([session], provider.name, provider.view.instance)
        if holder is not None:
            raise WireError(
                ErrorCode.TOOL_CONFLICT,
                f"'{provider.label}' is in session {session.id} already",
                session_id=session.id,
            )
        self.binding.move(provider, session, f"moved by {connection.by}", cancel=True)
        if not provider.grant.covers(session.id):
            # The person allowed it to this connection, not to others with its token.
            provider.connection.grant = provider.grant.widened({session.id})
            self.announcements.send_to(provider.connection)

    def injects_resume(self, connection: Connection, message: InjectsResume) -> None:  # noqa: ARG002
        session = self.sessions.required(message.session_id)
        emitter = self.emitters.by_id.get(message.provider_id)
        self.injects.resume(session, emitter or self._provider(message.provider_id))

    def session_mode(self, connection: Connection, message: SessionMode) -> None:
        session = self.sessions.required(message.session_id)
        if session.is_apart:
            text = "the session of a tool host has no mode"
            raise WireError(ErrorCode.NOT_FOUND, text, session_id=session.id)
        if not connection.is_interactive:
            self.modes.check_command(session, message.mode)
        self.modes.order(ModeOrder(session, message.mode, connection.by, connection))

    def token_mint(self, connection: Connection, message: TokenMint) -> None:
        """Make a provider token for one session; it dies with the session."""
        session = self.sessions.required(message.session_id)
        token = self._ids.token("ptk-")
        self.trustees.add(Grant("project", Secret(token), {session.id}))
        self._out.send(connection.id, TokenMinted(message.id, token))

    def gateway_stop(self, connection: Connection, message: GatewayStop) -> None:  # noqa: ARG002
        self._out.effects.append(StopGateway())

    def _provider(self, provider_id: str) -> ConnectedProvider:
        provider = self.providers.connected.get(provider_id)
        if provider is None or provider.connection.is_builtin:
            raise WireError(ErrorCode.NOT_FOUND, f"provider {provider_id} is not connected")
        return provider
