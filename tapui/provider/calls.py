"""Calls under way: each is answered exactly once."""

import asyncio
import logging
from typing import Protocol, TypeVar

from tapui.provider.contained import LEAVE_SECONDS
from tapui.provider.context import CallEnds, Context
from tapui.provider.errors import ToolError
from tapui.provider.results import ResultFolder, error_of, needs_file, result_of
from tapui.provider.session import Session
from tapui.provider.threads import Job, Threads, ThreadsExhausted
from tapui.provider.tool import Bound, ToolFunction
from tapui.wire.errors import CallError
from tapui.wire.message import Message
from tapui.wire.provider import ToolCall, ToolResult

log = logging.getLogger("tapui.provider")

T = TypeVar("T")
_OUTSIDE = "the tool failed; its log has the reason"


class Answers(Protocol):
    """Where results go."""

    def put(self, message: Message) -> None:
        """Send a result."""


class _Running:
    """A call: its context, and the task or the job that works on it."""

    __slots__ = ("context", "has_begun", "job", "session_id", "task", "tool")

    def __init__(self, tool: str, context: Context) -> None:
        self.tool = tool
        self.context = context
        self.session_id = context.session.id
        self.task: asyncio.Task[None] | None = None
        self.has_begun = False
        """Whether the task has come so far that it notices when it is cancelled."""
        self.job: Job | None = None


class CallsUnderWay:
    """Runs functions of tools, and answers with what they return or raise."""

    def __init__(self, threads: Threads, answers: Answers, ends: CallEnds) -> None:
        self._loop = asyncio.get_running_loop()
        self._threads = threads
        self._answers = answers
        self._ends = ends
        self._running: dict[str, _Running] = {}
        self.folder = ResultFolder(None)
        """Where results in files are put."""

    def __contains__(self, call_id: str) -> bool:
        return call_id in self._running

    async def answered(self) -> None:
        """Return when cancelled coroutines have come to their end, within a second."""
        tasks = {one.task: one.tool for one in self._running.values() if one.task is not None}
        if tasks:
            _, stubborn = await asyncio.wait(tasks, timeout=LEAVE_SECONDS)
            for task in stubborn:
                log.error("the tool %s does not end when it is cancelled", tasks[task])

    def __len__(self) -> int:
        return len(self._running)

    def start(self, call: ToolCall, tool: ToolFunction | None, session: Session) -> None:
        """Run the tool that is called; `tool` is None where there is none of that name."""
        context = Context(session, call.tool, call.id, self._ends, call.traceparent)
        running = self._running[call.id] = _Running(call.tool, context)
        try:
            if tool is None:
                raise ToolError(CallError.NOT_FOUND, f"there is no tool '{call.tool}' here")
            function = tool.bind(call.args, context)
            if tool.is_coroutine:
                running.task = self._loop.create_task(self._await(running, function))
                return
            folder = self.folder
            running.job = self._threads.run(
                call.tool,
                lambda: result_of(call.id, function(), folder),
                lambda job: self._returned(call.id, job),
            )
        except ThreadsExhausted:
            text = "all threads of this provider are busy with functions that never returned"
            log.error("%s: %s", call.tool, text)  # noqa: TRY400 - a state, without a trace
            self._answer(error_of(call.id, ToolError(CallError.INTERNAL, text)))
        except BaseException as error:  # noqa: BLE001 - types of arguments run their author's code
            self._answer(self._failed(call.id, error))

    async def _await(self, running: _Running, function: Bound) -> None:
        running.has_begun = True
        call_id = running.context.call_id
        try:
            value = await function()
            if needs_file(value):
                folder = self.folder
                answer = await self._threads.call(
                    "result", lambda: result_of(call_id, value, folder)
                )
            else:
                answer = result_of(call_id, value, self.folder)
        except asyncio.CancelledError as error:
            if not running.context.cancelled:
                self._answer(self._failed(call_id, error))
                return
            answer = error_of(call_id, ToolError(CallError.CANCELLED, "the call was cancelled"))
        except BaseException as error:  # noqa: BLE001 - answered, and in the log
            answer = self._failed(call_id, error)
        self._answer(answer)

    def _returned(self, call_id: str, job: Job) -> None:
        if job.error is None:
            self._answer(job.result)
        else:
            self._answer(self._failed(call_id, job.error))

    def _failed(self, call_id: str, error: BaseException) -> ToolResult:
        """Return the answer where a function raised; what is in a traceback stays here."""
        if isinstance(error, ToolError):
            return error_of(call_id, error)
        running = self._running.get(call_id)
        if running is not None and not running.context.cancelled:
            log.error(
                "the tool %s failed", running.tool, exc_info=error, extra={"call_id": call_id}
            )
        return error_of(
            call_id, ToolError(CallError.INTERNAL, f"{type(error).__name__}: {_OUTSIDE}")
        )

    def _answer(self, answer: ToolResult) -> None:
        self._running.pop(answer.id, None)
        self._answers.put(answer)

    def cancel(self, call_id: str, reason: str) -> None:
        """Give a call up: a coroutine is cancelled, a plain function is left to itself."""
        running = self._running.get(call_id)
        if running is None:
            return  # it was answered already
        running.context.cancel()
        if running.task is not None:
            running.task.cancel()
            if running.has_begun:
                return
        thread = None if running.job is None else self._threads.give_up(running.job)
        if thread is not None:
            log.warning(
                "the call of %s was given up (%s); its thread '%s' goes on until it returns",
                running.tool,
                reason,
                thread,
            )
        text = f"the call was cancelled: {reason}"
        self._answer(error_of(call_id, ToolError(CallError.CANCELLED, text)))

    def cancel_all(self, reason: str, session_id: str | None = None) -> None:
        """Give all calls up, or those of one session."""
        for call_id, running in list(self._running.items()):
            if session_id in (None, running.session_id):
                self.cancel(call_id, reason)
