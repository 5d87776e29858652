"""Why a gateway could not start: an exit code, and a line that the person can act on."""

import logging
from dataclasses import dataclass

from tapui.home.run_folder import PortClaimedError
from tapui.runtime.listening import ListenError
from tapui.text import safe_text

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class StartFault:
    """A failed start. `text` is safe for a terminal."""

    code: int
    text: str


def start_fault(error: Exception) -> StartFault:
    """Say what an exception of a start means; what is not foreseen is logged."""
    if isinstance(error, ListenError | PortClaimedError):
        return StartFault(2, safe_text(str(error)))
    if isinstance(error, OSError) and error.strerror:
        where = error.filename or "the state folder"
        return StartFault(1, safe_text(f"{where}: {error.strerror}"))
    _log.error("the gateway could not start", exc_info=error)
    return StartFault(1, safe_text(f"the gateway could not start: {type(error).__name__}: {error}"))
