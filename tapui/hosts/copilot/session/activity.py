"""When the agent of a session rests, what it writes and what its calls print this moment.

The CLI sends `session.idle` only when the commands that go on in the background have ended, too,
which may take hours; the agent itself rests from `assistant.idle` on. Between queued prompts and
while subagents are at work there is an `assistant.idle` as well, so the CLI is asked.
"""

import asyncio
from collections.abc import Callable
from typing import Any

from tapui.hosts.copilot.connection import AttachError, CliSession, objects_of
from tapui.hosts.copilot.uplink import SessionUplink
from tapui.wire import limits
from tapui.wire.codec import raw
from tapui.wire.host import SessionEvent
from tapui.wire.message import NowText

BEGINNINGS = frozenset({"user.message", "assistant.turn_start"})
"""Events with which the agent is at work."""


class IdleDetector:
    """Watches one session. `on_rest` is called when its agent has begun to rest before the CLI has
    said `session.idle`."""

    def __init__(
        self,
        uplink: SessionUplink,
        on_rest: Callable[[], None],
    ) -> None:
        self._uplink = uplink
        self._on_rest = on_rest
        self._begun = 0
        """Turns that have begun here."""
        self._is_told = False
        self._is_stopping = False

    def began(self) -> None:
        self._begun += 1
        self._is_told = False

    def stopped(self) -> None:
        """The turn was stopped: `session.idle` comes at once, and tells it."""
        self.began()
        self._is_stopping = True

    def is_news(self, *, is_aborted: bool) -> bool:
        """The CLI has said `session.idle`; return whether that was not told before."""
        self._is_stopping = False
        was_told, self._is_told = self._is_told, True
        return is_aborted or not was_told

    def paused(self, session: CliSession) -> None:
        if not self._is_stopping:
            self._uplink.spawn(self._look(session))

    async def _look(self, session: CliSession) -> None:
        begun = self._begun
        try:
            listed = await session.ask("ask for subagents", "session.tasks.list")
            is_busy = await is_processing(session)
        except AttachError as error:
            self._uplink.unanswered(error)
            return  # `session.idle` will come
        if is_busy or begun != self._begun or self._is_told or _has_agents(listed):
            return
        self._is_told = True
        self._on_rest()


async def is_processing(session: CliSession) -> bool:
    """Return whether a turn is under way. Raises `AttachError`."""
    told = await session.ask("ask whether a turn is under way", "session.metadata.isProcessing")
    return told.get("processing") is True


def _has_agents(listed: Any) -> bool:
    return any(
        task.get("type") == "agent" and task.get("status") == "running"
        for task in objects_of(listed, "tasks")
    )


_KEPT = 2 * limits.MAX_SUMMARY


class LiveText:
    """Follows the text of one session, and tells its last line when it may."""

    def __init__(self, uplink: SessionUplink) -> None:
        self._uplink = uplink
        self._text = ""
        self._of = ""
        self._told = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def add(self, message_id: str, piece: str) -> None:
        if message_id != self._of:
            self._of, self._text = message_id, ""
        self._text = (self._text + piece[-_KEPT:])[-_KEPT:]
        if self._timer is None:
            loop = asyncio.get_running_loop()
            at = max(self._told + limits.NOW_INTERVAL, loop.time())
            self._timer = loop.call_at(at, self._tell)

    def _tell(self) -> None:
        self._timer = None
        self._told = asyncio.get_running_loop().time()
        lines = self._text.split("\n")
        line = next((one for one in reversed(lines) if one.strip()), "").strip()
        if line:
            self._uplink.send(NowText(self._uplink.id, line[-limits.MAX_SUMMARY :]))

    def close(self) -> None:
        """Send nothing more of the message: it is whole, or the session is gone."""
        self._of = self._text = ""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None


_OUTPUT_INTERVAL = 0.5
"""Seconds between two messages with the newest output of calls."""


class LiveOutput:
    """Tells the newest output of the calls of one session while they run.

    The CLI tells of each piece. What came last is always told, also where nothing follows it.
    """

    def __init__(self, uplink: SessionUplink) -> None:
        self._uplink = uplink
        self._news: dict[str, dict[str, Any]] = {}
        """What is to be told next, by call."""
        self._told = 0.0
        self._timer: asyncio.TimerHandle | None = None

    def add(self, told: dict[str, Any], agent_id: str | None) -> None:
        """Take the output of a call so far, as the wire has it."""
        self._news[told["toolCallId"]] = told | ({"agentId": agent_id} if agent_id else {})
        if self._timer is None:
            loop = asyncio.get_running_loop()
            at = max(self._told + _OUTPUT_INTERVAL, loop.time())
            self._timer = loop.call_at(at, self._tell)

    def ended(self, call_id: str) -> None:
        """A call has ended: its result tells its output."""
        self._news.pop(call_id, None)

    def _tell(self) -> None:
        self._timer = None
        self._told = asyncio.get_running_loop().time()
        news, self._news = self._news, {}
        for told in news.values():
            event = SessionEvent(self._uplink.id, "tool.execution_partial_result", raw(told))
            self._uplink.send(event)

    def close(self) -> None:
        """Tell nothing more: the session is gone."""
        self._news.clear()
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
