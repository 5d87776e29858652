"""What the CLI says that a session used since its beginning and may still use, and when it compacts
by itself."""

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from tapui.hosts.copilot import sdk
from tapui.hosts.copilot.sdk import AttachError, UnknownMethodError
from tapui.hosts.copilot.uplink import SessionUplink
from tapui.wire import limits
from tapui.wire.codec import raw
from tapui.wire.host import SessionEvent, SessionUpdate
from tapui.wire.message import Message
from tapui.wire.subjects import Account

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
        self._has_quota = True
        self._quotas: list[dict[str, Any]] = []
        self._has_account = True
        self._account: Account | None = None
        """What was told last, as the quotas."""

    async def begin(self, session: "CopilotSession") -> None:
        self._quotas, self._account = [], None
        await asyncio.gather(self.threshold(session), self._told_each_turn(session))

    async def turn_ended(self, session: "CopilotSession") -> None:
        await self._told_each_turn(session)
        if not self._is_threshold_known:
            await self.threshold(session)

    async def _told_each_turn(self, session: "CopilotSession") -> None:
        await asyncio.gather(self._totals(session), self._quota(session), self._signed_in(session))

    async def _totals(self, session: "CopilotSession") -> None:
        """Send what was used, where the CLI tells it."""
        if not self._has_totals:
            return
        try:
            metrics = await sdk.call("ask what was used", session.rpc.usage.get_metrics())
        except AttachError as error:
            self._has_totals = not isinstance(error, UnknownMethodError)
            self._uplink.unanswered(error)
            return
        models = [_used(name, one) for name, one in metrics.model_metrics.items()]
        event = SessionEvent(self._uplink.id, "session.usage", raw({"models": models}))
        self._uplink.send(event)

    async def _quota(self, session: "CopilotSession") -> None:
        """Send what the account may still use, where that has changed. The CLI answers from what
        the model's answers told it, without a request of its own."""
        if not self._has_quota:
            return
        try:
            found = await sdk.call("ask for the quota", session.rpc.quota.get())
        except AttachError as error:
            self._has_quota = isinstance(error, sdk.LostError)  # else it is an older CLI
            return
        snapshots = sorted(found.snapshots.items())[: limits.MAX_QUOTAS]
        quotas = [_quota(name, one) for name, one in snapshots]
        if quotas != self._quotas:
            self._quotas = quotas
            event = SessionEvent(self._uplink.id, "session.quota", raw({"quotas": quotas}))
            self._uplink.send(event)

    async def _signed_in(self, session: "CopilotSession") -> None:
        """Send who is signed in, where that has changed. The CLI has no event about it."""
        if not self._has_account:
            return
        try:
            asking = session.rpc.git_hub_auth.get_status()
            found = account_of(await sdk.call("ask who is signed in", asking))
        except AttachError as error:
            self._has_account = not isinstance(error, UnknownMethodError)
            return
        if found != self._account:
            self._account = found
            self._uplink.send(SessionUpdate(self._uplink.id, account=found))

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
            self._uplink.unanswered(error)
            return
        info = found.context_info
        at = None if info is None else info.compaction_threshold
        self._is_threshold_known = info is not None  # before its first turn the CLI has none
        for message in self._compacts(at):
            self._uplink.send(message)


def account_of(status: Any) -> Account:
    """Return what the CLI says of its account, bounded."""

    def bounded(text: str | None) -> str | None:
        return text[: limits.MAX_ID] if text else None

    kind = None if status.auth_type is None else status.auth_type.value
    return Account(
        status.is_authenticated,
        bounded(kind),
        bounded(status.login),
        bounded(status.host),
        bounded(status.copilot_plan),
        bounded(status.status_message),
    )


def _quota(name: str, snapshot: Any) -> dict[str, Any]:
    told = {
        "name": name,
        "remaining": snapshot.remaining_percentage,
        "used": snapshot.used_requests,
        "resetsAt": _time(snapshot.reset_date_epoch_ms),
    }
    if not snapshot.is_unlimited_entitlement:
        told["entitled"] = snapshot.entitlement_requests
    return {key: value for key, value in told.items() if value is not None}


def _time(milliseconds: float | None) -> str | None:
    """Return a time since the epoch as the wire has it; None for none, or none that there is."""
    if milliseconds is None:
        return None
    try:
        at = datetime.fromtimestamp(milliseconds / 1000, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return f"{at:%Y-%m-%dT%H:%M:%S.%f}Z"


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
