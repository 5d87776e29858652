"""Which thread goes first: the gateway's, beside one that only computes."""

import time
from collections.abc import Callable

REST = 0.001
"""Seconds that are waited each time: a gateway that always has work delays the other thread, and
never stops it."""
_LEAST_WORK = 0.0003
"""Seconds of work between two looks at least: looking more often would cost more than it gives."""


class RightOfWay:
    """The gateway's thread says that it has work; another thread lets it go first.

    Both need the interpreter's lock. A thread that gives it up, as with every call of the system,
    and finds that the other took it gets it back after a switch interval; a turn of the gateway
    does so for every file and socket. So a thread that paints calls `give` between the pieces of
    its work, and rests there while a turn is under way. It does not look whether the turn has
    ended meanwhile: each look would take the lock.
    """

    def __init__(
        self,
        ticks: Callable[[], float] = time.perf_counter,
        sleep: Callable[[float], None] = time.sleep,
    ) -> None:
        self.is_taken = False
        """Whether the gateway has work. Written by its thread alone."""
        self._ticks = ticks
        self._sleep = sleep
        self._went_on = 0.0

    def give(self) -> None:
        """Rest if the gateway has work. For the other thread, between two pieces of its work."""
        now = self._ticks()
        if now - self._went_on < _LEAST_WORK:
            return
        if self.is_taken:
            self._sleep(REST)
            now = self._ticks()
        self._went_on = now
