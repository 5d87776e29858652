"""When an app in a test has done all that it had to do: asked of its event loop, not of the clock.

Textual's own wait sleeps 20 ms each time, and once more while the process used the CPU meanwhile. A
key is two such waits and a pause one, which was most of the time of these tests; on a busy machine,
where a process gets nothing for 20 ms, it was over too early.

It also has each widget of the screen call back, two times a key and once a pause: some hundred
messages, which were most of what was left. Here they are looked at instead: one that has no message
and waits for the next has done with all that came before.
"""

import asyncio
import time

import pytest
import textual.app
import textual.pilot
from textual.message_pump import MessagePump

from tests.rig.waiting import HUNG

SOON = 0.02
"""Seconds of timers in which nothing may happen: Textual paints with 60 frames a second. A timer
that is late takes none of them: how late it is depends on the machine."""
_MOST = 0.2
"""Seconds of timers of what goes on by itself, again and again."""
_LOOK = 0.001
_LOOKS = 200
"""A thread that works for the app is given up after so many looks, `_LOOK` seconds apart, at which
the process's other threads have used no `_WORK` seconds of the CPU: it waits for something."""
_WORK = 0.002
_CALM = 3
"""Rounds of the event loop in which nothing was to be done."""


async def wait_for_idle(min_sleep: float = 0, max_sleep: float = 0) -> None:
    """Return once nothing is left to be done on this event loop, now and soon."""
    loop = asyncio.get_running_loop()
    assert isinstance(loop, asyncio.BaseEventLoop), "apps are tested on asyncio's own loop"
    hung, calm, threads = loop.time() + HUNG, 0, _Threads(loop)
    soon, most = SOON, _MOST
    while calm < _CALM and loop.time() < hung:
        await asyncio.sleep(0)
        if loop._ready:  # type: ignore[attr-defined]
            soon, calm = SOON, 0
            continue
        calm += 1
        if calm < _CALM:
            continue
        pause = _next_timer(loop) - loop.time()
        if pause < min(soon, most):
            soon, most = soon - max(pause, _LOOK), most - max(pause, _LOOK)
            await asyncio.sleep(max(pause, 0))
            calm = 0
        elif threads.are_at_work():
            await asyncio.sleep(_LOOK)
            calm = 0


async def wait_for_screen(pilot: textual.pilot.Pilot[object]) -> bool:
    """Return once the app and all of its screen have done with their messages; false where the app
    has failed."""
    await wait_for_idle()
    app = pilot.app
    if not app.screen_stack:
        return False
    pumps = (app, *app.screen.walk_children(with_self=True))
    return all(map(_waits, pumps)) or await _asked_each(pilot, HUNG / 2)


_asked_each = textual.pilot.Pilot._wait_for_screen
"""Textual's own way: for those that hold a message until something else has happened."""


def _waits(pump: MessagePump) -> bool:
    """Return whether it has no message and waits for the next."""
    came = pump._message_queue.ready_event
    return bool(came._waiters) and not came.is_set()  # type: ignore[attr-defined]


def _next_timer(loop: asyncio.BaseEventLoop) -> float:
    timers = loop._scheduled  # type: ignore[attr-defined]
    return min((one.when() for one in timers if not one.cancelled()), default=float("inf"))


class _Threads:
    """Those of `asyncio.to_thread`."""

    def __init__(self, loop: asyncio.BaseEventLoop) -> None:
        self._loop = loop
        self._looks = 0
        self._used: float | None = None

    def are_at_work(self) -> bool:
        pool = self._loop._default_executor  # type: ignore[attr-defined]
        if pool is None or pool._idle_semaphore._value >= len(pool._threads):
            return False
        self._looks += 1
        used = _used_by_others()
        if self._used is None or used - self._used > _WORK:
            self._looks, self._used = 0, used
        return self._looks < _LOOKS


def _used_by_others() -> float:
    """Return the seconds of the CPU that all threads but this one have used."""
    return time.process_time() - time.thread_time()


@pytest.fixture(autouse=True)
def own_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let Textual wait so in the tests of a room, or of a module, that imports this."""
    for module in (textual.app, textual.pilot):
        monkeypatch.setattr(module, "wait_for_idle", wait_for_idle)
    monkeypatch.setattr(textual.pilot.Pilot, "_wait_for_screen", wait_for_screen)
