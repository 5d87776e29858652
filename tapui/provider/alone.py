"""A call of a tool without any gateway, also with the outcome that a gateway would tell."""

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

import msgspec
from msgspec import Raw

from tapui.provider.calls import CallsUnderWay, log
from tapui.provider.declared import Declared
from tapui.provider.errors import INVALID_ARGS, ToolError
from tapui.provider.results import ResultFolder
from tapui.provider.session import Session
from tapui.provider.threads import Threads
from tapui.wire import codec
from tapui.wire.message import ActiveSession, FileResult, Message, ToolOutcome, ToolProgress
from tapui.wire.provider import HistoryLine, Push, StreamQuery, ToolCall, ToolResult

T = TypeVar("T")
Progress = Callable[[ToolProgress], None]
_ID = "call"
_FILES = ResultFolder(None)
"""One for the process: what is old in it goes when something new comes."""


class _Nobody:
    """Stands where the gateway would be: what a tool says meanwhile goes to the log."""

    def __init__(self, result: "asyncio.Future[ToolResult]", progress: Progress | None) -> None:
        self._loop = asyncio.get_running_loop()
        self._thread = threading.get_ident()
        self._result = result
        self._progress = progress

    def put(self, message: Message) -> None:
        if isinstance(message, ToolResult) and not self._result.done():
            self._result.set_result(message)

    def post(self, message: Message) -> None:
        if isinstance(message, Push):
            log.info("%s: %s", message.level, message.prompt or message.event)

    async def history(self, query: StreamQuery) -> dict[str, list[HistoryLine]]:
        return {stream: [] for stream in query.streams}

    def progress(self, told: ToolProgress) -> None:
        if self._progress is None:
            log.info("%s", told.message)
        else:
            self._loop.call_soon_threadsafe(self._progress, told)

    def wait_for(self, work: Coroutine[Any, Any, T]) -> T:
        if threading.get_ident() == self._thread:
            work.close()
            raise RuntimeError("wait_for is for plain functions; a coroutine awaits")
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()


async def call(
    provider: Declared, tool: str, arguments: dict[str, Any], progress: Progress | None = None
) -> Any:
    """Run a tool and return its result: decoded JSON, or a `FileResult`. Raises `ToolError`.

    `progress` is told how far it is, in the loop; without it, that goes to the log.
    """
    loop = asyncio.get_running_loop()
    answered: asyncio.Future[ToolResult] = loop.create_future()
    nobody, threads = _Nobody(answered, progress), Threads(loop)
    session = Session(ActiveSession("none", "none", foreground=True, state="idle"), nobody, None)
    try:
        given = codec.raw(arguments)
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        raise ToolError(INVALID_ARGS, f"JSON cannot hold the arguments: {error}") from None
    calls = CallsUnderWay(threads, nobody, nobody)
    calls.folder = _FILES
    function = provider.function_of(tool)
    calls.start(ToolCall(_ID, session.id, tool, given), function, session)
    limit = None if function is None else function.definition.timeout
    timeout = None if limit is None else limit / 1000
    try:
        async with asyncio.timeout(timeout):
            result = await answered
    except TimeoutError:
        raise ToolError("TIMEOUT", f"'{tool}' took longer than {timeout:g} s") from None
    finally:
        calls.cancel_all("nobody waits for it")
        threads.close()
    if result.error_code is not None:
        raise ToolError(result.error_code, result.error or "", result.retryable)
    if isinstance(result.file, FileResult):
        return result.file
    return msgspec.json.decode(bytes(result.data) if isinstance(result.data, Raw) else b"null")


async def outcome_of(
    provider: Declared, tool: str, arguments: dict[str, Any], progress: Progress | None = None
) -> ToolOutcome:
    """Run a tool and return how the call ended; `progress` is told how far it is."""
    try:
        result = await call(provider, tool, arguments, progress)
    except ToolError as error:
        return ToolOutcome(
            id=tool, error=error.text, error_code=error.code, retryable=error.retryable
        )
    if isinstance(result, FileResult):
        return ToolOutcome(id=tool, file=result)
    return ToolOutcome(id=tool, data=codec.raw(result))
