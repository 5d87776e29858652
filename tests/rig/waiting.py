"""Waiting on a condition until a deadline."""

import asyncio
import time
from collections.abc import Callable, Iterator
from typing import TypeVar

T = TypeVar("T")

HUNG = 30.0
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
