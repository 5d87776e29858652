"""Pictures of the workbench in two sizes: a form, a running call, an answer, JSON, the tools."""

from collections.abc import Callable
from typing import Any

import pytest
from msgspec import Raw
from textual.pilot import Pilot

from tapui.tower.app.app import TowerApp
from tapui.wire.message import ToolOutcome, ToolProgress
from tests.tower.running import Running
from tests.tower.scripted import HandClock, ScriptedFeed, world
from tests.tower.workbench.test_screen import GREET, checked, offer, sent, tool

SIZES = ((80, 24), (160, 45))
TREE = {"type": "object", "properties": {"left": {"$ref": "#"}, "value": {"type": "integer"}}}
FILLED = [*"Ada", "enter", "3", "enter", "space", "enter", *"s3cret", "enter", *'["x"]', "enter"]
ANSWER = b'{"said":["Hello Ada","Hello Ada","Hello Ada"],"loud":true,"at":"20:10:00"}'
Compare = Callable[..., bool]


@pytest.mark.parametrize("size", SIZES, ids=lambda size: f"{size[0]}x{size[1]}")
@pytest.mark.parametrize("what", ["tools", "form", "unfit", "running", "answered", "json"])
def test_picture(snap_compare: Compare, what: str, size: tuple[int, int]) -> None:
    feed, clock = ScriptedFeed(), HandClock()
    app = TowerApp(feed, clock=clock, ticks=clock)

    async def prepare(pilot: Pilot[str]) -> None:
        rig = Running(app, feed, clock, pilot)
        await rig.settle()
        feed.begin(world())
        await rig.settle()
        await rig.press("4", "full_stop", "c")
        await offer(rig, *_tools(what))
        await checked(rig)
        if what == "unfit":
            await rig.press("A", "enter", "0", "enter", "x")
        elif what in ("running", "answered"):
            await rig.press(*FILLED)
            await checked(rig)
            await rig.press("ctrl+r")
            made, _ = sent(rig)
            feed.put(ToolProgress(made, "2 of 3 greetings said"))
            await rig.turn(4)
            if what == "answered":
                feed.put(ToolOutcome(made, data=Raw(ANSWER)))
        await checked(rig)

    assert snap_compare(app, terminal_size=size, run_before=prepare)


def _tools(what: str) -> list[Any]:
    if what == "tools":
        return [tool("job_log"), tool("rerun_job"), tool("wait_for_build")]
    return [tool("greet", TREE if what == "json" else GREET)]
