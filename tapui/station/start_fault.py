"""Why a gateway could not start: an exit code, and a line that the person can act on."""

import logging
from dataclasses import dataclass

from tapui import invocation
from tapui.home.paths import Home
from tapui.home.run_folder import GatewayFile, PortClaimedError, find_gateway
from tapui.runtime.websocket.listening import ListenError, PortTaken
from tapui.text import safe_text

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StartFault:
    """A failed start. `text` is safe for a terminal."""

    code: int
    text: str


def start_fault(error: Exception, home: Home | None = None) -> StartFault:
    """Say what an exception of a start means; what is not foreseen is logged.

    `home` is where to look whether a port that is taken belongs to a gateway of this person.
    """
    if isinstance(error, PortTaken) and home is not None:
        own = find_gateway(home, error.port)
        if own is not None:
            return StartFault(2, safe_text(_held_by_own(own)))
    if isinstance(error, ListenError | PortClaimedError):
        return StartFault(2, safe_text(str(error)))
    if isinstance(error, OSError) and error.strerror:
        where = error.filename or "the state folder"
        return StartFault(1, safe_text(f"{where}: {error.strerror}"))
    _log.error("the gateway could not start", exc_info=error)
    return StartFault(1, safe_text(f"the gateway could not start: {type(error).__name__}: {error}"))


def _held_by_own(own: GatewayFile) -> str:
    shows, ends = invocation.command(), invocation.command(f"stop --port {own.port}")
    return (
        f"a gateway of yours already serves port {own.port} (pid {own.pid}): `{shows}` shows it, "
        f"`{ends}` ends it; choose another port with --port N"
    )
