"""What a tool's function learns of its call, and can say meanwhile."""

import threading
from collections.abc import Coroutine, Mapping
from typing import Any, Protocol, TypeVar

from tapui.provider.session import Session
from tapui.wire.limits import MAX_HISTORY
from tapui.wire.message import Level, ToolProgress
from tapui.wire.provider import HistoryLine
from tapui.wire.surrogates import without_surrogates

T = TypeVar("T")

MAX_PROGRESS = 16 * 1024
"""Characters of a text that tells progress."""


class CallEnds(Protocol):
    """The provider's side of a call under way. Safe to use from any thread."""

    def progress(self, told: ToolProgress) -> None:
        """Tell the caller how far it is."""

    def wait_for(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the provider's loop and wait for it, in a thread."""


class Context:
    """A call of a tool. A function that has a parameter of this type is given it.

    All methods but `query` return at once, in coroutines and in plain functions alike.
    """

    def __init__(
        self, session: Session, tool: str, call_id: str, ends: CallEnds, traceparent: str | None
    ) -> None:
        self.session = session
        self.tool = tool
        self.call_id = call_id
        self.traceparent = traceparent
        """The call's place in a trace (W3C Trace Context)."""
        self._ends = ends
        self._cancelled: threading.Event | None = None
        self._is_cancelled = False

    def progress(
        self, done: float | None = None, total: float | None = None, text: str = ""
    ) -> None:
        """Tell how far the call is: `progress(3, 10, "files")`. Of many, the newest are sent."""
        count = "" if done is None else f"{done:g}" if total is None else f"{done:g}/{total:g}"
        message = " ".join(filter(None, (count, text))) or "…"
        self._ends.progress(
            ToolProgress(
                self.call_id,
                without_surrogates(message[:MAX_PROGRESS]),
                None if done is None else float(done),
                None if total is None else float(total),
            )
        )

    @property
    def cancelled(self) -> bool:
        """Whether nobody waits for the result any more: time-out, or the caller gave it up.

        A coroutine is told by `asyncio.CancelledError`; a plain function has to look here.
        """
        return self._is_cancelled

    def cancel(self) -> None:
        """Nobody waits for the call any more."""
        self._is_cancelled = True
        if self._cancelled is not None:
            self._cancelled.set()

    def wait(self, seconds: float) -> bool:
        """Wait in a plain function, at most until the call is cancelled; return whether it is."""
        if self._cancelled is None:
            self._cancelled = threading.Event()
        if self._is_cancelled:
            return True
        return self._cancelled.wait(seconds)

    def push(
        self,
        event: str | None = None,
        *,
        level: Level = "keep",
        stream: str | None = None,
        prompt: str | None = None,
        metadata: Mapping[str, Any] | None = None,
    ) -> None:
        """See `Session.push`."""
        self.session.push(event, level=level, stream=stream, prompt=prompt, metadata=metadata)

    def log(self, text: str) -> None:
        """See `Session.log`."""
        self.session.log(text)

    def prompt(self, text: str) -> None:
        """See `Session.prompt`."""
        self.session.prompt(text)

    async def query(self, *streams: str, last: int = MAX_HISTORY) -> dict[str, list[HistoryLine]]:
        """See `Session.query`; a plain function says `context.wait_for(context.query(…))`."""
        return await self.session.query(*streams, last=last)

    def wait_for(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the provider's loop and return its result, in a plain function."""
        return self._ends.wait_for(work)
