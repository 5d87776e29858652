"""Waiting on a condition until a deadline."""

import asyncio
import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")

PAUSE = 0.05
"""Seconds between two looks at something that can only be looked at."""


def until(
    look: Callable[[], T | None], *, within: float = 15.0, what: Callable[[], str] | str
) -> T:
    """Return the first truthy result of `look`; raise `AssertionError` naming `what` if it stays
    falsy for `within` seconds."""
    deadline = time.monotonic() + within
    while not (found := look()):
        if time.monotonic() > deadline:
            raise AssertionError(_late(within, what))
        time.sleep(PAUSE)
    return found


async def until_async(
    look: Callable[[], T | None], *, within: float = 15.0, what: Callable[[], str] | str
) -> T:
    """As `until`, leaving the event loop free between looks."""
    deadline = time.monotonic() + within
    while not (found := look()):
        if time.monotonic() > deadline:
            raise AssertionError(_late(within, what))
        await asyncio.sleep(PAUSE)
    return found


def _late(within: float, what: Callable[[], str] | str) -> str:
    return f"not within {within:g} s: {what if isinstance(what, str) else what()}"
