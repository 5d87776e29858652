"""Panes are registered: one more entry is a pane with its key, tab, place, help and commands."""

import re
from typing import ClassVar

import pytest
from textual.app import ComposeResult
from textual.binding import Binding, BindingType
from textual.widget import Widget
from textual.widgets import Static

from tapui.tower.app.help import HelpScreen
from tapui.tower.app.palette import commands
from tapui.tower.app.registry import PANES
from tapui.tower.app.view import View
from tapui.tower.table.pane import Pane, PaneKind
from tapui.wire import events as ev
from tapui.wire.message import Level, Line
from tests.tower.emitters_world import watched
from tests.tower.running import running
from tests.tower.scripted import at, world


class NotesLine(Static, can_focus=True):
    pass


class NotesPane(Pane):
    TOPICS = frozenset({"sessions"})
    HELP = "What you wrote down."
    BINDINGS: ClassVar[list[BindingType]] = [Binding("w", "write", "Write", tooltip="Write a note")]

    def compose(self) -> ComposeResult:
        yield NotesLine("", markup=False)

    def main_widget(self) -> Widget:
        return self.query_one(NotesLine)

    def show(self, view: View, dirty: frozenset[str]) -> None:
        self.query_one(NotesLine).update(f"{len(view.open_sessions)} sessions to write about")

    def sign(self, view: View) -> str:
        return f"+{len(view.open_sessions)}"

    def action_write(self) -> None:
        self.app.notify("written")


NOTES = PaneKind("notes", "9", "Notes", lambda: NotesPane, sign=lambda _view: "+1")
ONE_MORE = (*PANES, NOTES)


@pytest.mark.parametrize("size", [(80, 24), (120, 36), (200, 50)], ids=str)
async def test_one_more_pane_has_a_key_a_place_and_the_focus(size: tuple[int, int]) -> None:
    async with running(world(), size=size, panes=ONE_MORE) as rig:
        await rig.type("9", "w")
        assert rig.notices == ["written"]
        assert "3 sessions to write about" in rig.text
        assert "9 Notes" in rig.text
        assert isinstance(rig.app.focused, NotesLine)
        seen = [pane.kind.id for pane in rig.app.main.seen_panes()]
        assert seen[-1] == "notes"
        assert rig.pane(9).region.area > 0


async def test_one_more_pane_is_in_tabs_help_palette_and_round() -> None:
    async with running(world(), panes=ONE_MORE) as rig:
        tabs = rig.text.splitlines()[1]
        assert "9 Note +1" in tabs
        await rig.pilot.click("PaneTabs", offset=(tabs.index("9 Note"), 0))
        assert rig.app.main.current_kind is NOTES
        await rig.settle()
        assert "9 Notes +3" in rig.text.splitlines()[1], "the pane says it, once it is made"
        await rig.press("1")
        await rig.press("shift+tab", "shift+tab")  # what waits is one more
        assert rig.app.main.current_kind is NOTES
        await rig.press("tab", "tab")
        assert rig.app.main.current_kind is PANES[0]
        offered = {name for name, _about, _act in commands(rig.app)}
        assert "Go to Notes" in offered
        await rig.press("9", "question_mark")
        assert isinstance(rig.app.screen, HelpScreen)
        for part in ("Notes (this pane)", "What you wrote down.", "3 4 5 6 7 8 9"):
            assert part in rig.text


async def test_two_panes_can_be_all_there_are() -> None:
    async with running(world(), size=(200, 50), panes=PANES[:2]) as rig:
        assert [pane.kind.id for pane in rig.app.main.seen_panes()] == [
            "waiting",
            *(kind.id for kind in PANES[:2]),
        ]
        await rig.press("tab", "tab", "tab")
        assert rig.app.main.current_kind is PANES[0]


def test_keys_and_ids_are_unique() -> None:
    assert len({kind.key for kind in PANES}) == len({kind.id for kind in PANES}) == len(PANES)


async def test_a_pane_is_made_when_it_is_first_seen() -> None:
    async with running(world()) as rig:
        assert [pane.kind.id for pane in rig.app.panes] == ["sessions"]
        await rig.press("5")
        assert [pane.kind.id for pane in rig.app.panes] == ["sessions", "calls"]
        await rig.pilot.resize_terminal(200, 50)
        await rig.settle()
        assert [pane.kind.id for pane in rig.app.panes] == ["sessions", "turns", "streams", "calls"]
        assert rig.app.main.current_kind.id == "calls"
        for pane in rig.app.panes:
            assert pane.region.area > 0


def posted(seq: int, level: Level, text: str = "all well") -> ev.StreamPosted:
    return ev.StreamPosted("s1", "ci-watch@ci", Line(1000 + seq, at(), level, text))


async def test_tabs_say_by_a_sign_what_is_counted_and_never_a_bare_number() -> None:
    async with running(world(), size=(160, 40)) as rig:
        await rig.press("4")
        rig.feed.happen(*(posted(seq, "keep") for seq in range(3)))
        await rig.settle()
        assert "3 Streams   4" in rig.text, "what is only kept does not call"
        rig.feed.happen(posted(3, "surface"), posted(4, "surface"), posted(5, "inject"))
        await rig.settle()
        assert "3 Streams ▲2   4" in rig.text
        await rig.press("3")
        assert "4 Providers ✓" in rig.text
        assert not re.search(r" [3-9] [A-Z][a-z]+ \d+", rig.text)


@pytest.mark.parametrize("width", [140, 240])
async def test_tabs_in_a_frame_say_which_pane_is_meant(width: int) -> None:
    async with running(world(), size=(width, 50)) as rig:
        taking_turns = [kind for kind in PANES if kind.key in "34678"]
        for current in taking_turns:
            await rig.press(current.key)
            edge = next(
                line for line in rig.text.splitlines() if f" {current.key} {current.title}" in line
            )
            for kind in taking_turns:
                assert f" {kind.key} {kind.title[:3]}" in edge


async def test_where_room_is_short_names_go_before_signs_that_call() -> None:
    async with running(watched(), size=(84, 24)) as rig:
        tabs = rig.text.splitlines()[1]
        assert "4 Providers 5 Calls 6 Emitters ✗1" in tabs
        assert "✓" not in tabs
