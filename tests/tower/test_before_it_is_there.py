"""What is asked of a part of the screen before it is made, and after it is gone."""

import asyncio

import pytest
from textual.events import Key

from tapui.tower.goals.goal_detail import GoalDetail
from tapui.tower.requests.request_detail import RequestDetail
from tapui.tower.streams.streams_pane import StreamsPane
from tapui.tower.table.table import Table
from tests.tower.goals_world import goals, goals_world
from tests.tower.running import running
from tests.tower.scripted import lines, posts, world

STREAM = ("s1", "ci-watch@ci-watcher")


async def test_a_pane_that_is_being_made_is_waited_for() -> None:
    """A notice leads to a stream while a key makes the pane of streams."""
    async with running(world(), size=(80, 24)) as rig:
        rig.feed.happen(*posts(STREAM, lines(3)))
        await rig.settle()
        main = rig.app.main
        assert "streams" not in main.panes
        await asyncio.gather(main.go_to("streams"), rig.app.show_stream(STREAM))
        pane = main.current_pane
        assert isinstance(pane, StreamsPane)
        assert pane.selected == STREAM
        await rig.settle()


async def test_a_letter_in_the_band_before_its_request_stands_in_the_detail() -> None:
    async with running(world(), size=(160, 40)) as rig:
        main = rig.app.main
        assert not isinstance(main.detail_area.detail, RequestDetail)
        main.band.focus_inside()
        main.band.action_choose("allow")  # no frame was painted since
        await rig.settle()
        detail = main.detail_area.detail
        assert isinstance(detail, RequestDetail)
        assert detail.has_keys
        assert "Too early" in rig.text


async def test_the_way_into_a_detail_that_is_being_made() -> None:
    async with running(goals_world(*goals()), size=(160, 40)) as rig:
        main = rig.app.main
        assert not isinstance(main.detail_area.detail, GoalDetail)
        main.detail_area._put(GoalDetail("g1"))  # as a frame does
        await main.action_into_detail()
        detail = main.detail_area.detail
        assert isinstance(detail, GoalDetail)
        assert rig.app.focused is detail.query_one(Table)


@pytest.mark.parametrize(
    "keys", [("q", "a", "enter"), ("q", "full_stop", "t"), ("q", "question_mark")]
)
async def test_keys_that_come_while_the_app_leaves_have_no_effect(keys: tuple[str, ...]) -> None:
    async with running(world(), size=(80, 24)) as rig:
        app = rig.app
        for key in keys:
            app.post_message(Key(key, key if len(key) == 1 else None))
    await app.on_event(Key("a", "a"))
    assert app.crash is None


@pytest.mark.parametrize("key", ["1", "3", "7"])
async def test_nothing_is_painted_while_the_app_leaves(key: str) -> None:
    """Its panes lose what is in them one by one."""
    async with running(world(), size=(80, 24)) as rig:
        app = rig.app
        await rig.press(key)
        pane = app.main.current_pane
        await pane.remove_children()
        app.exit()
        app.view.touch(*pane.TOPICS)
        app.paint()
    assert app.crash is None
