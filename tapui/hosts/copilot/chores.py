"""Work that runs beside its owner and ends with it at the latest."""

import asyncio
from collections.abc import Coroutine
from typing import Any

from tapui.hosts.port import Report


class Chores:
    """Tasks of one owner. One that fails is told to the person; nothing fails in silence."""

    def __init__(self, report: Report) -> None:
        self._report = report
        self._tasks: set[asyncio.Task[None]] = set()

    def spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        """Run `work` to its end, unless `cancel()` comes first."""
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._done)
        return task

    def _done(self, task: "asyncio.Task[None]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            self._report(
                f"the Copilot host failed at something: {type(error).__name__}: {error}; "
                "if a session behaves oddly, restart tapui",
                "error",
            )

    def cancel(self) -> None:
        """Stop all of it."""
        for task in self._tasks:
            task.cancel()
