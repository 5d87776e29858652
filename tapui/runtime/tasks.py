"""Work beside its owner: in a thread, or as tasks that end with the owner at the latest."""

import asyncio
import logging
from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import Executor
from typing import Any, TypeVar

from tapui.text import cut

_log = logging.getLogger(__name__)
_T = TypeVar("_T")
_ABOUT = 300
"""Characters in the log of what failed work was about."""


def in_thread(
    loop: asyncio.AbstractEventLoop,
    work: Callable[[], _T],
    on_done: Callable[[_T], None],
    *,
    otherwise: Callable[[], _T],
    about: object,
    executor: Executor | None = None,
) -> None:
    """Run `work` in a thread of an executor, or the loop's; `on_done` takes its result on the loop.

    `on_done` is called in any case: with what `otherwise` returns when the work raised, which is
    logged with `about`, or was cancelled. An input of the core that waits for an answer would wait
    for ever without one. Raises `RuntimeError` when the executor takes no work any more.
    """

    def done(running: "asyncio.Future[_T]") -> None:
        if running.cancelled():
            _log.warning("given up before its end: %s", cut(str(about), _ABOUT))
            on_done(otherwise())
        elif (error := running.exception()) is not None:
            _log.error("failed: %s", cut(str(about), _ABOUT), exc_info=error)
            on_done(otherwise())
        else:
            on_done(running.result())

    loop.run_in_executor(executor, work).add_done_callback(done)


class BackgroundTasks:
    """The tasks of one owner. One that fails is logged, and `on_fault` takes its error."""

    def __init__(self, on_fault: Callable[[BaseException], None] | None = None) -> None:
        self._on_fault = on_fault
        self._tasks: set[asyncio.Task[Any]] = set()

    def start(
        self, work: Coroutine[Any, Any, _T], *, name: str | None = None
    ) -> "asyncio.Task[_T]":
        """Run `work` to its end, unless it is cancelled before."""
        task = asyncio.get_running_loop().create_task(work, name=name)
        self._tasks.add(task)  # the loop itself keeps no reference to a task
        task.add_done_callback(self._done)
        return task

    def _done(self, task: "asyncio.Task[Any]") -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            _log.error("a task failed: %s", _name(task), exc_info=error)
            if self._on_fault is not None:
                self._on_fault(error)

    def cancel(self) -> None:
        for task in self._tasks:
            task.cancel()


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
