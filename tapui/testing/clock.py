"""The clock of a test: it stands still until the test turns it."""

import asyncio
import heapq
import time
from itertools import count


class HandClock:
    """Seconds of a steady clock that only `turn` moves. It begins at the present moment."""

    def __init__(self) -> None:
        self._now = time.monotonic()
        self._order = count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []

    def now(self) -> float:
        """Return the time in seconds."""
        return self._now

    async def sleep(self, seconds: float) -> None:
        """Return when the clock has been turned so far."""
        awake: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._now + seconds, next(self._order), awake))
        await awake

    @property
    def next_sleeper(self) -> float | None:
        """When somebody wants to be woken next, or None."""
        while self._sleepers and self._sleepers[0][2].done():
            heapq.heappop(self._sleepers)
        return self._sleepers[0][0] if self._sleepers else None

    def turn(self, now: float) -> None:
        """Move to a time, never back, and wake who has slept until then."""
        self._now = max(self._now, now)
        while (due := self.next_sleeper) is not None and due <= self._now:
            heapq.heappop(self._sleepers)[2].set_result(None)
