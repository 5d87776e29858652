"""Keys that come in one read of the terminal: each goes to what the one before it brought up."""

import pytest
from textual.widgets import Input

from tapui.tower.app.help import HelpScreen
from tapui.tower.calls.call_detail import CallDetail
from tapui.tower.sessions.session_detail import SessionDetail
from tapui.tower.table.filter import FilterBar
from tapui.tower.textual.dialogs import ChooseScreen
from tapui.wire.tower import SessionMode
from tests.tower.running import on_top, running
from tests.tower.scripted import world


@pytest.mark.parametrize("size", [(80, 24), (160, 45)], ids=str)
async def test_enter_right_after_a_panes_key_opens_its_first_row(size: tuple[int, int]) -> None:
    async with running(world(), size=size) as rig:
        for _ in range(3):
            await rig.type("5", "enter")
            assert isinstance(on_top(rig.app), CallDetail)
            await rig.type("escape", "1", "enter")
            assert isinstance(on_top(rig.app), SessionDetail)
            await rig.type("escape")
            assert len(rig.app.screen_stack) == 1


async def test_enter_right_after_the_key_of_the_pane_that_is_current() -> None:
    async with running(world()) as rig:
        await rig.type("1", "enter")
        assert isinstance(on_top(rig.app), SessionDetail)


async def test_what_follows_slash_is_the_filter() -> None:
    async with running(world()) as rig:
        await rig.type("3", "slash", *"x3q1")
        assert rig.pane(3).query_one(FilterBar).query_one(Input).value == "x3q1"
        assert rig.app.main.current_kind.id == "streams"
        await rig.type("escape", "5", "enter")
        assert isinstance(on_top(rig.app), CallDetail)


async def test_keys_after_enter_are_for_the_sheet() -> None:
    async with running(world()) as rig:
        await rig.type("question_mark", "q", "5", "enter", "q", "1")
        assert len(rig.app.screen_stack) == 1, "both sheets were closed, and the app is still there"
        assert rig.app.main.current_kind.id == "sessions"


async def test_a_dialog_takes_the_keys_that_follow() -> None:
    async with running(world()) as rig:
        await rig.type("full_stop", "m", "down", "enter")
        assert not isinstance(rig.app.screen, ChooseScreen)
        assert [type(one) for one in rig.feed.sent] == [SessionMode]


async def test_many_keys_in_one_read_all_count() -> None:
    async with running(world()) as rig:
        rounds = 4
        await rig.type(*(["tab", "1", "down", "up"] * rounds), "5", "down", "enter")
        assert isinstance(on_top(rig.app), CallDetail)
        once_round = len(rig.app.main.kinds) + 1  # what waits is one more
        await rig.type("escape", *["tab"] * (once_round * rounds + once_round - 4), "question_mark")
        assert isinstance(rig.app.screen, HelpScreen)
        assert rig.app.main.current_kind.id == "sessions"
