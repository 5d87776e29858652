"""Replay of one large session: how soon its end is there, all of it, and a moment in it."""

import asyncio
import time
from dataclasses import dataclass
from pathlib import Path

from tapui.records import register
from tapui.replay.feed import ReplayFeed
from tapui.replay.timeline import Recorded, Timeline
from tapui.wire.tower import TowerSnapshot


@dataclass(frozen=True)
class Replayed:
    """Seconds, and the events that there are."""

    opened: float
    surveyed: float
    moment: float
    events: int
    bytes: int


def replay(state: Path) -> Replayed:
    """Open the largest session of a home, read all of it, go to moments in it."""
    known = register.sessions(state)
    folders = max(known.values(), key=lambda found: Recorded(found).size)
    opened = asyncio.run(_opened(folders, state))
    timeline = Timeline(Recorded(folders))
    began = time.perf_counter()
    timeline.survey(lambda: False)
    surveyed = time.perf_counter() - began
    slowest = 0.0
    for part in range(1, 20):
        began = time.perf_counter()
        timeline.at(timeline.number * part // 20)
        slowest = max(slowest, time.perf_counter() - began)
    return Replayed(opened, surveyed, slowest, timeline.number, timeline.journal.size)


async def _opened(folders: list[Path], state: Path) -> float:
    """Return the seconds until the moment at the end is there."""
    feed = ReplayFeed(folders, state, "the largest session")
    began = time.perf_counter()
    try:
        async for item in feed.items():
            if isinstance(item, TowerSnapshot):
                return time.perf_counter() - began
    finally:
        await feed.stop(60.0)
    raise AssertionError("the feed ended without a moment")
