"""Panes are registered: one more entry is a pane with its key, tab, place, help and commands."""

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
from tests.tower.running import running
from tests.tower.scripted import world


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

    def action_write(self) -> None:
        self.app.notify("written")


NOTES = PaneKind("notes", "7", "Notes", lambda: NotesPane, note=lambda _view: "(1)")
SEVEN = (*PANES, NOTES)


@pytest.mark.parametrize("size", [(80, 24), (120, 36), (200, 50)], ids=str)
async def test_one_more_pane_has_a_key_a_place_and_the_focus(size: tuple[int, int]) -> None:
    async with running(world(), size=size, panes=SEVEN) as rig:
        await rig.type("7", "w")
        assert rig.notices == ["written"]
        assert "3 sessions to write about" in rig.text
        assert "7 Notes" in rig.text
        assert isinstance(rig.app.focused, NotesLine)
        seen = [pane.kind.id for pane in rig.app.main.seen_panes()]
        assert seen[-1] == "notes"
        assert rig.pane(7).region.area > 0


async def test_one_more_pane_is_in_tabs_help_palette_and_round() -> None:
    async with running(world(), panes=SEVEN) as rig:
        tabs = rig.text.splitlines()[3]
        assert "7 Notes (1)" in tabs
        await rig.pilot.click("PaneTabs", offset=(tabs.index("7 Notes"), 0))
        assert rig.app.main.current_kind is NOTES
        await rig.press("1")
        await rig.press("shift+tab")
        assert rig.app.main.current_kind is NOTES
        await rig.press("tab")
        assert rig.app.main.current_kind is PANES[0]
        offered = {name for name, _about, _act in commands(rig.app)}
        assert "Go to Notes" in offered
        await rig.press("7", "question_mark")
        assert isinstance(rig.app.screen, HelpScreen)
        for part in ("Notes (this pane)", "What you wrote down.", "3 4 5 6 7"):
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
        filled = [kind.id for kind in PANES if kind.id != "emitters"]  # there are none
        assert [pane.kind.id for pane in rig.app.panes] == filled
        assert rig.app.main.current_kind.id == "calls"
        for pane in rig.app.panes:
            assert pane.region.area > 0
