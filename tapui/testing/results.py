"""What a test gets to see: how calls ended, verdicts, turns, lines and prompts."""

import asyncio
from collections.abc import Awaitable, Callable, Generator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import UNSET

from tapui.testing.faults import CallFailed
from tapui.text import safe_text
from tapui.wire.host import HookDecision, PromptPrepared
from tapui.wire.message import Level, ToolOutcome

_SHOWN = 500
"""Characters of a result that a failed assertion shows."""


@dataclass(frozen=True, slots=True)
class ResultFile:
    """A result that was left in a file: the session's own copy, which goes with the test."""

    path: Path
    mime_type: str
    size: int

    def read(self) -> bytes:
        """Return what is in it."""
        return self.path.read_bytes()


@dataclass(frozen=True, slots=True, repr=False)
class CallResult:
    """How a call ended. `progress` is what was told meanwhile, `context` what rules and gates add.

    `error_code` is None for a call that went well; `error` says in words what went wrong.
    """

    tool: str
    outcome: ToolOutcome
    progress: list[str] = field(default_factory=list)
    raised: BaseException | None = None
    """What the tool's function raised, other than `ToolError`; the agent is not shown it."""

    def __repr__(self) -> str:
        if not self.is_ok:
            return f"<CallResult of '{self.tool}': {self.error_code}: {self.error}>"
        made = self.outcome.file or safe_text(
            bytes(self.outcome.data or b"").decode(), limit=_SHOWN
        )
        return f"<CallResult of '{self.tool}': {made}>"

    @property
    def is_ok(self) -> bool:
        """Whether it went well."""
        return self.outcome.error_code is None

    @property
    def data(self) -> Any:
        """The result as decoded JSON. Raises `CallFailed` where there is none."""
        if self.outcome.data is UNSET:
            raise CallFailed(self._why_no_data()) from self.raised
        return msgspec.json.decode(self.outcome.data)

    @property
    def text(self) -> str:
        """The result as the agent reads it: text unchanged, all else as JSON."""
        data = self.data
        return data if isinstance(data, str) else msgspec.json.encode(data).decode()

    @property
    def file(self) -> ResultFile:
        """The file of the result. Raises `CallFailed` where there is none."""
        found = self.outcome.file
        if found is None:
            why = f"the result of '{self.tool}' is in no file"
            raise CallFailed(why if self.is_ok else self._why_no_data()) from self.raised
        return ResultFile(Path(found.path), found.mime_type, found.size)

    @property
    def error(self) -> str | None:
        """What went wrong, in words."""
        return self.outcome.error

    @property
    def error_code(self) -> str | None:
        """The code of what went wrong."""
        return self.outcome.error_code

    @property
    def is_retryable(self) -> bool:
        """Whether the same call may work when it is made again, as the provider says."""
        return bool(self.outcome.retryable)

    @property
    def context(self) -> list[str]:
        """What rules and gates add to the call."""
        return self.outcome.context or []

    def _why_no_data(self) -> str:
        if self.outcome.file is not None:
            return f"the result of '{self.tool}' is in a file: read result.file"
        return f"'{self.tool}' failed: {self.error_code}: {self.error}"


class StartedCall:
    """A call under way."""

    def __init__(
        self,
        tool: str,
        abort: Callable[[str], None],
        wait: Callable[..., Awaitable[Any]],
        errors: Mapping[str, BaseException],
    ) -> None:
        self.tool = tool
        self.id = ""
        """The gateway's id of it, as the provider gets it; empty for one that was not begun."""
        self._errors = errors
        self._abort = abort
        self._wait = wait
        self._told: list[str] = []
        self._read = 0
        self._news = asyncio.Event()
        self._outcome: asyncio.Future[ToolOutcome] = asyncio.get_running_loop().create_future()

    def told(self, text: str) -> None:
        self._told.append(text)
        self._news.set()

    def ended(self, outcome: ToolOutcome) -> None:
        if self._outcome.done():
            raise AssertionError(f"the call of '{self.tool}' ended twice")
        self._outcome.set_result(outcome)
        self._news.set()

    @property
    def is_done(self) -> bool:
        """Whether it has ended."""
        return self._outcome.done()

    async def progress(self) -> str:
        """Return the next line of progress. Raises `CallFailed` when the call ends without it."""
        while self._read == len(self._told):
            if self.is_done:
                raise CallFailed(f"'{self.tool}' has ended without further progress")
            self._news.clear()
            await self._wait(self._news.wait(), f"'{self.tool}' has told no progress")
        self._read += 1
        return self._told[self._read - 1]

    def cancel(self, reason: str = "Cancelled") -> None:
        """Give the call up; its result is then `CANCELLED`."""
        self._abort(reason)

    @property
    def result(self) -> Awaitable[CallResult]:
        """The result, to be awaited: `await call.result`."""
        return self._result()

    async def _result(self) -> CallResult:
        outcome = await self._wait(asyncio.shield(self._outcome), f"'{self.tool}' has not answered")
        return CallResult(self.tool, outcome, list(self._told), self._errors.get(self.id))

    def __await__(self) -> Generator[Any, None, CallResult]:
        return self._result().__await__()


@dataclass(frozen=True, slots=True)
class NativeVerdict:
    """Whether a call of a tool of the session's own may run."""

    decision: Literal["allow", "deny", "context", "ask"]
    reason: str | None
    context: str | None

    @classmethod
    def of(cls, decided: HookDecision) -> "NativeVerdict":
        return cls(decided.decision, decided.reason, decided.context)

    @property
    def is_allowed(self) -> bool:
        """Whether it may run."""
        return self.decision in ("allow", "context")

    @property
    def is_denied(self) -> bool:
        """Whether it may not; `reason` says why."""
        return self.decision == "deny"


@dataclass(frozen=True, slots=True)
class PromptedTurn:
    """A prompt of the person: what providers added to it, and the sections of the system prompt."""

    prompt: str
    context: list[str]
    sections: dict[str, str]

    @classmethod
    def of(cls, prompt: str, prepared: PromptPrepared) -> "PromptedTurn":
        return cls(prompt, prepared.context, prepared.sections)


@dataclass(frozen=True, slots=True)
class PushedLine:
    """A line that is in a stream. `level` is what filters left it."""

    stream: str
    event: str
    level: Level
    metadata: Any = None


@dataclass(frozen=True, slots=True)
class SentPrompt:
    """A prompt that a provider sent into the session."""

    text: str
    provider: str
    stream: str | None
