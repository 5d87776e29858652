"""The helper's event loop: readable and writable files, timers, signals.

It is small because the helper is: asyncio would double its memory and the time of its start.
"""

import heapq
import os
import selectors
import signal
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import FrameType

_READ, _WRITE = selectors.EVENT_READ, selectors.EVENT_WRITE
_WAKE_BYTES = 4096


@dataclass(order=True, slots=True)
class Timer:
    """A call at a time of the loop's clock."""

    when: float
    number: int
    call: Callable[[], None] | None = field(compare=False)
    """None when it is cancelled."""

    def cancel(self) -> None:
        self.call = None


class SmallLoop:
    """One in a process, in its main thread."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._timers: list[Timer] = []
        self._made = 0
        self._on_signal: dict[int, Callable[[], None]] = {}
        self._woken, waker = os.pipe()
        for end in (self._woken, waker):
            os.set_blocking(end, False)
        signal.set_wakeup_fd(waker, warn_on_full_buffer=False)
        self.watch(self._woken, self._wake)

    @staticmethod
    def now() -> float:
        """Return the loop's time, in seconds."""
        return time.monotonic()

    def watch(
        self,
        fd: int,
        on_readable: Callable[[], None] | None,
        on_writable: Callable[[], None] | None = None,
    ) -> None:
        """Call these when a file can be read or written, instead of what was watched before."""
        events = (_READ if on_readable else 0) | (_WRITE if on_writable else 0)
        known = fd in self._selector.get_map()
        if not events:
            if known:
                self._selector.unregister(fd)
        elif known:
            self._selector.modify(fd, events, (on_readable, on_writable))
        else:
            self._selector.register(fd, events, (on_readable, on_writable))

    def at(self, when: float, call: Callable[[], None]) -> Timer:
        self._made += 1
        timer = Timer(when, self._made, call)
        heapq.heappush(self._timers, timer)
        return timer

    def on_signal(self, number: signal.Signals, call: Callable[[], None]) -> None:
        """Call from the loop after a signal; several of a kind may be one call."""
        self._on_signal[number] = call
        signal.signal(number, _noted)

    def turn(self, *, wait: bool) -> None:
        """Call what is due; with `wait`, wait until something is."""
        for key, events in self._selector.select(self._patience() if wait else 0.0):
            on_readable, on_writable = key.data
            # A call before this one may have changed what is watched.
            if events & _READ and on_readable and self._is_watched(key):
                on_readable()
            if events & _WRITE and on_writable and self._is_watched(key):
                on_writable()
        now = self.now()
        while self._timers and self._timers[0].when <= now:
            timer = heapq.heappop(self._timers)
            if timer.call is not None:
                timer.call()

    def _is_watched(self, key: selectors.SelectorKey) -> bool:
        return self._selector.get_map().get(key.fd) is key

    def _patience(self) -> float | None:
        while self._timers and self._timers[0].call is None:
            heapq.heappop(self._timers)
        return max(self._timers[0].when - self.now(), 0.0) if self._timers else None

    def _wake(self) -> None:
        for number in set(os.read(self._woken, _WAKE_BYTES)):
            if call := self._on_signal.get(number):
                call()


class OnceTimers:
    """Calls that wait at most once each; `guard` makes them."""

    def __init__(self, loop: SmallLoop, guard: Callable[[Callable[[], None]], object]) -> None:
        self._loop = loop
        self._guard = guard
        self._waiting: dict[Callable[[], None], Timer] = {}

    def once(self, call: Callable[[], None], seconds: float, *, is_sooner: bool = False) -> None:
        """Call in so many seconds, unless it will be called already (with `is_sooner`: by then)."""
        when = self._loop.now() + seconds
        waiting = self._waiting.get(call)
        if waiting is not None:
            if not is_sooner or waiting.when <= when:
                return
            waiting.cancel()

        def due() -> None:
            del self._waiting[call]
            self._guard(call)

        self._waiting[call] = self._loop.at(when, due)

    def cancel(self) -> None:
        for timer in self._waiting.values():
            timer.cancel()
        self._waiting.clear()


def _noted(_number: int, _frame: FrameType | None) -> None:
    """The loop is woken through its pipe."""
