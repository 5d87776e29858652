"""The Copilot SDK's edge: its calls bounded in time, its failures of one type.

Importing the SDK costs more than half a second of CPU and 45 MB, so modules of this package import
it inside functions: the gateway's process, which imports some of them, never loads it. This is the
one module that touches what the SDK keeps private.
"""

import asyncio
import logging
from collections.abc import Awaitable
from typing import TYPE_CHECKING, Any, TypeVar

from tapui.hosts.copilot.errors import AttachError, NoAnswerError, UnknownMethodError
from tapui.invocation import install_line

if TYPE_CHECKING:
    from copilot import CopilotClient

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
        import copilot  # noqa: F401
    except (ImportError, OSError) as error:
        raise AttachError(
            f"the Copilot SDK cannot be used ({error}); "
            f"install it again with: {install_line(PACKAGE, '--force-reinstall')}"
        ) from error


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
    """Return the process of a client that started one."""
    process = client._cli_process  # noqa: SLF001 - the SDK does not tell
    return None if process is None else process.pid


def has_ended(client: "CopilotClient") -> bool:
    """Return whether the process that a client started has ended."""
    process = client._cli_process  # noqa: SLF001 - the SDK does not tell
    return process is None or process.poll() is not None


def check_connected(client: "CopilotClient") -> None:
    """Raise `AttachError` for a client that was stopped.

    The SDK connects such a client once more when it is to join a session, and nobody would close
    that connection: its owner has left. To be called with no `await` before the SDK's call.
    """
    if client._client is None:  # noqa: SLF001 - the SDK does not tell
        raise AttachError("the connection was closed meanwhile")


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
        raise AttachError(f"{what}: {str(error) or type(error).__name__}") from error


def _is_unknown(error: Exception) -> bool:
    return getattr(error, "code", None) == _NO_METHOD or "Unhandled method" in str(error)
