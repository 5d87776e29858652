"""A part: something that runs beside the gateway for as long as it runs, such as a host."""

from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from tapui.home.paths import Home
from tapui.home.run_folder import GatewayFile
from tapui.hosts.port import Report
from tapui.station.options import Options

if TYPE_CHECKING:
    from tapui.runtime.turn import LoopTurn


@dataclass(frozen=True, slots=True)
class GatewayAccess:
    """What a part gets of the gateway that it runs beside."""

    turn: "LoopTurn"
    """Opens in-process ports (`open_port`)."""
    announced: GatewayFile
    """The gateway's URL and where its tokens lie, for a part in a process of its own."""
    home: Home
    options: Options
    report: Report
    """May be called from any thread."""
    spawn: Callable[[Coroutine[Any, Any, None]], None]
    """Runs a coroutine until it ends or the part stops. What it raises is logged and told to the
    person in the part's name; the gateway and the other parts go on."""


class Part(Protocol):
    """One part. `start` and `stop` are called at most once each, on the gateway's loop."""

    @property
    def name(self) -> str:
        """What the person is told has failed, such as "the search for Copilot sessions"."""

    def start(self, access: GatewayAccess) -> None:
        """Begin, without waiting for anything. Must not raise for what the world does to it."""

    async def stop(self) -> None:
        """End in order, before the server closes its connections. Bounded by the caller; what
        was spawned is cancelled afterwards."""
