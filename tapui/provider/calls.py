"""Calls under way, each answered exactly once; and a call without any gateway."""

import asyncio
import logging
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import msgspec
from msgspec import Raw

from tapui.provider.context import Context
from tapui.provider.declarations import Declared
from tapui.provider.errors import INVALID_ARGS, ToolError
from tapui.provider.results import ResultFolder, error_of, needs_file, result_of
from tapui.provider.session import Outlet, Session
from tapui.provider.threads import LEAVE_SECONDS, Job, Threads, ThreadsExhausted
from tapui.provider.tool import Bound, ToolFunction
from tapui.wire import codec
from tapui.wire.errors import CallError
from tapui.wire.message import ActiveSession, FileResult, Message, ToolOutcome, ToolProgress
from tapui.wire.provider import HistoryLine, Push, StreamQuery, ToolCall, ToolResult

log = logging.getLogger("tapui.provider")

T = TypeVar("T")

_OUTSIDE = "the tool failed; its log has the reason"


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
    """Runs functions of tools; `on_result` takes what they return or raise."""

    def __init__(self, threads: Threads, on_result: Callable[[ToolResult], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._threads = threads
        self._on_result = on_result
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
        context = Context(session, call.tool, call.id, call.traceparent)
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
        self._on_result(answer)

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
        for call_id, running in list(self._running.items()):
            if session_id in (None, running.session_id):
                self.cancel(call_id, reason)


Progress = Callable[[ToolProgress], None]
_ID = "call"
_FILES = ResultFolder(None)
"""One for the process: what is old in it goes when something new comes."""


class OutletOfLoop(Outlet):
    """An outlet that is made and used in one loop, and reached from any thread.

    It stands here, not beside `Outlet`: a kit that is only imported does without asyncio.
    """

    def __init__(self) -> None:
        self.loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()

    def in_loop(self, act: Callable[[], object]) -> None:
        if threading.get_ident() == self._thread:
            act()
        else:
            self.loop.call_soon_threadsafe(act)

    def wait_for(self, work: Coroutine[Any, Any, T]) -> T:
        if threading.get_ident() == self._thread:
            work.close()
            raise RuntimeError("wait_for is for plain functions; a coroutine awaits")
        return asyncio.run_coroutine_threadsafe(work, self.loop).result()


class _LogOnly(OutletOfLoop):
    """Stands where the gateway would be: pushes and progress of a tool go to the log."""

    def __init__(self, progress: Progress | None) -> None:
        super().__init__()
        self._progress = progress

    def post(self, message: Message) -> None:
        if isinstance(message, Push):
            log.info("%s: %s", message.level, message.prompt or message.event)

    async def history(self, query: StreamQuery) -> dict[str, list[HistoryLine]]:
        return {stream: [] for stream in query.streams}

    def progress(self, told: ToolProgress) -> None:
        if self._progress is None:
            log.info("%s", told.message)
        else:
            self.loop.call_soon_threadsafe(self._progress, told)


async def call(
    provider: Declared, tool: str, arguments: dict[str, Any], progress: Progress | None = None
) -> Any:
    """Run a tool and return its result: decoded JSON, or a `FileResult`. Raises `ToolError`.

    `progress` takes how far it is, in the loop; without it, that goes to the log.
    """
    loop = asyncio.get_running_loop()
    answered: asyncio.Queue[ToolResult] = asyncio.Queue()
    threads = Threads(loop)
    active = ActiveSession("none", "none", foreground=True, state="idle")
    session = Session(active, _LogOnly(progress), None)
    try:
        given = codec.raw(arguments)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise ToolError(INVALID_ARGS, f"JSON cannot hold the arguments: {error}") from None
    calls = CallsUnderWay(threads, answered.put_nowait)
    calls.folder = _FILES
    function = provider.function_of(tool)
    calls.start(ToolCall(_ID, session.id, tool, given), function, session)
    limit = None if function is None else function.definition.timeout
    timeout = None if limit is None else limit / 1000
    try:
        async with asyncio.timeout(timeout):
            result = await answered.get()
    except TimeoutError:
        raise ToolError("TIMEOUT", f"'{tool}' took longer than {timeout:g} s") from None
    finally:
        calls.cancel_all("its caller is gone")
        threads.close()
    if result.error_code is not None:
        raise ToolError(result.error_code, result.error or "", result.retryable)
    if isinstance(result.file, FileResult):
        return result.file
    return msgspec.json.decode(bytes(result.data) if isinstance(result.data, Raw) else b"null")


async def outcome_of(
    provider: Declared, tool: str, arguments: dict[str, Any], progress: Progress | None = None
) -> ToolOutcome:
    """Run a tool and return how the call ended; `progress` takes how far it is."""
    try:
        result = await call(provider, tool, arguments, progress)
    except ToolError as error:
        return ToolOutcome(
            id=tool, error=error.text, error_code=error.code, retryable=error.retryable
        )
    if isinstance(result, FileResult):
        return ToolOutcome(id=tool, file=result)
    return ToolOutcome(id=tool, data=codec.raw(result))
