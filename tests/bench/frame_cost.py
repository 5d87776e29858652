"""What a frame of the tower costs while calls or lines flow: ms of CPU, whatever else runs.

The tower runs on a pty (`pouring.py`), 200x50 with all panes in sight. Events are applied and a
frame is painted by turns, as fast as that goes: there is no pace, and no other thread. A frame is
all from the panes' rows to the bytes that go to the terminal.
"""

import asyncio
import tempfile
import time
from collections.abc import Callable, Coroutine, Iterator
from functools import partial
from itertools import count
from pathlib import Path
from typing import Any, TypeVar, cast

import msgspec
from msgspec.structs import replace

from tapui.tower.app.app import TowerApp
from tapui.tower.table.table import Table
from tapui.tower.turns.turns_pane import TurnsPane
from tapui.wire import events as ev
from tapui.wire.changes import (
    ChangedFile,
    ChangesList,
    ChangesRead,
    DiffHunk,
    DiffRead,
    FileDiff,
    FileWriter,
)
from tapui.wire.message import Message
from tapui.wire.subjects import Call
from tests.bench.pouring import TS, Forked, PouringFeed
from tests.rig.waiting import until_async

T = TypeVar("T")
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


TURNS, STEPS = 50, 19
"""Turns of a session, each with its steps: a thousand rows, all unfolded."""
MOVES = 300
"""Rows that are gone through."""


class Moving(msgspec.Struct):
    """Milliseconds of CPU until the row below is under the cursor and stands in the detail."""

    p50: float
    p99: float
    rows: int


def _turns(feed: CallingFeed) -> list[ev.Entry]:
    entries: list[ev.Entry] = []
    for number in range(TURNS):
        prompt = msgspec.Raw(msgspec.json.encode({"content": f"Do {number} of {TURNS}"}))
        idle = ev.SessionHappened("s1", "session.idle", msgspec.Raw(b"{}"))
        entries.append(feed.entry(ev.SessionHappened("s1", "user.message", prompt)))
        entries += feed.calls(STEPS)
        entries.append(feed.entry(idle))
    return entries


def _has_left(table: Table, row: int) -> bool:
    return table.cursor != row


async def _move(app: TowerApp, feed: CallingFeed, out: Path) -> None:
    await until_async(lambda: app.view.state.streams, what="the first line is there")
    app.view.apply(_turns(feed))
    app.simulate_key("2")
    await _painted(app)
    pane = app.main.current_pane
    assert isinstance(pane, TurnsPane)
    pane._fold_all(is_unfolded=True)
    table = pane.table
    table.select(table.rows[0].key)
    await _painted(app)
    costs = []
    for _ in range(MOVES):
        began, at = time.thread_time(), table.cursor
        app.simulate_key("down")
        await until_async(partial(_has_left, table, at), what="the cursor moves")
        await _painted(app)
        costs.append(1000 * (time.thread_time() - began))
    costs.sort()
    found = Moving(costs[len(costs) // 2], costs[len(costs) * 99 // 100], len(table.rows))
    await asyncio.to_thread(out.write_bytes, msgspec.json.encode(found))
    app.exit()


def moving() -> Moving:
    """Return what it costs to go through the steps of many turns with the detail following."""
    return _forked(_move, Moving)


OPENED = 500
"""Files of a session whose changes are opened."""


async def _open(app: TowerApp, feed: CallingFeed, out: Path) -> None:
    """Open Changes and answer what is asked: from then on until the list and the first diff are on
    the screen."""
    await until_async(lambda: app.view.state.streams, what="the first line is there")
    asked: list[Message] = []
    feed.send = asked.append  # type: ignore[method-assign]
    app.simulate_key("7")
    await until_async(lambda: asked, what="the files are asked for")
    read = cast("ChangesRead", asked[0])
    by = [FileWriter("tool", TS, "edit", turn=1)]
    names = (f"src/package_{number % 20}/module_{number}.py" for number in range(OPENED))
    files = [ChangedFile("/repository", name, "modified", 41, 2, by=by) for name in names]
    lines = [
        line
        for number in range(500)
        for line in (f" def f{number}(a):", f"-    return {number}", f"+    return a + {number}")
    ]
    began = time.perf_counter()
    app.changes.take(ChangesList(read.id, read.session_id, files))
    await _painted(app)
    listed = time.perf_counter()
    await until_async(lambda: len(asked) > 1, what="the lines of the first are asked for")
    wanted = cast("DiffRead", asked[1])
    then = time.perf_counter()
    diff = FileDiff(wanted.id, wanted.session_id, files[0], [DiffHunk(1, 1, lines)])
    app.changes.take(diff)
    await _painted(app)
    opened = Opening(1000 * (listed - began), 1000 * (time.perf_counter() - then))
    await asyncio.to_thread(out.write_bytes, msgspec.json.encode(opened))
    app.exit()


class Opening(msgspec.Struct):
    """Milliseconds until the list of changed files, and the first diff, are on the screen."""

    files: float
    diff: float


def opening() -> Opening:
    """Return how long it takes to show what a session changed."""
    return _forked(_open, Opening)


def _forked(
    watch: Callable[[TowerApp, CallingFeed, Path], Coroutine[Any, Any, None]], kind: type[T]
) -> T:
    """Return what `watch` measured at a tower in a process of its own."""
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "measured.json"

        async def main() -> None:
            feed = CallingFeed()
            app = TowerApp(feed)
            watching = asyncio.create_task(watch(app, feed, out))
            watching.add_done_callback(lambda _: app.exit())  # also where it failed
            await app.run_async()
            await watching

        with Forked(lambda: asyncio.run(main()), SIZE) as running:
            pass
        if not out.exists():
            raise RuntimeError(f"the tower ended without a result:\n{running.shown[-3000:]}")
        return msgspec.json.decode(out.read_bytes(), type=kind)


def costs(seconds: float) -> Iterator[tuple[str, Cost]]:
    """Yield what flows, and what a frame costs then."""
    frames = int(20 * seconds)
    yield "nothing but a clock", measure(0, 0, "", frames)
    yield "500 calls/s", measure(500, 0, "", frames)
    yield "500 calls/s, Calls by tool", measure(500, 0, "5v", frames)
    yield "10,000 lines/s", measure(0, 10_000, "", frames)
