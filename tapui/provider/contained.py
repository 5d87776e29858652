"""Awaiting an author's function: whatever it raises, what awaits it goes on."""

import asyncio
from collections.abc import Awaitable
from typing import TypeVar

T = TypeVar("T")

LEAVE_SECONDS = 1.0
"""How long cancelled coroutines have to come to their end, when their provider leaves."""


class FunctionEnded(Exception):  # noqa: N818 - a state of the function
    """A function raised what is meant to end a program or a task, such as `SystemExit`."""


async def contained(work: Awaitable[T]) -> T:
    """Await what an author wrote. Raises an `Exception` where that raises anything.

    `asyncio.CancelledError` is raised where the awaiting task was cancelled, and not otherwise.
    """
    try:
        return await work
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise
        raise FunctionEnded("it was cancelled by itself") from error
    except Exception:
        raise
    except BaseException as error:
        raise FunctionEnded(f"it raised {type(error).__name__}") from error
