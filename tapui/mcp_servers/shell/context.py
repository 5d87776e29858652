"""What each server needs of the gateway that it runs beside."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from tapui.consents.mcp_servers import ServerConsents
from tapui.hosts.port import Report

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
