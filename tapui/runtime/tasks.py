"""The end of tasks that run beside their owner."""

import asyncio
import logging
from collections.abc import Iterable
from typing import Any

_log = logging.getLogger(__name__)


async def cancelled(
    tasks: Iterable["asyncio.Future[Any]"], *, expected: tuple[type[Exception], ...] = ()
) -> None:
    """Cancel tasks and wait for their ends; one that failed is logged, unless it was `expected`."""
    ending = list(tasks)
    for task in ending:
        task.cancel()
    # Each is looked at below.
    ends = await asyncio.gather(*ending, return_exceptions=True)
    for task, ended in zip(ending, ends, strict=True):
        if isinstance(ended, Exception) and not isinstance(ended, expected):
            _log.error("a task failed: %s", _name(task), exc_info=ended)


def _name(task: "asyncio.Future[Any]") -> str:
    return task.get_name() if isinstance(task, asyncio.Task) else repr(task)
