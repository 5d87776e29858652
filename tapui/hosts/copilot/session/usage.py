"""What the CLI says that a session used since its beginning and may still use, and how full its
context is."""

import asyncio
import math
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

from tapui.hosts.copilot.connection import (
    AttachError,
    CliSession,
    LostError,
    UnknownMethodError,
    text_of,
)
from tapui.hosts.copilot.uplink import SessionUplink
from tapui.wire import limits
from tapui.wire.codec import raw
from tapui.wire.host import SessionEvent, SessionUpdate
from tapui.wire.message import Message
from tapui.wire.subjects import Account

CREDIT = 1_000_000_000
"""Billing units of the CLI (nano-AIU) in a credit."""


class UsageTold:
    """Asks one session's CLI for its totals, and tells them to the gateway.

    The totals hold what was used before tapui came, and while it was away. A CLI that does not
    know the question is not asked again: then what its events tell is added up.
    """

    def __init__(self, uplink: SessionUplink, context_info: Callable[[Any], list[Message]]) -> None:
        self._uplink = uplink
        self._context_info = context_info
        self._has_totals = True
        self._has_threshold = True
        self._is_threshold_known = False
        self._has_quota = True
        self._quotas: list[dict[str, Any]] = []
        self._has_account = True
        self._account: Account | None = None
        """What was told last, as the quotas."""

    async def begin(self, session: CliSession) -> None:
        self._quotas, self._account = [], None
        await asyncio.gather(self.threshold(session), self._told_each_turn(session))

    async def turn_ended(self, session: CliSession) -> None:
        await self._told_each_turn(session)
        if not self._is_threshold_known:
            await self.threshold(session)

    async def _told_each_turn(self, session: CliSession) -> None:
        await asyncio.gather(self._totals(session), self._quota(session), self._signed_in(session))

    async def _totals(self, session: CliSession) -> None:
        """Send what was used, where the CLI tells it."""
        if not self._has_totals:
            return
        try:
            told = await session.ask("ask what was used", "session.usage.getMetrics")
        except AttachError as error:
            self._has_totals = not isinstance(error, UnknownMethodError)
            self._uplink.unanswered(error)
            return
        models = [_used(name, metric) for name, metric in _named(told, "modelMetrics")]
        event = SessionEvent(self._uplink.id, "session.usage", raw({"models": models}))
        self._uplink.send(event)

    async def _quota(self, session: CliSession) -> None:
        """Send what the account may still use, where that has changed. The CLI answers from what
        the model's answers told it, without a request of its own."""
        if not self._has_quota:
            return
        try:
            told = await session.ask("ask for the quota", "session.quota.get")
        except AttachError as error:
            self._has_quota = isinstance(error, LostError)  # else it is an older CLI
            return
        snapshots = sorted(_named(told, "snapshots"))[: limits.MAX_QUOTAS]
        quotas = [_quota(name, snapshot) for name, snapshot in snapshots]
        if quotas != self._quotas:
            self._quotas = quotas
            event = SessionEvent(self._uplink.id, "session.quota", raw({"quotas": quotas}))
            self._uplink.send(event)

    async def _signed_in(self, session: CliSession) -> None:
        """Send who is signed in, where that has changed. The CLI has no event about it."""
        if not self._has_account:
            return
        try:
            status = await session.ask("ask who is signed in", "session.gitHubAuth.getStatus")
        except AttachError as error:
            self._has_account = not isinstance(error, UnknownMethodError)
            return
        found = account_of(status)
        if found != self._account:
            self._account = found
            self._uplink.send(SessionUpdate(self._uplink.id, account=found))

    async def threshold(self, session: CliSession) -> None:
        """Ask at how many tokens the context is made smaller, with the model of now."""
        if not self._has_threshold:
            return
        try:
            told = await session.ask(
                "ask when the context is compacted",
                "session.metadata.contextInfo",
                promptTokenLimit=0,
                outputTokenLimit=0,
            )
        except AttachError as error:
            self._has_threshold = not isinstance(error, UnknownMethodError)
            self._uplink.unanswered(error)
            return
        info = told.get("contextInfo")
        self._is_threshold_known = info is not None  # before its first turn the CLI has none
        for message in self._context_info(info):
            self._uplink.send(message)


def account_of(status: Any) -> Account:
    """Return what the CLI says of its account, bounded."""

    def bounded(name: str) -> str | None:
        return (text_of(status, name) or "")[: limits.MAX_ID] or None

    return Account(
        status.get("isAuthenticated") is True,
        bounded("authType"),
        bounded("login"),
        bounded("host"),
        bounded("copilotPlan"),
        bounded("statusMessage"),
    )


def number_of(told: Any, name: str) -> float | None:
    """Return a number of the CLI's; None where it is none."""
    number = told.get(name) if isinstance(told, dict) else None
    if not isinstance(number, int | float) or isinstance(number, bool):
        return None
    return number if math.isfinite(number) else None


def _named(told: Any, name: str) -> list[tuple[str, Any]]:
    """Return the objects in an object of the CLI's, by their names."""
    found = told.get(name)
    named = found.items() if isinstance(found, dict) else ()
    return [(key, item) for key, item in named if isinstance(item, dict)]


def _quota(name: str, snapshot: Any) -> dict[str, Any]:
    told = {
        "name": name,
        "remaining": number_of(snapshot, "remainingPercentage"),
        "used": number_of(snapshot, "usedRequests"),
        "resetsAt": _time(number_of(snapshot, "resetDateEpochMs")),
    }
    if not snapshot.get("isUnlimitedEntitlement"):
        told["entitled"] = number_of(snapshot, "entitlementRequests")
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
    usage, requests = metric.get("usage"), metric.get("requests")
    told = {
        "model": model,
        "calls": number_of(requests, "count"),
        "inputTokens": number_of(usage, "inputTokens"),
        "outputTokens": number_of(usage, "outputTokens"),
        "cacheReadTokens": number_of(usage, "cacheReadTokens"),
        "cacheWriteTokens": number_of(usage, "cacheWriteTokens"),
        "requests": number_of(requests, "cost"),
        "credits": credits_of(number_of(metric, "totalNanoAiu"), metric.get("aiCreditsStatus")),
    }
    return {name: value for name, value in told.items() if value is not None}


def credits_of(nano: Any, status: Any) -> float | None:
    """Return AI credits; None where the CLI says that it does not know them."""
    return None if nano is None or status == "unavailable" else nano / CREDIT
