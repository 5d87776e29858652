"""The app at work in a test: fed by hand, read as text."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass

from textual.events import Key
from textual.pilot import Pilot

from tapui.projection.state import State
from tapui.tower.app.app import TowerApp
from tapui.tower.table.pane import Pane
from tests.rig.waiting import HUNG, until_async
from tests.tower.scripted import HandClock, ScriptedFeed


@dataclass
class Running:
    """An app with everything that a test turns and reads."""

    app: TowerApp
    feed: ScriptedFeed
    clock: HandClock
    pilot: Pilot[str]

    async def settle(self) -> None:
        """Wait until what was fed is taken in and painted."""
        await settle(self.pilot, self.feed)

    async def press(self, *keys: str) -> None:
        """Press keys, each once the app has done with the one before, and paint."""
        for key in keys:
            await self.pilot.press(key)
            await self.app.typed.done()
        await self.settle()

    async def type(self, *keys: str) -> None:
        """Press keys as one read of the terminal brings them, all at once, and paint."""
        for key in keys:
            self.app.post_message(Key(key, key if len(key) == 1 else None))
        await self.settle()

    def pane(self, key: str | int) -> Pane:
        """The pane of this key, which was seen already."""
        (found,) = [pane for pane in self.app.panes if pane.kind.key == str(key)]
        return found

    async def turn(self, seconds: float) -> None:
        """Let time go by."""
        self.clock.turn(seconds)
        await self.settle()

    @property
    def text(self) -> str:
        """What is on the screen that has the keys, line by line."""
        return screen_text(self.app)

    @property
    def notices(self) -> list[str]:
        """What was said in notices."""
        return [str(one.message) for one in self.app._notifications]


def screen_text(app: TowerApp) -> str:
    """Return the characters on screen."""
    strips = app.screen._compositor.render_strips()
    return "\n".join(strip.text for strip in strips)


async def settle(pilot: Pilot[str], feed: ScriptedFeed) -> None:
    app = pilot.app
    assert isinstance(app, TowerApp)
    try:
        await _taken(app, feed)
        await pilot.pause()  # the app has read what was typed
        async with asyncio.timeout(60):
            await app.typed.done()
    except TimeoutError:
        if app.crash is not None:
            raise app.crash from None  # the app is gone, that is why
        raise
    await pilot.pause()
    app.paint()
    await pilot.pause()


async def _taken(app: TowerApp, feed: ScriptedFeed) -> None:
    """Wait until the app has taken in what was fed; raise what it has crashed with, once it is
    gone."""
    taking = asyncio.create_task(feed.taken())
    crashing = asyncio.create_task(
        until_async(lambda: app._exception and not app._running, within=2 * HUNG, what="a crash")
    )
    try:
        await asyncio.wait((taking, crashing), return_when=asyncio.FIRST_COMPLETED)
        if not taking.done() and app._exception is not None:
            raise app._exception
        await taking
    finally:
        taking.cancel()
        crashing.cancel()


@asynccontextmanager
async def running(
    state: State | None = None,
    *,
    size: tuple[int, int] = (80, 24),
    feed: ScriptedFeed | None = None,
    begins: bool = True,
    towers: int = 1,
    **wiring: object,
) -> AsyncIterator[Running]:
    """Run the app over a scripted feed; it has its snapshot when the block begins."""
    feed = feed or ScriptedFeed()
    clock = HandClock()
    app = TowerApp(feed, clock=clock, ticks=clock, **wiring)  # type: ignore[arg-type]
    async with app.run_test(size=size) as pilot:
        rig = Running(app, feed, clock, pilot)
        await rig.settle()
        if begins:
            feed.begin(state, towers=towers)
            await rig.settle()
        yield rig
