"""Waiting on a condition until a deadline."""

import asyncio
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

T = TypeVar("T")

_START = 0.04
"""Seconds that a start of Python takes on a quiet machine of 2026."""


def _measured() -> float:
    """Return how many times slower than a quiet machine this one is now, from 1 to 4."""
    took = []
    for _ in range(5):
        begun = time.monotonic()
        subprocess.run([sys.executable, "-I", "-c", "pass"], check=True)
        took.append(time.monotonic() - begun)
    return min(max(statistics.median(took) / _START, 1.0), 4.0)


SLOWNESS = float(os.environ.setdefault("TAPUI_TEST_SLOWNESS", f"{_measured():.1f}"))
"""By how much tests wait longer than on a quiet machine: measured once, by the first process of a
run (its workers inherit it), or given in the environment."""
HUNG = 60.0 * SLOWNESS
"""Seconds after which a test that waits for what must come counts as hung. No behaviour is measured
by it, and a loaded machine stays below it: what has to be fast names a bound of its own."""
SHORTEST, LONGEST = 0.002, 0.05
"""Seconds between two looks at something that can only be looked at: most comes at once, and what
takes its time is not looked at so often that it takes more."""


def until(
    look: Callable[[], T | None], *, within: float = HUNG, what: Callable[[], str] | str
) -> T:
    """Return the first truthy result of `look`; raise `AssertionError` naming `what` if it stays
    falsy for `within` seconds."""
    deadline, pauses = time.monotonic() + within, _pauses()
    while not (found := look()):
        if time.monotonic() > deadline:
            raise AssertionError(_late(within, what))
        time.sleep(next(pauses))
    return found


async def until_async(
    look: Callable[[], T | None], *, within: float = HUNG, what: Callable[[], str] | str
) -> T:
    """As `until`, leaving the event loop free between looks."""
    deadline, pauses = time.monotonic() + within, _pauses()
    while not (found := look()):
        if time.monotonic() > deadline:
            raise AssertionError(_late(within, what))
        await asyncio.sleep(next(pauses))
    return found


def _pauses() -> Iterator[float]:
    pause = SHORTEST
    while True:
        yield pause
        pause = min(1.5 * pause, LONGEST)


def _late(within: float, what: Callable[[], str] | str) -> str:
    return f"not within {within:g} s: {what if isinstance(what, str) else what()}"
