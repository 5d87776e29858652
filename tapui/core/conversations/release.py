"""What is given up when a connection ends."""

from tapui.core.model import Connection, Standing
from tapui.core.parts import Parts
from tapui.wire.errors import CallError


def release(parts: Parts, connection: Connection, reason: str) -> None:
    """Cancel what a connection asked for, and end what it was; `reason` is a provider's."""
    former, connection.standing = connection.standing, Standing.CLOSED
    parts.inspecting.gone(connection)
    parts.context.deadlines.cancel(connection.deadline)
    for call in list(connection.invokes.values()):
        parts.calls.cancel(call, CallError.CANCELLED, "the caller is gone", "the caller is gone")
    for inquiry in list(connection.inquiries.values()):
        parts.gates.drop(inquiry, "who asked is gone")
    parts.prompts.drop(connection)
    provider, connection.provider = connection.provider, None
    if provider is not None and provider.id in parts.providers.connected:
        parts.binding.disconnected(provider, provider.view.reason or reason)
    if former is Standing.AWAIT_PAIRING:
        parts.pairings.gone(connection)
    elif former is Standing.HOST:
        parts.host.gone(connection)
    elif former is Standing.TOOL_HOST:
        parts.tool_hosts.gone(connection)
    elif former is Standing.TOWER:
        parts.tower.gone(connection)
        parts.guard.gone(connection)
    for waiting in list(parts.approvals.waiting.values()):
        if waiting.asker is connection:
            parts.approvals.withdraw(waiting, reason="who asked is gone")
