"""Gates: a provider's functions that decide whether a session's tool may run."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import msgspec
from msgspec import Raw

from tapui.provider.session import Session
from tapui.wire.provider import GateResult
from tapui.wire.surrogates import without_surrogates

MAX_REASON = 16 * 1024
"""Characters of a reason that the agent is told."""


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
    """A gate's no; the agent is told the reason."""

    reason: str


@dataclass(frozen=True)
class Allow:
    """A gate's yes, with something that the agent is told about this call."""

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
