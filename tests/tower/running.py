"""The app at work in a test: fed by hand, read as text."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from weakref import WeakSet

from textual._context import visible_screen_stack
from textual.app import App
from textual.events import Key
from textual.pilot import Pilot
from textual.screen import Screen

from tapui.projection.state import State
from tapui.tower.app.app import TowerApp
from tapui.tower.app.detail_area import DetailArea
from tapui.tower.app.main_screen import MainScreen
from tapui.tower.table.pane import Pane
from tapui.tower.textual.detail import DetailView
from tapui.tower.textual.sheet import Sheet
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

    async def resize(self, size: tuple[int, int]) -> None:
        """Give the terminal another size."""
        await self.pilot.resize_terminal(*size)
        await self.settle()

    async def close_all(self) -> None:
        """Close what is open over the main screen."""
        while len(self.app.screen_stack) > 1:
            await self.press("escape")

    async def begin_again(self, state: State) -> None:
        """Show another world in the same app, on its main screen, as if nothing had been sent: for
        a table of scenes."""
        await self.close_all()
        self.feed.sent.clear()
        self.feed.begin(state)
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
    def lists(self) -> str:
        """What the left column has, where there are several."""
        area = self.app.main.area
        first = area.places(area.size).get("sessions") if not area.is_zoomed else None
        width = first.width if first is not None else None
        return "\n".join(line[:width] for line in self.text.splitlines())

    @property
    def notices(self) -> list[str]:
        """What was said in notices."""
        return [str(one.message) for one in self.app._notifications]


def screen_text(app: TowerApp) -> str:
    """Return the characters on screen, as the app itself puts them there: what a sheet does not
    cover is that of the screens behind it, and what was rendered without them would stay."""
    visible_screen_stack.set(app._background_screens)
    strips = app.screen._compositor.render_strips()
    return "\n".join(strip.text for strip in strips)


def on_top(app: App[Any]) -> Screen[Any] | DetailView:
    """Return the screen that has the keys; of a sheet, and beside the lists, the detail in it."""
    screen = app.screen
    if isinstance(screen, Sheet):
        return screen.detail
    area = screen.detail_area if isinstance(screen, MainScreen) else None
    return screen if area is None or area.detail is None or not area.has_keys else area.detail


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
    await _detail_painted(app, pilot)


_painted: WeakSet[DetailView] = WeakSet()


async def _detail_painted(app: TowerApp, pilot: Pilot[str]) -> None:
    """Wait until a new detail beside the lists has its place: it paints itself then."""
    area = next(iter(app.screen.query(DetailArea)), None) if app._running else None
    detail = area.detail if area is not None and area.size else None
    if detail is not None and detail not in _painted:
        await until_async(lambda: detail.size or not detail.is_attached, what="its place")
        await pilot.pause()
        _painted.add(detail)


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
    notices: bool = False,
    **wiring: object,
) -> AsyncIterator[Running]:
    """Run the app over a scripted feed; it has its snapshot when the block begins. With `notices`
    they are on the screen, too."""
    feed = feed or ScriptedFeed()
    clock = HandClock()
    app = TowerApp(feed, clock=clock, ticks=clock, **wiring)  # type: ignore[arg-type]
    async with app.run_test(size=size, notifications=notices) as pilot:
        rig = Running(app, feed, clock, pilot)
        await rig.settle()
        if begins:
            feed.begin(state, towers=towers)
            await rig.settle()
        yield rig
