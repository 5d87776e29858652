"""What each server needs of the gateway that it runs beside."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tapui.consents.mcp_servers import ServerConsents
from tapui.hosts.port import Report
from tapui.runtime.person import Person
from tapui.secret import Secret
from tapui.wire.mcp_servers import McpServer

if TYPE_CHECKING:
    from tapui.runtime.turn import LoopTurn


@dataclass(frozen=True, slots=True)
class ServerContext:
    """Shared by all servers. `environ` is tapui's own: values of entries come from it."""

    turn: "LoopTurn"
    gateway_url: str
    state: Path
    environ: Mapping[str, str]
    consents: ServerConsents
    report: Report
    most_tools: int
    """Tools that a provider may have."""

    @property
    def person(self) -> Person:
        return self.turn.person

    def show(self, server: McpServer) -> None:
        """Let towers and records know how a server is."""
        self.turn.tell(self.turn.gateway.mcp_servers.changed, server)

    def gone(self, server_id: str, reason: str) -> None:
        """Let them know that it is there no more."""
        self.turn.tell(self.turn.gateway.mcp_servers.gone, server_id, reason)

    def token(self, session_id: str) -> Secret | None:
        """Make a token for a session; None when that has ended."""
        return self.turn.tell(self.turn.gateway.mcp_servers.token, session_id)

    def revoke(self, token: Secret) -> None:
        self.turn.tell(self.turn.gateway.mcp_servers.revoke, token)
