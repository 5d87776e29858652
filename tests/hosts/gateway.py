"""The gateway's side of a host's port, played by a test: it answers, records, and can be asked."""

import asyncio
import threading
from collections.abc import Callable, Collection, Sequence
from concurrent.futures import Future
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self, TypeVar

from tapui.hosts.copilot.host import CopilotHost
from tapui.hosts.port import Closed, Receive
from tapui.wire.codec import raw
from tapui.wire.errors import ErrorCode
from tapui.wire.host import (
    ApprovalAnswer,
    ApprovalRequest,
    HookDecision,
    HookPreToolUse,
    HostAck,
    HostHello,
    HostSessionOpened,
    PromptPrepared,
    PromptSubmitted,
    SessionOpen,
    TurnEnd,
    TurnEnding,
)
from tapui.wire.message import Error, Message, OfferedTool, ToolInvoke
from tapui.wire.provider import Sessions
from tests.rig.waiting import HUNG, until

_Question = HookPreToolUse | PromptSubmitted | TurnEnding | ToolInvoke
M = TypeVar("M", bound=Message)
T = TypeVar("T")

GREET = OfferedTool(
    "greet",
    "Greets someone by name",
    raw({"type": "object", "properties": {"name": {"type": "string"}}}),
    "greeter",
)
LIST = OfferedTool("tap_list_streams", "Lists the streams", raw({}), "tap", read_only=True)


class GatewayPlayed:
    """Accepts one host, opens its sessions with `tools`, and keeps every message it sends.

    It lets every tool run and adds nothing to prompts, at once, as a gateway without rules does;
    unless `answers_hooks` is off. `goes_on` is its rule at a turn's end: why the agent is to go
    on, or None. With `refuses` it answers each question about a session by that error,
    and by `INVALID_SESSION` where it `knows` others only.
    """

    answers_hooks = True
    rule: Literal["allow", "ask", "deny"] = "allow"
    """What its rules say about each tool."""
    says: Literal["approve", "deny"] | None = None
    """What the person says to each request; None leaves it open."""
    goes_on: Callable[[TurnEnding], str | None] = staticmethod(lambda _: None)
    refuses: ErrorCode | None = None
    knows: Collection[str] | None = None

    def __init__(self, tools: Sequence[OfferedTool] = (GREET, LIST)) -> None:
        self.tools = list(tools)
        self.messages: list[Message] = []
        self.is_closed = False
        self._loop: asyncio.AbstractEventLoop | None = None
        self._receive: Receive | None = None

    def open_port(self, receive: Receive, closed: Closed) -> "GatewayPlayed":
        self._loop = asyncio.get_running_loop()
        self._receive = receive
        self.tell(Sessions(active=[]))
        return self

    def send(self, message: Message) -> None:
        self.messages.append(message)
        if isinstance(message, HostHello):
            self.tell(HostAck("h-1", 2))
        elif isinstance(message, SessionOpen):
            self.tell(HostSessionOpened(message.session.id, list(self.tools), 1))
        elif isinstance(message, _Question) and (code := self._refusal(message.session_id)):
            tag, of = str(type(message).__struct_config__.tag), message.session_id
            self.tell(Error(code, "refused", tag, message.id, session_id=of))
        elif isinstance(message, HookPreToolUse) and self.answers_hooks:
            reason = None if self.rule == "allow" else f"your rule: {self.rule}"
            self.tell(HookDecision(message.id, self.rule, reason))
        elif isinstance(message, ApprovalRequest) and self.says is not None:
            self.tell(ApprovalAnswer(message.id, self.says))
        elif isinstance(message, PromptSubmitted) and self.answers_hooks:
            self.tell(PromptPrepared(message.id, [], {}))
        elif isinstance(message, TurnEnding) and self.answers_hooks:
            reason = self.goes_on(message)
            self.tell(TurnEnd(message.id, "again" if reason else "end", reason))

    def _refusal(self, session_id: str) -> ErrorCode | None:
        is_known = self.knows is None or session_id in self.knows
        return self.refuses if is_known else ErrorCode.INVALID_SESSION

    def close(self) -> None:
        self.is_closed = True

    def tell(self, message: Message) -> None:
        """Send the host a message, from any thread."""
        assert self._loop is not None
        self._loop.call_soon_threadsafe(self._deliver, message)

    def _deliver(self, message: Message) -> None:
        assert self._receive is not None
        self._receive(message)

    def of(self, kind: type[M], **fields: Any) -> list[M]:
        """Return the messages of a kind whose fields have these values, oldest first."""
        return [
            one
            for one in list(self.messages)
            if isinstance(one, kind)
            and all(getattr(one, name) == value for name, value in fields.items())
        ]

    def wait(
        self,
        kind: type[M],
        fits: Callable[[M], bool] = lambda _: True,
        *,
        within: float = HUNG,
        **fields: Any,
    ) -> M:
        """Wait for a message of the kind that `fits` and has these fields; return the first."""
        return until(
            lambda: next(filter(fits, self.of(kind, **fields)), None),
            within=within,
            what=lambda: (
                f"{kind.__name__} {fields}; there were:\n" + "\n".join(map(str, self.messages))
            ),
        )


class HostThread:
    """A Copilot host in an event loop and thread of its own; used as a context manager."""

    def __init__(self, gateway: GatewayPlayed, copilot_home: Path, **options: Any) -> None:
        self.gateway = gateway
        self.reports: list[tuple[str, str]] = []
        self._home = copilot_home
        self._options = options
        self._ready = threading.Event()
        self._failure: BaseException | None = None
        self._thread = threading.Thread(target=self._main, daemon=True)
        self.loop: asyncio.AbstractEventLoop
        self.host: CopilotHost

    def _main(self) -> None:
        try:
            asyncio.run(self._run())
        except BaseException as failure:
            self._failure = failure
            self._ready.set()
            raise

    async def _run(self) -> None:
        self.loop = asyncio.get_running_loop()
        self.host = CopilotHost(
            self.gateway.open_port,
            copilot_home=self._home,
            report=lambda text, level: self.reports.append((level, text)),
            **self._options,
        )
        self._ready.set()
        await self.host.run()

    def __enter__(self) -> Self:
        self._thread.start()
        assert self._ready.wait(HUNG)
        return self

    def run_in_loop(self, function: Callable[[], T]) -> T:
        """Return what the function returns on the loop's thread."""
        done: Future[T] = Future()
        self.loop.call_soon_threadsafe(lambda: done.set_result(function()))
        return done.result(10)

    def stop(self, within: float = HUNG) -> None:
        """Stop the host and wait for its end."""
        if self._thread.is_alive():
            self.loop.call_soon_threadsafe(self.host.stop)
            self._thread.join(within)
        assert not self._thread.is_alive()
        if self._failure is not None:
            raise self._failure

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()
