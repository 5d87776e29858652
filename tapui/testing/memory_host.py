"""The host of a test's sessions: it asks and tells the gateway what Copilot's host would.

No agent is there. A prompt of a provider begins a turn, which is over at once unless the session
was made busy.
"""

import asyncio
from collections.abc import Callable
from itertools import count
from typing import Any

import msgspec

from tapui.testing.gateway import MemoryGateway, TestedEnd
from tapui.testing.results import PushedLine, SentPrompt, StartedCall
from tapui.wire import limits
from tapui.wire.codec import raw
from tapui.wire.errors import CallError
from tapui.wire.events import AnyEvent, CallStarted, StreamPosted
from tapui.wire.host import (
    HookDecision,
    HookPreToolUse,
    HostHello,
    HostSession,
    HostSessionClosed,
    HostSessionOpened,
    PromptPrepared,
    PromptSubmitted,
    SessionClose,
    SessionLog,
    SessionOpen,
    SessionSend,
    SessionSent,
    ToolsChanged,
)
from tapui.wire.message import (
    Error,
    Message,
    OfferedTool,
    SessionEvent,
    ToolAbort,
    ToolInvoke,
    ToolOutcome,
    ToolProgress,
)


class HostedSession:
    """A session as its host knows it."""

    def __init__(self, id_: str, label: str, cwd: str) -> None:
        self.id = id_
        self.label = label
        self.cwd = cwd
        self.is_open = True
        self.is_busy = False
        self.tools: list[OfferedTool] = []
        self.lines: list[PushedLine] = []
        self.prompts: list[SentPrompt] = []
        self.timeline: list[str] = []
        self.news = asyncio.Event()
        """Set with each prompt and each line."""


class MemoryHost:
    """One host; it stays the same when the gateway is another one."""

    def __init__(self) -> None:
        self.sessions: dict[str, HostedSession] = {}
        self._ids = count(1)
        self._calls: dict[str, StartedCall] = {}
        self._starting: StartedCall | None = None
        """The call that is being handed to the gateway."""
        self._asked: dict[str, asyncio.Future[Any]] = {}
        self._answers: dict[type[Message], Callable[[Any], None]] = {
            HostSessionOpened: self._tools,
            ToolsChanged: self._tools,
            HostSessionClosed: self._session_closed,
            ToolProgress: self._progress,
            ToolOutcome: self._outcome,
            HookDecision: self._decided,
            PromptPrepared: self._decided,
            SessionSend: self._prompt,
            SessionLog: self._log,
            Error: _refused,
        }

    def join(self, gateway: MemoryGateway) -> None:
        for id_ in list(self._calls):
            lost = ToolOutcome(id_, error="the gateway is gone", error_code=CallError.DISCONNECTED)
            self._calls.pop(id_).ended(lost)
        self._gateway = gateway
        self._number = gateway.connect(TestedEnd(self._receive, _gone))
        self._send(HostHello("test", "test", limits.PROTOCOL_VERSION, sections=True))
        for session in self.sessions.values():
            if session.is_open:
                self._open(session)

    def _send(self, message: Message) -> None:
        self._gateway.given(self._number, message)

    def _receive(self, message: Message) -> None:
        answer = self._answers.get(type(message))
        if answer is not None:
            answer(message)

    # Sessions

    def open(self, session: HostedSession) -> None:
        self.sessions[session.id] = session
        self._open(session)

    def _open(self, session: HostedSession) -> None:
        is_first = session is next(iter(self.sessions.values()))
        self._send(
            SessionOpen(
                HostSession(session.id, label=session.label, cwd=session.cwd, foreground=is_first)
            )
        )

    def close(self, session: HostedSession) -> None:
        """Close a session; it is closed once its providers have cleaned up."""
        self._send(SessionClose(session.id, "the test closed it"))

    def event(self, session: HostedSession, name: str, data: dict[str, Any]) -> None:
        self._send(SessionEvent(session.id, name, raw(data)))

    def happened(self, event: AnyEvent) -> None:
        if isinstance(event, StreamPosted) and event.session_id in self.sessions:
            line = event.line
            metadata = None if line.metadata is None else msgspec.json.decode(line.metadata)
            pushed = PushedLine(event.stream, line.event, line.level, metadata)
            session = self.sessions[event.session_id]
            session.lines.append(pushed)
            session.news.set()
        elif isinstance(event, CallStarted) and self._starting is not None:
            self._starting.id = event.call.id

    def _tools(self, message: HostSessionOpened | ToolsChanged) -> None:
        self.sessions[message.session_id].tools = message.tools

    def _session_closed(self, message: HostSessionClosed) -> None:
        self.sessions[message.session_id].is_open = False

    def _log(self, message: SessionLog) -> None:
        self.sessions[message.session_id].timeline.append(message.message)

    def _prompt(self, message: SessionSend) -> None:
        session, sender = self.sessions[message.session_id], message.sender
        session.prompts.append(SentPrompt(message.prompt, sender.provider, sender.stream))
        session.news.set()
        self._send(SessionSent(session.id, ok=True))
        self.event(session, "prompt.injected", {"content": message.prompt, "from": sender.provider})
        self.event(session, "assistant.turn_start", {})
        if not session.is_busy:
            self.event(session, "session.idle", {})

    # Calls and questions

    def invoke(self, session: HostedSession, tool: str, args: dict[str, Any]) -> ToolInvoke:
        """Return a call that `call` then makes."""
        return ToolInvoke(f"call-{next(self._ids)}", session.id, tool, raw(args))

    def call(self, invoke: ToolInvoke, call: StartedCall) -> None:
        self._calls[invoke.id] = self._starting = call
        self._send(invoke)
        self._starting = None

    def abort(self, invoke: ToolInvoke, reason: str) -> None:
        self._send(ToolAbort(invoke.id, reason))

    def ask_native(
        self, session: HostedSession, tool: str, args: dict[str, Any]
    ) -> "asyncio.Future[HookDecision]":
        """Ask whether a tool of the session's own may run."""
        id_ = f"hook-{next(self._ids)}"
        return self._ask(id_, HookPreToolUse(id_, session.id, tool, raw(args)))

    def prepare(
        self, session: HostedSession, prompt: str, sections: dict[str, str], *, is_prompt: bool
    ) -> "asyncio.Future[PromptPrepared]":
        """Ask what is added to a prompt, or only the outcome of sections."""
        id_ = f"prompt-{next(self._ids)}"
        message = PromptSubmitted(id_, session.id, prompt, sections, only_sections=not is_prompt)
        return self._ask(id_, message)

    def _ask(self, id_: str, message: Message) -> "asyncio.Future[Any]":
        answer = self._asked[id_] = asyncio.get_running_loop().create_future()
        self._send(message)
        return answer

    def _decided(self, message: HookDecision | PromptPrepared) -> None:
        answer = self._asked.pop(message.id)
        if not answer.done():  # the test may wait no longer
            answer.set_result(message)

    def _progress(self, message: ToolProgress) -> None:
        if message.id in self._calls:
            self._calls[message.id].told(message.message)

    def _outcome(self, message: ToolOutcome) -> None:
        self._calls.pop(message.id).ended(message)


def _refused(error: Error) -> None:
    raise AssertionError(f"the gateway refused what the test asks: {error.code}: {error.message}")


def _gone(_code: int, _reason: str) -> None:
    """The gateway has ended."""
