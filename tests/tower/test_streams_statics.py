"""What changes many times a second lays nothing out, and paints only the lines that changed."""

from typing import Any

import pytest
from textual.app import App, ComposeResult
from textual.content import Content
from textual.geometry import Region
from textual.screen import Screen
from textual.widgets import Static

from tapui.tower.streams.tail import Tail
from tapui.tower.table.columns import Cell, Column, Row
from tapui.tower.table.table import Table
from tapui.tower.textual.widgets import show_in
from tests.tower.streams_rig import Screen as StreamsScreen
from tests.tower.streams_rig import line


class One(App[None]):
    CSS = "Static { width: 20; height: auto; max-height: 5; }"

    def compose(self) -> ComposeResult:
        yield Static("", markup=False)


@pytest.fixture
def layouts(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Counts layouts."""
    found: list[int] = []
    original = Screen._refresh_layout

    def counted(self: Screen[None], *args: object, **kwargs: object) -> None:
        found.append(1)
        original(self, *args, **kwargs)  # type: ignore[arg-type]

    monkeypatch.setattr(Screen, "_refresh_layout", counted)
    return found


async def test_only_another_height_costs_a_layout(layouts: list[int]) -> None:
    app = One()
    async with app.run_test() as pilot:
        static = app.query_one(Static)
        show_in(static, Content("12 lines"))
        await pilot.pause()
        before = len(layouts)
        show_in(static, Content("13 lines"))
        show_in(static, Content.styled("13 lines", "bold"))
        await pilot.pause()
        assert len(layouts) == before
        assert static.render_line(0).text.rstrip() == "13 lines"
        style = static.render_line(0)._segments[0].style
        assert style is not None
        assert style.bold
        show_in(static, Content("13 lines and a longer story"))
        await pilot.pause()
        assert len(layouts) > before
        assert static.size.height == 2


async def test_what_is_hidden_costs_no_layout_and_is_right_when_it_is_shown(
    layouts: list[int],
) -> None:
    app = One()
    async with app.run_test() as pilot:
        static = app.query_one(Static)
        show_in(static, Content("12 lines"))
        static.display = False
        await pilot.pause()
        before = len(layouts)
        show_in(static, Content("13 lines"))
        show_in(static, Content("14 lines and a longer story"))
        await pilot.pause()
        assert len(layouts) == before
        static.display = True
        await pilot.pause()
        assert static.size.height == 2
        assert static.render_line(0).text.rstrip() == "14 lines and a"


async def test_what_is_shown_already_is_not_painted_again() -> None:
    app = One()
    async with app.run_test() as pilot:
        static = app.query_one(Static)
        content = Content.styled("same", "bold")
        show_in(static, content)
        await pilot.pause()
        show_in(static, Content.styled("same", "bold"))
        assert static.content is content


class Rows(App[None]):
    def compose(self) -> ComposeResult:
        yield Table((Column("name", 8), Column("state", 8)))

    def give_way(self) -> None:
        """Nobody else waits."""


def table_rows(*states: str) -> list[Row]:
    return [Row(f"k{at}", (Cell(f"row {at}"), Cell(state))) for at, state in enumerate(states)]


@pytest.fixture
def regions(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int] | None]:
    """Which lines widgets ask to be painted: (first, count), None for all of one."""
    found: list[tuple[int, int] | None] = []
    for kind in (Table, Tail):
        original = kind.refresh

        def counted(
            self: Table | Tail, *asked: Region, _original: Any = original, **more: bool
        ) -> Any:
            found.extend([(one.y, one.height) for one in asked] or [None])
            return _original(self, *asked, **more)

        monkeypatch.setattr(kind, "refresh", counted)
    return found


async def test_a_table_paints_only_rows_that_changed(
    regions: list[tuple[int, int] | None],
) -> None:
    app = Rows()
    async with app.run_test() as pilot:
        table = app.query_one(Table)
        table.set_rows(table_rows("idle", "busy", "busy"))
        await pilot.pause()
        regions.clear()
        table.set_rows(table_rows("idle", "busy", "idle"))
        assert regions == [(3, 1)]
        await pilot.pause()
        assert "idle" in table.render_line(3).text
        regions.clear()
        table.set_rows(table_rows("idle", "busy", "idle"))
        assert regions == []
        table.set_rows(table_rows("idle", "busy"))
        assert None in regions or (3, 1) in regions
        await pilot.pause()
        assert table.render_line(3).text.strip() == ""


async def test_a_tail_that_stands_still_is_not_painted_when_lines_come(
    regions: list[tuple[int, int] | None],
) -> None:
    screen = StreamsScreen()
    async with screen.run_test(size=(80, 20)) as pilot:
        screen.feeder.open()
        screen.feeder.numbers(1, 100)
        await screen.flush()
        await pilot.press("pageup", "pageup")
        await screen.settle()
        regions.clear()
        screen.feeder.numbers(101, 150)
        screen.tail.take(screen.view.rings)
        assert regions == []
        await pilot.press("down")
        await screen.settle()
        assert None not in regions
        assert len(regions) == 2
        assert screen.view.rings["s1", "ci-watch@ci"].lines[-1] == line(150)
