"""How this process uses its interpreter, its memory and its descriptors; set here alone.

They are the switch interval of threads and which thread goes first, the garbage collector, the C
library's allocator, the limit of open files and the event loop.
"""

import gc
import importlib.util
import resource
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio

SWITCH_INTERVAL = 0.0001
"""Seconds after which a thread that computes lets another go on, beside a gateway.

A tower that paints for 15 ms holds a call up for as long as Python's own 5 ms, several times over;
at 0.1 ms the gateway's p99 beside it is 3 to 4 ms, at 5 ms it is 13 to 15.
"""
COLLECTOR = (1_000, 2, 350)
"""The collector's thresholds: a collection after 1,000 new objects (Python's own: 700), one of less
than a millisecond after 3,000 and a full one after a million. Each stops every thread, so they are
short rather than few: after 20,000 objects one took 5 to 10 ms, which was the p99 of calls. Almost
everything here goes by its reference count; what the collector alone finds is little."""
_TRIM_THRESHOLD, _MMAP_THRESHOLD = -1, -3
"""Parameters of glibc's `mallopt`."""
_KEPT_BYTES = 32 * 1024 * 1024
_MAPPED_BYTES = 8 * 1024 * 1024
_DESCRIPTORS = 1024
"""Open files of a gateway. macOS lets a process have 256 unless it asks; no program has trouble
with up to 1,024."""
_STARTING_THRESHOLD = 200_000
"""New objects that start a garbage collection while the program is being loaded."""
REST = 0.001
"""Seconds that are waited each time: a gateway that always has work delays the other thread, and
never stops it."""
_LEAST_WORK = 0.0003
"""Seconds of work between two looks at least: looking more often would cost more than it gives."""


def start() -> None:
    """Call first of all: loading makes objects that stay, and collections that walk them again and
    again take a tenth of the time to the first frame. `settled` makes them frequent again."""
    gc.set_threshold(_STARTING_THRESHOLD)


@contextmanager
def switching_often() -> Iterator[None]:
    """Let threads take turns every `SWITCH_INTERVAL`, until the end of the block."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_INTERVAL)
    try:
        yield
    finally:
        sys.setswitchinterval(before)


@contextmanager
def settled() -> Iterator[None]:
    """Enter once what is loaded stays for good; leave at the process's end.

    A full garbage collection no longer walks what is there now, and collections come less often:
    one of tens of milliseconds stops every thread. And memory that large messages leave free is
    kept, up to 32 MiB, for the next ones: returning it each time cost half of the message's time in
    page faults.
    """
    before = gc.get_threshold()
    gc.freeze()
    gc.set_threshold(*COLLECTOR)
    if sys.platform == "linux":
        _keep_freed()
    try:
        yield
    finally:
        gc.set_threshold(*before)


def descriptors() -> int:
    """Return how many files this process may have open, after asking for `_DESCRIPTORS`."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    infinite = resource.RLIM_INFINITY
    if soft == infinite or soft >= _DESCRIPTORS:
        return _DESCRIPTORS if soft == infinite else soft
    wanted = _DESCRIPTORS if hard == infinite else min(_DESCRIPTORS, hard)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    except (OSError, ValueError):
        return soft
    return wanted


def _keep_freed() -> None:
    import ctypes

    # A C library other than glibc has no such setting.
    mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
    if mallopt is not None:
        mallopt(_TRIM_THRESHOLD, _KEPT_BYTES)
        mallopt(_MMAP_THRESHOLD, _MAPPED_BYTES)


class RightOfWay:
    """The gateway's thread marks that it has work; another thread then lets it go first.

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


def new_loop() -> "asyncio.AbstractEventLoop":
    """Return a new event loop: uvloop's where it is installed, else asyncio's own."""
    if importlib.util.find_spec("uvloop") is None:
        import asyncio  # not above: `start` runs before anything large is loaded

        return asyncio.new_event_loop()
    import uvloop

    loop: asyncio.AbstractEventLoop = uvloop.new_event_loop()
    return loop
