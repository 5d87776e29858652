"""What an author's functions are given, and may answer: a tool's call, a gate's call."""

import threading
from collections.abc import Callable, Coroutine
from dataclasses import dataclass
from typing import Any, TypeVar

import msgspec
from msgspec import Raw

from tapui.provider.session import Session, Speech
from tapui.wire.message import ToolProgress
from tapui.wire.provider import GateResult
from tapui.wire.surrogates import without_surrogates

T = TypeVar("T")

MAX_PROGRESS = 16 * 1024
"""Characters of a text that tells progress."""


class Context(Speech):
    """A call of a tool. A function that has a parameter of this type is given it."""

    def __init__(self, session: Session, tool: str, call_id: str, traceparent: str | None) -> None:
        self.session = session
        self.outlet = session.outlet
        self.tool = tool
        self.call_id = call_id
        self.traceparent = traceparent
        """The call's place in a trace (W3C Trace Context)."""
        self._cancelled: threading.Event | None = None
        self._is_cancelled = False

    def progress(
        self, done: float | None = None, total: float | None = None, text: str = ""
    ) -> None:
        """Tell how far the call is: `progress(3, 10, "files")`. Of many, the newest are sent."""
        count = "" if done is None else f"{done:g}" if total is None else f"{done:g}/{total:g}"
        message = " ".join(filter(None, (count, text))) or "…"
        self.outlet.progress(
            ToolProgress(
                self.call_id,
                without_surrogates(message[:MAX_PROGRESS]),
                None if done is None else float(done),
                None if total is None else float(total),
            )
        )

    def _session_id(self) -> str:
        return self.session.id

    @property
    def cancelled(self) -> bool:
        """Whether the call was given up: by a time-out, or by its caller.

        A coroutine gets `asyncio.CancelledError`; a plain function has to look here.
        """
        return self._is_cancelled

    def cancel(self) -> None:
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

    def wait_for(self, work: Coroutine[Any, Any, T]) -> T:
        """Run a coroutine in the provider's loop and return its result, in a plain function."""
        return self.outlet.wait_for(work)


MAX_REASON = 16 * 1024
"""Characters of a reason for the agent."""


class GateCall:
    """A call of the session that waits for the gate's answer, for five seconds."""

    def __init__(self, session: Session, tool: str, args: Raw) -> None:
        self.session = session
        self.tool = tool
        self._args = args

    @property
    def args(self) -> dict[str, Any]:
        """The arguments, as the agent gave them."""
        found: dict[str, Any] = msgspec.json.decode(self._args, type=dict[str, Any])
        return found

    def __repr__(self) -> str:
        return f"GateCall({self.tool!r})"


@dataclass(frozen=True)
class Deny:
    """A gate's no; the agent reads the reason."""

    reason: str


@dataclass(frozen=True)
class Allow:
    """A gate's yes, with a text for the agent about this call."""

    context: str | None = None


GateVerdict = bool | Deny | Allow
GateFunction = Callable[..., Any]
"""Takes a `GateCall` and returns a `GateVerdict`, or is a coroutine function that does."""


@dataclass(frozen=True)
class DeclaredGate:
    """A gate as it was declared."""

    id: str
    function: GateFunction
    reason: str | None
    fail_open: bool

    def answer(self, call_id: str, verdict: Any) -> GateResult | None:
        """Return the answer to a check; None where the function returned something else."""
        if verdict is True:
            verdict = Allow()
        elif verdict is False:
            verdict = Deny(self.reason or f"refused by the gate '{self.id}'")
        if isinstance(verdict, Deny):
            return GateResult(call_id, "deny", self.id, _bounded(verdict.reason))
        if isinstance(verdict, Allow):
            if verdict.context:
                return GateResult(call_id, "context", self.id, _bounded(verdict.context))
            return GateResult(call_id, "allow", self.id)
        return None

    def failed(self, call_id: str) -> GateResult:
        """Return the answer where the function failed: a no, unless the gate fails open."""
        if self.fail_open:
            return GateResult(call_id, "allow", self.id)
        reason = f"the gate '{self.id}' failed, which counts as a no"
        return GateResult(call_id, "deny", self.id, reason)


def _bounded(text: str) -> str:
    return without_surrogates(str(text)[:MAX_REASON])
