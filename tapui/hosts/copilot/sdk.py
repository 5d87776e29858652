"""The Copilot SDK's edge: its calls bounded in time, its failures of one type.

Importing the SDK costs more than half a second of CPU and 45 MB, so modules of this package import
it inside functions: the gateway's process, which imports some of them, never loads it. This is the
one module that touches what the SDK keeps private.
"""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

from tapui.hosts.copilot.errors import AttachError, NoAnswerError

T = TypeVar("T")

CALL_TIME = 10.0
"""Seconds that a call to the CLI may take."""


def load() -> None:
    """Import the SDK. Raises `AttachError` when it is not installed or does not work here."""
    try:
        import copilot  # noqa: F401
    except (ImportError, OSError) as error:
        raise AttachError(
            f"the Copilot SDK cannot be used ({error}); "
            "install it again with: pip install --force-reinstall github-copilot-sdk"
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


async def call(what: str, awaitable: Awaitable[T], *, within: float = CALL_TIME) -> T:
    """Await a call of the SDK for at most `within` seconds.

    Raises `AttachError`, which says `what` could not be done and why.
    """
    try:
        async with asyncio.timeout(within):
            return await awaitable
    except TimeoutError:
        raise NoAnswerError(f"{what}: no answer from the CLI within {within:g} s") from None
    except failures() as error:
        raise AttachError(f"{what}: {str(error) or type(error).__name__}") from error
