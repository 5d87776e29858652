"""Running an author's functions, plain ones in threads: an exception in one never ends the task
that awaits it."""

import asyncio
import threading
from collections import deque
from collections.abc import Awaitable, Callable
from queue import SimpleQueue
from typing import Any, TypeVar

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


MOST = 32
"""Functions that run at once; more of them wait."""
MOST_LOST = 32
"""Functions that never returned, each in a thread of its own; beyond that no more are run."""


class Job:
    """A function in a thread, or on its way to one; `error` is what it raised."""

    __slots__ = (
        "done",
        "error",
        "function",
        "is_lost",
        "is_over",
        "is_wanted",
        "name",
        "result",
        "thread",
    )

    def __init__(
        self, name: str, function: Callable[[], Any], done: Callable[["Job"], None]
    ) -> None:
        self.name = name
        self.function = function
        self.done = done
        self.result: Any = None
        self.error: BaseException | None = None
        self.thread: threading.Thread | None = None
        self.is_wanted = True
        self.is_over = False
        self.is_lost = False
        """It runs in a thread that is not counted any more."""


class ThreadsExhausted(Exception):  # noqa: N818 - a state
    """Too many functions have never returned."""


class Threads:
    """A bounded number of threads; they are made when they are needed, and end with the process.

    Used from the loop's own thread. Results are handed back to it together, as many as there are.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._jobs: SimpleQueue[Job | None] = SimpleQueue()
        self._finished: deque[Job] = deque()
        self._is_told = False
        self._lock = threading.Lock()
        self._at_work: set[Job] = set()
        self._threads = 0
        self._under_way = 0
        self._lost = 0
        self._is_closed = False

    def run(self, name: str, function: Callable[[], Any], done: Callable[[Job], None]) -> Job:
        """Run `function` in a thread; `done` is called in the loop with the job, unless it was
        given up. Raises `ThreadsExhausted`."""
        if self._lost >= MOST_LOST:
            raise ThreadsExhausted
        job = Job(name, function, done)
        self._under_way += 1
        self._jobs.put(job)
        self._start_thread()
        return job

    def _start_thread(self) -> None:
        """Start a thread if a job waits for one and another may be started."""
        has_room = self._threads < MOST and self._lost < MOST_LOST
        if has_room and self._under_way > self._threads:
            self._threads += 1
            threading.Thread(target=self._work, name="tool", daemon=True).start()

    async def call(self, name: str, function: Callable[[], T]) -> T:
        """Run `function` in a thread and return its result; it is given up when cancelled.

        Raises what it raises, and `ThreadsExhausted`.
        """
        returned: asyncio.Future[None] = self._loop.create_future()

        def done(_job: Job) -> None:
            if not returned.done():
                returned.set_result(None)

        job = self.run(name, function, done)
        try:
            await returned
        except asyncio.CancelledError:
            self.give_up(job)
            raise
        if job.error is not None:
            raise job.error
        result: T = job.result
        return result

    def give_up(self, job: Job) -> str | None:
        """Give a job up; return its thread's name if its function runs on.

        It cannot be stopped. Its thread no longer counts and ends when the function returns;
        a job that waits gets a new one.
        """
        with self._lock:
            job.is_wanted = False
            if job.thread is None or job.is_over or job.is_lost:
                return None
            job.is_lost = True
            job.thread.name = name = f"tool {job.name}, given up"
        self._lost += 1
        self._threads -= 1
        self._under_way -= 1
        if not self._is_closed:
            self._start_thread()
        return name

    @property
    def at_work(self) -> list[str]:
        """The names of the functions that have not returned, given up or not."""
        with self._lock:
            return [job.name for job in self._at_work]

    def close(self) -> None:
        """End the threads after the jobs that wait. No more are started for those given up."""
        self._is_closed = True
        for _ in range(self._threads):
            self._jobs.put(None)
        self._threads = 0

    def _work(self) -> None:
        thread = threading.current_thread()
        while (job := self._jobs.get()) is not None:
            with self._lock:
                job.thread = thread if job.is_wanted else None
                self._at_work.add(job)
            if job.thread is not None:
                thread.name = f"tool {job.name}"
                try:
                    job.result = job.function()
                except BaseException as error:  # noqa: BLE001 - it is raised in the loop
                    job.error = error
            with self._lock:
                job.is_over = True
                self._at_work.discard(job)
            self._finished.append(job)
            if not self._is_told:
                self._is_told = True
                try:
                    self._loop.call_soon_threadsafe(self._hand_back)
                except RuntimeError:
                    return  # the loop is closed
            if job.is_lost:
                return  # this thread no longer counts

    def _hand_back(self) -> None:
        self._is_told = False
        while self._finished:
            job = self._finished.popleft()
            if job.is_lost:
                self._lost -= 1
                if not self._is_closed:
                    self._start_thread()  # none was started while so many were lost
            else:
                self._under_way -= 1
            if job.is_wanted:
                job.done(job)
