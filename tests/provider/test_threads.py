"""Threads of functions that never return: what waits behind them still runs."""

import asyncio
import threading

from tapui.provider.threads import MOST, MOST_LOST, Job, Threads


class Stuck:
    """Functions that return only when the test lets them."""

    def __init__(self, threads: Threads) -> None:
        self._threads = threads
        self._begun = threading.Semaphore(0)
        self.released = threading.Event()

    def _hang(self) -> None:
        self._begun.release()
        self.released.wait()

    def start(self, count: int) -> list[Job]:
        return [self._threads.run("hang", self._hang, lambda _job: None) for _ in range(count)]

    async def begun(self, count: int) -> None:
        """Return when so many more have begun."""
        for _ in range(count):
            assert await asyncio.to_thread(self._begun.acquire, timeout=10)


async def test_a_job_that_waits_runs_when_one_under_way_is_given_up() -> None:
    threads = Threads(asyncio.get_running_loop())
    stuck = Stuck(threads)
    try:
        jobs = stuck.start(MOST)
        await stuck.begun(MOST)
        returned = asyncio.Event()
        threads.run("next", lambda: None, lambda _job: returned.set())
        threads.give_up(jobs[0])
        async with asyncio.timeout(10):
            await returned.wait()
    finally:
        stuck.released.set()
        threads.close()


async def test_a_job_that_waits_behind_all_that_are_lost_runs_when_one_returns() -> None:
    threads = Threads(asyncio.get_running_loop())
    stuck = Stuck(threads)
    try:
        jobs = stuck.start(MOST + MOST_LOST - 1)
        await stuck.begun(MOST)
        returned = asyncio.Event()
        threads.run("next", lambda: None, lambda _job: returned.set())
        for job in jobs[: MOST_LOST - 1]:
            threads.give_up(job)
            await stuck.begun(1)
        for job in jobs[MOST_LOST - 1 :]:
            threads.give_up(job)
        stuck.released.set()
        async with asyncio.timeout(10):
            await returned.wait()
    finally:
        stuck.released.set()
        threads.close()
