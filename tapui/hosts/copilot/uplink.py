"""What a session of this host needs of the host: a way to the gateway, ids, a voice."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from tapui.wire.message import Message

Severity = Literal["info", "warning", "error"]
Report = Callable[[str, Severity], None]
"""Tells the person something about the host; the text is not yet safe for a screen."""


@dataclass(frozen=True, slots=True)
class Uplink:
    """The host as its sessions see it."""

    send: Callable[[Message], None]
    """Sends to the gateway, or does nothing once the port is closed."""
    mint: Callable[[], str]
    """Makes ids that are unique on the host's port."""
    report: Report
