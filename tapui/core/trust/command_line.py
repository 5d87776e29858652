"""Who may answer from the command line: the person, and not the programs that are asked about.

A command (`role: "client"`) that decides, answers or sends is taken once the process behind it is
known: it has a terminal, and it is no descendant of a session's own process, of an MCP client, of
a provider or of an emitter. A tower is taken unless a session or an emitter has started it. It is a
guard and no wall between programs of one user: whoever reads the token and speaks the protocol is a
tower.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from tapui.core.conversations.connections import Connections
from tapui.core.effects import ConnectionId, Identified
from tapui.core.model import Connection, Standing
from tapui.core.output import Output
from tapui.core.sessions.sessions import OpenSessions
from tapui.core.tickets import Tickets
from tapui.wire import limits
from tapui.wire.errors import ErrorCode, WireError
from tapui.wire.events import CommandAsked
from tapui.wire.message import Message

Handler = Callable[[Connection, Any], None]
ALWAYS = "always"
"""The setting with which nobody is asked who they are."""


@dataclass(frozen=True, slots=True)
class Held:
    """A message that waits until its sender's process is known."""

    connection: Connection
    message: Message
    handler: Handler


@dataclass(frozen=True, slots=True)
class IdentityWanted:
    """The subject of a look at the process behind a connection."""

    connection: ConnectionId


class CommandLine:
    """Holds what commands want until it is known who asks."""

    def __init__(
        self,
        *,
        out: Output,
        tickets: Tickets,
        connections: Connections,
        sessions: OpenSessions,
        setting: str,
    ) -> None:
        self._out = out
        self._tickets = tickets
        self._connections = connections
        self._sessions = sessions
        self._is_open = setting == ALWAYS
        self._held: dict[ConnectionId, list[Held]] = {}
        """What waits for the one look at the process behind each connection."""

    def guards(self, handler: Handler) -> Handler:
        """Return a handler that takes a message once its sender may send it."""

        def guarded(connection: Connection, message: Message) -> None:
            if self._is_open or not self._is_in_question(connection):
                handler(connection, message)
                return
            self._hold(Held(connection, message, handler))

        return guarded

    def _hold(self, held: Held) -> None:
        connection = held.connection
        waiting = self._held.setdefault(connection.id, [])
        if len(waiting) >= limits.MAX_HELD_ANSWERS:
            text = f"{limits.MAX_HELD_ANSWERS} messages wait until it is known who asks"
            raise WireError(ErrorCode.RATE_LIMITED, text)
        waiting.append(held)
        if len(waiting) == 1:
            providers = self._connections.of_standing(Standing.BOUND, Standing.UNBOUND)
            others = tuple(one.id for one in providers if one.is_counted)
            self._tickets.identify(connection.id, others, IdentityWanted(connection.id))

    def released(self, wanted: IdentityWanted) -> list[Held]:
        """Return what waited for a look, in the order in which it came."""
        return self._held.pop(wanted.connection, [])

    def _is_in_question(self, connection: Connection) -> bool:
        if not connection.is_counted:
            return False
        return not connection.is_interactive or any(
            session.pid is not None for session in self._sessions.in_order()
        )

    def identified(self, held: Held, found: Identified) -> None:
        """Take a message that was held, or refuse it.

        Raises `WireError`.
        """
        connection = held.connection
        if not connection.is_open:
            return
        is_command = not connection.is_interactive
        why = self._objection(found, is_command=is_command)
        if is_command or why is not None:
            about = getattr(held.message, "approval_id", "")
            approval = self._out.state.approvals.get(about)
            self._out.emit(
                CommandAsked(
                    command=connection.name,
                    wanted=str(held.message.__struct_config__.tag),
                    asker=found.asker,
                    refused=why,
                    approval_id=about or None,
                    session_id=(
                        approval.session_id
                        if approval is not None
                        else getattr(held.message, "session_id", None)
                    ),
                )
            )
        if why is not None:
            raise WireError(
                ErrorCode.UNAUTHORIZED,
                f"{why}; answer in the tower or in a terminal of your own (the setting "
                f'approvals.command-line = "{ALWAYS}" of the gateway allows it)',
            )
        held.handler(connection, held.message)

    def _objection(self, found: Identified, *, is_command: bool) -> str | None:
        """Return why the process may not ask, or None."""
        asker = found.asker
        if asker is None:
            return "it cannot be told which process asks" if is_command else None
        line = {asker.pid, *(one.pid for one in asker.ancestors)}
        for session in self._sessions.in_order():
            if session.pid in line:
                return (
                    f"process {asker.pid} was started by session '{session.view.label}' "
                    f"(process {session.pid})"
                )
        if found.runner in line:
            return f"process {asker.pid} was started by an emitter"
        if not is_command:
            return None
        for session in self._sessions.in_order():
            if session.client in line:
                return (
                    f"process {asker.pid} was started by the MCP client '{session.view.label}' "
                    f"(process {session.client})"
                )
        for provider, pid in self._provider_pids(found):
            if pid in line:
                return f"process {asker.pid} was started by provider '{provider}' (process {pid})"
        return None if asker.terminal else f"process {asker.pid} has no terminal"

    def _provider_pids(self, found: Identified) -> Iterator[tuple[str, int]]:
        for number, pid in found.others.items():
            connection = self._connections.by_number.get(number)
            if connection is not None and connection.provider is not None:
                yield connection.provider.name, pid
