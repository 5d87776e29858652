"""What a frame of the tower costs while calls or lines flow: ms of CPU, whatever else runs.

The tower runs on a pty (`pouring.py`), 200x50 with all panes in sight. Events are applied and a
frame is painted by turns, as fast as that goes: there is no pace, and no other thread. A frame is
all from the panes' rows to the bytes that go to the terminal.
"""

import asyncio
import tempfile
import time
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import msgspec
from msgspec.structs import replace

from tapui.tower.app.app import TowerApp
from tapui.wire import events as ev
from tapui.wire.subjects import Call
from tests.bench.pouring import TS, Forked, PouringFeed
from tests.rig.waiting import until_async

SIZE = (200, 50)
FRAMES = 12
"""Frames a second, at most: so many calls or lines come between two of them."""
BATCH = 64
WARM_UP = 30


class Cost(msgspec.Struct):
    """Milliseconds of CPU for each frame: the fold of its events, and painting it (the median)."""

    fold: float
    paint: float


class CallingFeed(PouringFeed):
    """A feed that posts nothing by itself, and makes events when it is asked to."""

    def __init__(self) -> None:
        super().__init__(rate=0)
        self._numbers = count(1)

    def calls(self, number: int) -> list[ev.Entry]:
        """Return calls that begin and end."""
        entries: list[ev.Entry] = []
        for _ in range(number):
            call = Call(
                id=f"c{next(self._numbers)}",
                session_id="s1",
                tool="bench",
                provider="bench",
                provider_id="p1",
                state="running",
                started_at=TS,
                args=msgspec.Raw(b'{"text":"' + b"x" * 89 + b'"}'),
                timeout=30_000,
            )
            data = msgspec.Raw(b'"' + b"x" * 98 + b'"')
            done = replace(call, state="done", duration=1.2, args=None, data=data)
            entries.append(self.entry(ev.CallStarted(session_id="s1", call=call)))
            entries.append(self.entry(ev.CallFinished(session_id="s1", call=done)))
        return entries

    def lines(self, number: int) -> list[ev.Entry]:
        """Return lines of a stream."""
        return [self.entry(self.line()) for _ in range(number)]


async def _painted(app: TowerApp) -> None:
    app.paint()
    shown = asyncio.Event()
    app.call_after_refresh(shown.set)
    await shown.wait()


async def _watch(
    app: TowerApp, feed: CallingFeed, what: tuple[int, int, str], frames: int, out: Path
) -> None:
    calls, lines, keys = what
    await until_async(lambda: app.view.state.streams, what="the first line is there")
    for key in keys:
        app.simulate_key(key)
        await asyncio.sleep(0.5)
    folded, painted = [], []
    for number in range(WARM_UP + frames):
        entries = feed.calls(calls) + feed.lines(lines)
        began = time.thread_time()
        for start in range(0, len(entries), BATCH):
            app.view.apply(entries[start : start + BATCH])
        middle = time.thread_time()
        await _painted(app)
        if number >= WARM_UP:
            folded.append(middle - began)
            painted.append(time.thread_time() - middle)
    middle_one = sorted(painted)[frames // 2]
    cost = Cost(1000 * sum(folded) / frames, 1000 * middle_one)
    await asyncio.to_thread(out.write_bytes, msgspec.json.encode(cost))
    app.exit()


def _run(what: tuple[int, int, str], frames: int, out: Path) -> None:
    async def main() -> None:
        feed = CallingFeed()
        app = TowerApp(feed)
        watching = asyncio.create_task(_watch(app, feed, what, frames, out))
        await app.run_async()
        await watching

    asyncio.run(main())


def measure(calls: int, lines: int, keys: str, frames: int) -> Cost:
    """Return the cost of frames with so many calls and lines a second, after these keys."""
    what = (calls // FRAMES, lines // FRAMES, keys)
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "measured.json"
        with Forked(lambda: _run(what, frames, out), SIZE) as running:
            pass
        if not out.exists():
            raise RuntimeError(f"the tower ended without a result:\n{running.shown[-3000:]}")
        return msgspec.json.decode(out.read_bytes(), type=Cost)


def costs(seconds: float) -> Iterator[tuple[str, Cost]]:
    """Yield what flows, and what a frame costs then."""
    frames = int(20 * seconds)
    yield "nothing but a clock", measure(0, 0, "", frames)
    yield "500 calls/s", measure(500, 0, "", frames)
    yield "500 calls/s, Calls by tool", measure(500, 0, "5v", frames)
    yield "10,000 lines/s", measure(0, 10_000, "", frames)
