"""The Changes pane over a real gateway, a real repository and real records."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path

from tapui.client.gateways import find
from tapui.client.remote_feed import RemoteFeed
from tapui.home.paths import Home as Folders
from tapui.index.search import Search
from tapui.index.store import IndexUnusable
from tapui.index.why import changes_of
from tapui.station.tower import finder_of
from tapui.tower.app.app import TowerApp
from tapui.tower.turns.turn_detail import TurnDetail
from tests.gateway.test_changes import git
from tests.gateway.test_proof import PASSED, Work, at_work, folder
from tests.rig.gateway import Gateway
from tests.rig.idle import own_idle
from tests.rig.waiting import until, until_async
from tests.tower.running import on_top, screen_text

__all__ = ["folder", "own_idle"]


class OnScreen:
    """A second tower at the gateway."""

    def __init__(self, app: TowerApp, press: Callable[..., object]) -> None:
        self.app = app
        self._press = press

    async def press(self, *keys: str) -> None:
        for key in keys:
            await self._press(key)  # type: ignore[misc]
            await self.app.typed.done()

    async def seen(self, *parts: str) -> None:
        await until_async(
            lambda: all(one in screen_text(self.app) for one in parts),
            what=lambda: f"{parts}\n{screen_text(self.app)}",
        )


@asynccontextmanager
async def on_screen(gateway: Gateway) -> AsyncIterator[OnScreen]:
    folders = Folders.at(gateway.home.tapui, gateway.home.copilot)
    found = find(folders, gateway.port, is_explicit=True)
    feed = RemoteFeed(found, lambda: found)
    app = TowerApp(feed, finder=finder_of(folders.state))
    try:
        async with app.run_test(size=(160, 45)) as pilot:
            yield OnScreen(app, pilot.press)
    finally:
        await feed.stop(1.0)


async def replace_text(work: Work, path: str, old: str, new: str) -> None:
    """The agent's edit tool replaces a text; its arguments are recorded."""
    file = work.folder / path
    call = await work.begin_edit(str(file), old_str=old, new_str=new)
    file.write_text(file.read_text().replace(old, new))
    await work.end_edit(call, path, removed=1)


def _indexed(gateway: Gateway, path: Path) -> int:
    """Return how many changes of a file the index has."""
    search = Search(Folders.at(gateway.home.tapui, gateway.home.copilot).state)
    try:
        return len(changes_of(search, path))
    except IndexUnusable:
        return 0
    finally:
        search.close()


async def test_files_lines_and_the_turn_that_wrote_one(gateway: Gateway, folder: Path) -> None:
    (folder / "cart.py").write_text("one\ntwo\nthree\n")
    git(folder, "commit", "-qam", "second")
    async with at_work(gateway, folder) as work, on_screen(gateway) as screen:
        await replace_text(work, "cart.py", "one", "ONE")
        await work.run("pytest -q", 0, PASSED)
        await work.tell("session.idle")
        await screen.press("7")
        await screen.seen("cart.py", "+1", "−1", "since its start")
        await work.tell("user.message", content="the second prompt")
        until(lambda: work.facts("turn") == 2, what="the next turn")
        await replace_text(work, "cart.py", "three", "THREE")
        (folder / "odd \x1b[31m\u202e.bin").write_bytes(b"\0\1")
        await work.tell("session.idle")
        await screen.seen("odd \\x1b[", "u202e.bin  new, binary", "+2", "−2")
        await screen.seen("│ -one", "1 │ +ONE", "3 │ +THREE", "2 │  two")

        indexed = partial(_indexed, gateway, folder / "cart.py")
        await until_async(lambda: indexed() == 2, what="both edits in the index")
        await screen.press("right", "down", "enter")
        await until_async(lambda: isinstance(on_top(screen.app), TurnDetail), what="a turn")
        await screen.seen("Turn 1 of", "go")
        await screen.press("escape", "left", "i", "down", "down", "down", "enter")
        await screen.seen("since turn 2")
        await screen.seen("+1", "−1")
