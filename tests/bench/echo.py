"""How long a typed character takes to the terminal while lines pour into a visible tail.

The tower runs in a process of its own on a pty (`pouring.py`), 200x50 with all panes in sight. A
filter is typed in Sessions, one letter after the other was painted; each letter is typed once.
"""

import asyncio
import random
import time

from tapui.tower.app.app import TowerApp
from tests.bench.pouring import Forked, PouringFeed

SIZE = (200, 50)
WARM_SECONDS = 1.5
LETTERS = [chr(0x400 + number) for number in range(0x60)]
"""Cyrillic ones: nothing else on the screen has them."""
_PAUSE = 0.12
"""Seconds between two letters at most."""


def measure(rate: int, seconds: float) -> list[float]:
    """Return the ms that each letter took, in order of length."""

    def run() -> None:
        asyncio.run(TowerApp(PouringFeed(rate)).run_async())

    found: list[float] = []
    chosen = random.Random(1)
    with Forked(run, SIZE) as running:
        running.until_painted(b"ci-watch")
        time.sleep(WARM_SECONDS)
        running.press(b"1/")
        running.until_painted(b"filter")
        until = time.monotonic() + 2 * seconds
        for letter in LETTERS:
            time.sleep(chosen.random() * _PAUSE)
            began = time.perf_counter()
            running.press(letter.encode())
            running.until_painted(letter.encode())
            found.append(1000 * (time.perf_counter() - began))
            if time.monotonic() > until:
                break
        running.press(b"\x1b")
        time.sleep(0.3)
        running.press(b"\x11")
    return sorted(found)
