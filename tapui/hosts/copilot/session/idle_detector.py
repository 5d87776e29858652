"""When the agent of a session rests.

The CLI says `session.idle` only when the commands that go on in the background have ended, too,
which may take hours; the agent itself rests from `assistant.idle` on. Between queued prompts and
while subagents are at work there is an `assistant.idle` as well, so the CLI is asked.
"""

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any

from tapui.hosts.copilot import sdk
from tapui.hosts.copilot.errors import AttachError
from tapui.hosts.port import Report

if TYPE_CHECKING:
    from copilot import CopilotSession

BEGINNINGS = frozenset({"user.message", "assistant.turn_start"})
"""Events with which the agent is at work."""


class Resting:
    """Watches one session. `rests` is called when its agent has begun to rest before the CLI has
    said `session.idle`."""

    def __init__(
        self,
        spawn: Callable[[Coroutine[Any, Any, None]], object],
        rests: Callable[[], None],
        report: Report,
    ) -> None:
        self._spawn = spawn
        self._rests = rests
        self._report = report
        self._begun = 0
        """Turns that have begun here."""
        self._is_told = False
        self._is_stopping = False

    def began(self) -> None:
        """The agent is at work."""
        self._begun += 1
        self._is_told = False

    def stopped(self) -> None:
        """The turn was stopped: `session.idle` comes at once, and says so."""
        self.began()
        self._is_stopping = True

    def is_news(self, *, is_aborted: bool) -> bool:
        """The CLI has said `session.idle`; return whether that was not told before."""
        self._is_stopping = False
        was_told, self._is_told = self._is_told, True
        return is_aborted or not was_told

    def paused(self, session: "CopilotSession") -> None:
        """The CLI has said `assistant.idle`."""
        if not self._is_stopping:
            self._spawn(self._look(session))

    async def _look(self, session: "CopilotSession") -> None:
        begun = self._begun
        try:
            listed = await sdk.call("ask for subagents", session.rpc.tasks.list())
            asking = session.rpc.metadata.is_processing()
            is_busy = (await sdk.call("ask whether a turn is under way", asking)).processing
        except AttachError as error:
            self._report(str(error), "warning")
            return  # `session.idle` will come
        if is_busy or begun != self._begun or self._is_told or _has_agents(listed.tasks):
            return
        self._is_told = True
        self._rests()


def _has_agents(tasks: Any) -> bool:
    return any(task.type == "agent" and task.status.value == "running" for task in tasks)
