"""All registers of a gateway in one hand, and what every conversation does with them."""

from collections.abc import Callable
from dataclasses import dataclass, field

from tapui.core.approvals import Approvals
from tapui.core.budgets import Budgets
from tapui.core.calls import Calls
from tapui.core.connection import Connection, Standing
from tapui.core.deadlines import Deadlines
from tapui.core.gates import Gates
from tapui.core.matching import Matcher
from tapui.core.mint import Mint
from tapui.core.modes import Modes
from tapui.core.output import Close, ConnectionId, Output
from tapui.core.prompts import Prompts
from tapui.core.providers import ConnectedProvider, Providers
from tapui.core.sessions import OpenSession, Sessions
from tapui.core.streams import Streams
from tapui.core.tools import ToolTable
from tapui.core.trust import Trustees
from tapui.settings import Settings
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.events import ErrorSent
from tapui.wire.message import Error
from tapui.wire.provider import SessionsUpdated


@dataclass(slots=True, eq=False)
class Registers:
    """What the gateway knows."""

    out: Output
    deadlines: Deadlines
    mint: Mint
    settings: Settings
    persist_dir: Callable[[str], str]
    """The folder for a provider's files, by the provider's name."""
    matcher: Matcher
    sessions: Sessions = field(init=False)
    providers: Providers = field(init=False)
    tools: ToolTable = field(init=False)
    calls: Calls = field(init=False)
    streams: Streams = field(init=False)
    budgets: Budgets = field(init=False)
    approvals: Approvals = field(init=False)
    modes: Modes = field(init=False)
    gates: Gates = field(init=False)
    prompts: Prompts = field(init=False)
    trustees: Trustees = field(default_factory=Trustees)
    connections: dict[ConnectionId, Connection] = field(default_factory=dict)
    closing: list[Connection] = field(default_factory=list)

    def __post_init__(self) -> None:
        out, deadlines, mint = self.out, self.deadlines, self.mint
        self.sessions = Sessions(out)
        self.providers = Providers(out, deadlines, mint)
        self.tools = ToolTable(out, deadlines)
        self.calls = Calls(out, deadlines, mint, self.settings.timeouts.call)
        self.streams = Streams(out)
        self.budgets = Budgets(out)
        self.approvals = Approvals(out, deadlines, mint)
        self.modes = Modes(out, deadlines, mint)
        self.gates = Gates(out, deadlines, mint)
        self.prompts = Prompts(out, deadlines, mint)

    def of_standing(self, *standings: Standing) -> list[Connection]:
        """Return the connections in one of the given states."""
        return [one for one in self.connections.values() if one.standing in standings]

    def interactive_towers(self) -> list[Connection]:
        """Return the towers at which a person sits."""
        return [one for one in self.of_standing(Standing.TOWER) if one.is_interactive]

    def refuse(self, connection: Connection, error: WireError) -> None:
        """Answer a refused message; a fatal code closes the connection."""
        provider = connection.provider
        self.out.send(
            connection.id,
            Error(
                code=error.code,
                message=error.text,
                reply_to=error.reply_to,
                id=error.id,
                request_id=error.request_id,
                provider_id=provider.id if provider else None,
                session_id=error.session_id or (provider.view.session_id if provider else None),
            ),
        )
        if connection.grant is not None or error.code.is_fatal:
            self.out.emit(
                ErrorSent(
                    code=error.code,
                    message=error.text,
                    reply_to=error.reply_to,
                    provider=provider.name if provider else connection.name or None,
                    provider_id=provider.id if provider else None,
                    session_id=error.session_id,
                    origin=connection.origin,
                )
            )
        if error.code.is_fatal:
            self.close(connection, 1008, error.code)

    def close(self, connection: Connection, code: int, reason: str) -> None:
        """Close a connection; what it held is given up at the end of this input."""
        if connection not in self.closing:
            self.closing.append(connection)
            self.out.effects.append(Close(connection.id, code, reason))

    def announce_sessions(self) -> None:
        """Send `sessions.updated` to every provider."""
        for connection in self.of_standing(
            Standing.AWAIT_HELLO, Standing.BOUND, Standing.UNBOUND, Standing.BUILTIN
        ):
            self.out.send(connection.id, SessionsUpdated(self.sessions.visible(connection.grant)))

    def session_of(
        self, provider: ConnectedProvider, session_id: str | None, what: str
    ) -> OpenSession:
        """Return the open session that a provider's message is about, among its own.

        Raises `WireError` (`INVALID_SESSION`).
        """
        if session_id is None:
            if provider.is_everywhere:
                raise WireError(
                    ErrorCode.INVALID_SESSION, f"a {what} of a provider of all sessions names one"
                )
            session = next(iter(provider.sessions.values()), None)
        else:
            session = self.sessions.get(session_id)
        if session is None or not session.is_open or not provider.is_in(session):
            wanted = session_id or provider.view.session_id or ""
            raise WireError(
                ErrorCode.INVALID_SESSION, f"Session {wanted} does not exist", session_id=wanted
            )
        return session

    def sessions_of(
        self, provider: ConnectedProvider, session_id: str | None, what: str
    ) -> list[OpenSession]:
        """Return the open sessions that an update is about: the one named, or all its own."""
        if provider.is_everywhere and session_id is None:
            return [session for session in provider.sessions.values() if session.is_open]
        return [self.session_of(provider, session_id, what)]
