"""The calls that the person makes in this tower: under way, and how they ended."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Literal

from msgspec import UNSET, Raw

from tapui.projection.feed import FeedItem, Link
from tapui.wire.errors import CallError
from tapui.wire.limits import MAX_MESSAGE_BYTES
from tapui.wire.message import (
    Error,
    Message,
    OfferedTool,
    ToolAbort,
    ToolInvoke,
    ToolOutcome,
    ToolProgress,
)
from tapui.wire.tower import ToolsList, ToolsRead

KEPT_CALLS = 20
"""Calls of one tool that are kept; those under way are kept besides."""
KEPT_TOOLS = 100
"""Tools whose calls and drafts are kept."""
KEPT_BYTES = 16 * 1024 * 1024
"""Bytes of results that are kept, of all calls together."""

MadeState = Literal["running", "done", "failed", "denied", "cancelled", "timedOut", "lost"]
_NO_FAILURES: dict[str, MadeState] = {
    CallError.CANCELLED: "cancelled",
    CallError.TIMEOUT: "timedOut",
    CallError.UNAUTHORIZED: "denied",
}
"""How a call ended that did not fail by itself, by its error code."""


@dataclass(slots=True, eq=False)
class Made:
    """A call that was made here. `about` are its arguments in short. `began` is in seconds since
    the epoch, `took` in seconds.

    `lost`: the link to the gateway broke, so its outcome is unknown. Without an `outcome`, an
    ended call's result is not kept any more.
    """

    id: str
    session_id: str
    tool: str
    arguments: Raw
    about: str
    began: float
    state: MadeState = "running"
    progress: str = ""
    outcome: ToolOutcome | None = None
    took: float = 0.0

    @property
    def size(self) -> int:
        data = self.outcome.data if self.outcome is not None else UNSET
        return 0 if data is UNSET else len(memoryview(data))


class TooLarge(Exception):  # noqa: N818 - a state of the arguments, not a fault
    """The arguments are larger than a message may be."""


class CallsMade:
    """Makes calls over the tower's link; takes what comes of them.

    `changed` is called when there is something new to show, `now` gives seconds since the epoch.
    """

    def __init__(
        self,
        send: Callable[[Message], None],
        changed: Callable[[], None],
        now: Callable[[], float],
        *,
        kept_tools: int = KEPT_TOOLS,
        kept_bytes: int = KEPT_BYTES,
    ) -> None:
        self._kept_tools, self._kept_bytes = kept_tools, kept_bytes
        self._send = send
        self._changed = changed
        self._now = now
        self._ids = count(1)
        self._under_way: dict[str, Made] = {}
        self._made: dict[str, list[Made]] = {}
        self._drafts: dict[str, Raw] = {}
        self._lists: dict[str, ToolsList] = {}
        self._reads: dict[str, str] = {}
        self.refusals: dict[str, str] = {}
        """Why a session's tools could not be read, by session."""

    # Tools

    def read_tools(self, session_id: str, *, all_of_them: bool = False) -> None:
        """Ask for a session's tools; for all of them also for those that are switched off, and its
        own."""
        read_id = f"tools-{next(self._ids)}"
        self._lists.pop(session_id, None)
        self.refusals.pop(session_id, None)
        self._reads[read_id] = session_id
        self._send(ToolsRead(id=read_id, session_id=session_id, all=all_of_them))

    def tools(self, session_id: str) -> list[OfferedTool] | None:
        known = self._lists.get(session_id)
        return None if known is None else known.tools

    def listed(self, session_id: str) -> ToolsList | None:
        return self._lists.get(session_id)

    # Calls

    def of(self, tool: str) -> list[Made]:
        return self._made.get(tool, [])

    def call(self, session_id: str, tool: str, arguments: Raw, about: str) -> Made:
        """Call a tool; `about` are its arguments in short. Raises `TooLarge`."""
        if len(memoryview(arguments)) > MAX_MESSAGE_BYTES:
            raise TooLarge(f"the arguments are larger than {MAX_MESSAGE_BYTES:,} bytes")
        made_id = f"workbench-{next(self._ids)}"
        made = Made(made_id, session_id, tool, arguments, about, self._now())
        self._under_way[made.id] = made
        self._made[tool] = [made, *self._made.pop(tool, [])]
        self._bound(tool)
        self._send(ToolInvoke(id=made.id, session_id=session_id, tool=tool, args=arguments))
        self._changed()
        return made

    def cancel(self, made: Made) -> None:
        """Give a call up; its outcome tells when that is so."""
        if made.state == "running":
            self._send(ToolAbort(id=made.id, reason="cancelled by the person"))

    def draft(self, tool: str) -> Raw | None:
        return self._drafts.get(tool)

    def keep_draft(self, tool: str, arguments: Raw) -> None:
        self._drafts.pop(tool, None)
        self._drafts[tool] = arguments
        while len(self._drafts) > self._kept_tools:
            del self._drafts[next(iter(self._drafts))]

    # What comes

    def take(self, item: FeedItem) -> None:
        """Take in what the feed yielded, if it is about a call or tools asked for here."""
        match item:
            case ToolProgress(id=made_id, message=message) if made_id in self._under_way:
                self._under_way[made_id].progress = message
            case ToolOutcome(id=made_id) if made_id in self._under_way:
                self._end(made_id, _state_of(item), item)
            case Error(reply_to="tool.invoke", id=made_id) if made_id in self._under_way:
                assert made_id is not None
                refusal = ToolOutcome(made_id, error=item.message, error_code=item.code)
                self._end(made_id, "failed", refusal)
            case ToolsList(id=read_id) if read_id in self._reads:
                self._lists[self._reads.pop(read_id)] = item
            case Error(reply_to="tools.read", id=read_id) if read_id in self._reads:
                assert read_id is not None
                self.refusals[self._reads.pop(read_id)] = item.message
            case Link(state=state) if state != "up" and (self._under_way or self._reads):
                for made_id in list(self._under_way):
                    self._end(made_id, "lost", None)
                for session_id in self._reads.values():
                    self.refusals[session_id] = "the link to the gateway broke"
                self._reads.clear()
            case _:
                return
        self._changed()

    def _end(self, made_id: str, state: MadeState, outcome: ToolOutcome | None) -> None:
        made = self._under_way.pop(made_id)
        made.state, made.outcome = state, outcome
        made.took = max(self._now() - made.began, 0.0)
        self._bound(made.tool)

    def _bound(self, tool: str) -> None:
        """Forget the oldest calls of a tool, tools, and results, newest last."""
        calls = self._made[tool]
        over = [one for one in calls if one.state != "running"][KEPT_CALLS:]
        self._made[tool] = [one for one in calls if one not in over]
        busy = {one.tool for one in self._under_way.values()}
        idle = [name for name in self._made if name not in busy]
        for name in idle[: max(len(self._made) - self._kept_tools, 0)]:
            del self._made[name]
        ended = [one for made in self._made.values() for one in made if one.outcome is not None]
        room = self._kept_bytes
        for one in sorted(ended, key=lambda one: one.began, reverse=True):
            room -= one.size
            if room < 0 and one.size:
                one.outcome = None


def _state_of(outcome: ToolOutcome) -> MadeState:
    if (other := _NO_FAILURES.get(outcome.error_code or "")) is not None:
        return other
    return "done" if outcome.error is None and outcome.error_code is None else "failed"
