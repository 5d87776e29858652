"""What the CLI says that a session used since its beginning, and when it compacts by itself."""

import asyncio
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from tapui.hosts.copilot import sdk
from tapui.hosts.copilot.sdk import AttachError, UnknownMethodError
from tapui.hosts.copilot.uplink import SessionUplink
from tapui.wire.codec import raw
from tapui.wire.host import SessionEvent
from tapui.wire.message import Message

if TYPE_CHECKING:
    from copilot import CopilotSession

CREDIT = 1_000_000_000
"""Billing units of the CLI (nano-AIU) in a credit."""


class UsageTold:
    """Asks one session's CLI for its totals, and tells them to the gateway.

    The totals hold what was used before tapui came, and while it was away. A CLI that does not
    know the question is not asked again: then what its events tell is added up.
    """

    def __init__(
        self, uplink: SessionUplink, compacts: Callable[[int | None], list[Message]]
    ) -> None:
        self._uplink = uplink
        self._compacts = compacts
        self._has_totals = True
        self._has_threshold = True
        self._is_threshold_known = False

    async def begin(self, session: "CopilotSession") -> None:
        await asyncio.gather(self._totals(session), self.threshold(session))

    async def turn_ended(self, session: "CopilotSession") -> None:
        await self._totals(session)
        if not self._is_threshold_known:
            await self.threshold(session)

    async def _totals(self, session: "CopilotSession") -> None:
        """Send what was used, where the CLI tells it."""
        if not self._has_totals:
            return
        try:
            metrics = await sdk.call("ask what was used", session.rpc.usage.get_metrics())
        except AttachError as error:
            self._has_totals = not isinstance(error, UnknownMethodError)
            self._uplink.report(str(error), "warning")
            return
        models = [_used(name, one) for name, one in metrics.model_metrics.items()]
        event = SessionEvent(self._uplink.id, "session.usage", raw({"models": models}))
        self._uplink.send(event)

    async def threshold(self, session: "CopilotSession") -> None:
        """Ask at how many tokens the context is made smaller, with the model of now."""
        from copilot.rpc import MetadataContextInfoRequest

        if not self._has_threshold:
            return
        request = MetadataContextInfoRequest(output_token_limit=0, prompt_token_limit=0)
        try:
            asking = session.rpc.metadata.context_info(request)
            found = await sdk.call("ask when the context is compacted", asking)
        except AttachError as error:
            self._has_threshold = not isinstance(error, UnknownMethodError)
            self._uplink.report(str(error), "warning")
            return
        info = found.context_info
        at = None if info is None else info.compaction_threshold
        self._is_threshold_known = info is not None  # before its first turn the CLI has none
        for message in self._compacts(at):
            self._uplink.send(message)


def _used(model: str, metric: Any) -> dict[str, Any]:
    usage = metric.usage
    told = {
        "model": model,
        "calls": metric.requests.count,
        "inputTokens": usage.input_tokens,
        "outputTokens": usage.output_tokens,
        "cacheReadTokens": usage.cache_read_tokens,
        "cacheWriteTokens": usage.cache_write_tokens,
        "requests": metric.requests.cost,
        "credits": credits_of(metric.total_nano_aiu, metric.ai_credits_status),
    }
    return {name: value for name, value in told.items() if value is not None}


def credits_of(nano: float | None, status: Any) -> float | None:
    """Return AI credits; None where the CLI says that it does not know them."""
    if nano is None or getattr(status, "value", status) == "unavailable":
        return None
    return nano / CREDIT
