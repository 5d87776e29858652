"""The Copilot SDK's edge: its calls bounded in time, its failures of one type, joining a session.

Importing the SDK costs more than half a second of CPU and 45 MB, so modules of this package import
it inside functions: the gateway's process, which imports some of them, never loads it. This is the
one module that touches what the SDK keeps private.
"""

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from tapui.invocation import install_line

if TYPE_CHECKING:
    from copilot import CopilotClient, CopilotSession
    from copilot.session import (
        PermissionNoResult,
        SectionOverride,
        SessionHooks,
        SystemMessageSection,
    )
    from copilot.session_events import SessionEvent as CopilotEvent

NO_CLI = "Copilot CLI was not found on PATH; install it with: npm install -g @github/copilot"


class AttachError(Exception):
    """A session cannot be reached, or a call to the CLI failed; the text says what to do."""


class UnknownMethodError(AttachError):
    """The CLI does not know what it was asked: it is of another version."""


class NoAnswerError(AttachError):
    """The CLI did not answer in time; it may be stopped, and the connection may still be good."""


class LostError(AttachError):
    """The connection ended before the CLI had answered."""


class NoCliError(AttachError):
    """There is no Copilot CLI to start."""


T = TypeVar("T")

_log = logging.getLogger(__name__)

_NO_METHOD = -32601
"""JSON-RPC's code for a method that the other end does not have."""

PACKAGE = "github-copilot-sdk"
CALL_TIME = 10.0
"""Seconds that a call to the CLI may take."""


def load() -> None:
    """Import the SDK. Raises `AttachError` when it is not installed or does not work here."""
    try:
        import copilot
    except (ImportError, OSError) as error:
        raise AttachError(
            f"the Copilot SDK cannot be used ({error}); "
            f"install it again with: {install_line(PACKAGE, '--force-reinstall')}"
        ) from error
    for module in (copilot.client, copilot.session):
        given = getattr(module, _CONTEXT, None)
        if given is not None and not isinstance(given, _TraceContext):
            setattr(module, _CONTEXT, _TraceContext(given))


_CONTEXT = "get_trace_context"
_traceparent: ContextVar[str | None] = ContextVar("traceparent", default=None)


class _TraceContext:
    """What the SDK asks for the trace before it makes, resumes and prompts a session. Its own would
    need OpenTelemetry's package, with a span of that current in this process."""

    def __init__(self, otherwise: Callable[[], dict[str, str]]) -> None:
        self._otherwise = otherwise

    def __call__(self) -> dict[str, str]:
        traceparent = _traceparent.get()
        return self._otherwise() if traceparent is None else {"traceparent": traceparent}


@contextmanager
def trace_context(traceparent: str | None) -> Iterator[None]:
    """Let the SDK's calls within belong to a trace; None changes nothing."""
    token = _traceparent.set(traceparent)
    try:
        yield
    finally:
        _traceparent.reset(token)


def failures() -> tuple[type[Exception], ...]:
    """Return the exceptions by which the loaded SDK says that a call failed."""
    from copilot._jsonrpc import JsonRpcError, ProcessExitedError

    return (
        JsonRpcError,
        ProcessExitedError,
        # Written by hand or generated, the SDK's own checks of what the CLI answered:
        RuntimeError,
        OSError,
        ValueError,
        AssertionError,
        KeyError,
        TypeError,
        AttributeError,
    )


def pid_of(client: "CopilotClient") -> int | None:
    process = client._cli_process  # noqa: SLF001 - the SDK does not tell
    return None if process is None else process.pid


def has_ended(client: "CopilotClient") -> bool:
    process = client._cli_process  # noqa: SLF001 - the SDK does not tell
    return process is None or process.poll() is not None


def check_connected(client: "CopilotClient") -> None:
    """Raise `AttachError` for a client that was stopped.

    The SDK connects such a client once more when it is to join a session, and that connection
    would stay open: its owner has left. To be called with no `await` before the SDK's call.
    """
    if client._client is None:  # noqa: SLF001 - the SDK does not tell
        raise LostError("the connection was closed meanwhile")


def loop_failed(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """Handle an error in a callback of the loop; one of the SDK's is no error.

    When the connection ends, the SDK's reader fails every pending call, also one that was answered
    or given up on (`call` ran out of time) in that moment.
    """
    is_late = isinstance(context.get("exception"), asyncio.InvalidStateError)
    if is_late and "Future.set_" in repr(context.get("handle")):
        _log.debug("a late answer of the CLI: %s", context["handle"])
    else:
        loop.default_exception_handler(context)


async def call(what: str, awaitable: Awaitable[T], *, within: float = CALL_TIME) -> T:
    """Await a call of the SDK for at most `within` seconds.

    Raises `AttachError`, which says `what` could not be done and why; `UnknownMethodError` when the
    CLI does not know what it was asked.
    """
    try:
        async with asyncio.timeout(within):
            return await awaitable
    except TimeoutError:
        raise NoAnswerError(f"{what}: no answer from the CLI within {within:g} s") from None
    except failures() as error:
        if _is_unknown(error):
            raise UnknownMethodError(f"{what}: this Copilot CLI does not know that") from error
        kind = LostError if _is_lost(error) else AttachError
        raise kind(f"{what}: {str(error) or type(error).__name__}") from error


def _is_lost(error: Exception) -> bool:
    from copilot._jsonrpc import ProcessExitedError

    return isinstance(error, (ProcessExitedError, ConnectionError))


def _is_unknown(error: Exception) -> bool:
    return getattr(error, "code", None) == _NO_METHOD or "Unhandled method" in str(error)


async def disconnect(client: "CopilotClient", *, within: float) -> None:
    """Close a client's socket at once: `stop()` would wait a second for a thread, on the loop.

    Calls under way fail. The SDK leaves those without an end that its reader did not fail in time.
    """
    line = client._client  # noqa: SLF001 - the SDK does not tell
    try:
        await call("disconnect", client.force_stop(), within=within)
    finally:
        await asyncio.sleep(0)  # what the reader has failed, fails now
        for asked in list(line.pending_requests.values()) if line is not None else ():
            if not asked.done():
                asked.set_exception(LostError("the connection was closed"))


class Joining(Protocol):
    """How a session is joined where it is no person's: it is made, say."""

    async def __call__(
        self,
        client: "CopilotClient",
        *,
        hooks: "SessionHooks",
        sections: "dict[SystemMessageSection, SectionOverride]",
        on_event: "Callable[[CopilotEvent], None]",
    ) -> "CopilotSession":
        """Join it. Raises `AttachError`."""


async def join(
    client: "CopilotClient",
    session_id: str,
    *,
    hooks: "SessionHooks",
    on_event: "Callable[[CopilotEvent], None]",
    by_extension: bool,
) -> "CopilotSession":
    """Join a person's session, without tools. Raises `AttachError`."""
    check_connected(client)
    return await call(
        "attach to the session",
        client.resume_session(
            session_id,
            tools=[],
            hooks=hooks,
            suppress_resume_event=True,
            include_sub_agent_streaming_events=False,
            on_event=on_event,
            # An extension hears of permissions, and may answer them, only if it handles them;
            # the CLI asks the person all the same. Elsewhere a handler takes their dialog away.
            on_permission_request=left_open if by_extension else None,
        ),
    )


def left_open(_request: object, _invocation: object) -> "PermissionNoResult":
    """Leave a permission request open: the person there or `Permissions` answers it."""
    from copilot.session import PermissionNoResult

    return PermissionNoResult()
