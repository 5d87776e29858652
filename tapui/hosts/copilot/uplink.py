"""What the parts of this host share: the way to the gateway, and time limits."""

import asyncio
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from typing import Any

from tapui.hosts.copilot.connection import AttachError, CliSession, LostError
from tapui.hosts.port import Report
from tapui.wire.message import Message


@dataclass(frozen=True, slots=True, kw_only=True)
class HostTiming:
    """How long this host waits, in seconds."""

    scan: float = 1.0
    """Between two looks for CLIs."""
    connect: float = 5.0
    ping: float = 5.0
    """For the answer to a ping; a CLI without one counts as silent."""
    settle: float = 2.5
    """A session in the background must be there, or gone, for so long before it counts."""
    replace: float = 1.0
    """For the former session's end when another comes on screen (`/clear`), before that is joined.
    An end that comes later is a late replacement."""
    after_shutdown: float = 2.0
    """A session that shut down, and was not replaced, is closed after that."""
    extension_pauses: tuple[float, ...] = (0.2,) * 10 + (0.5,) * 16
    """Before each attempt to get the extension back, which the CLI starts again when another
    session is on screen."""
    retry_tools: float = 15.0
    """Tools that could not be offered are offered again after that."""
    decision: float = 8.0
    """The gateway must decide about a tool within that; else it is refused, or runs where nothing
    is in force that could refuse it: Copilot asks then. Gates end after 5 s by themselves."""
    prompt: float = 3.0
    """The gateway must prepare a prompt within that, else it goes out unchanged. Its transforms
    end after 2 s by themselves."""
    turn_end: float = 2.0
    """The gateway must say whether a turn ends within that, else it ends."""
    rest: float = 30.0
    """For a stopped session's rest."""
    lost: float = 1.0
    """A text may be neither in the CLI's queue nor a prompt for so long: between the two it is in
    neither."""


@dataclass(slots=True)
class Uplink:
    """Callbacks that a session gets from its host, and the host's time limits."""

    send: Callable[[Message], None]
    """Sends to the gateway, or does nothing once the port is closed."""
    new_id: Callable[[], str]
    """Makes ids that are unique on the host's port."""
    report: Report
    timing: HostTiming = field(default_factory=HostTiming)
    answers: dict[str, Callable[[Any], None]] = field(default_factory=dict)
    """Take the gateway's answers, and what else comes meanwhile, by the ids of the requests."""

    def on_fault(self, error: BaseException) -> None:
        """Report that a background task failed."""
        self.report(
            f"the Copilot host failed at something: {type(error).__name__}: {error}; "
            "if a session behaves oddly, restart tapui",
            "error",
        )


@dataclass(slots=True, kw_only=True)
class SessionUplink(Uplink):
    """What the parts of one session share."""

    id: str
    spawn: Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]]
    """Runs a coroutine to its end, as long as the session lives."""
    session: CliSession | None = None
    """The CLI's session, while the connection to it stands."""

    def unanswered(self, error: AttachError) -> None:
        """Report that the CLI did not answer a question, unless the connection has ended: its end
        is reported by itself."""
        if not isinstance(error, LostError):
            self.report(str(error), "warning")
