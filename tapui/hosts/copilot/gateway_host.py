"""What a session of this host needs of the host: a way to the gateway, ids, a voice."""

from collections.abc import Callable
from dataclasses import dataclass

from tapui.hosts.port import Report
from tapui.wire.message import Message


@dataclass(frozen=True, slots=True)
class Uplink:
    """The host as its sessions see it."""

    send: Callable[[Message], None]
    """Sends to the gateway, or does nothing once the port is closed."""
    mint: Callable[[], str]
    """Makes ids that are unique on the host's port."""
    report: Report
