"""The two widgets that paint text from outside: nothing lost, nothing wider than its place."""

import asyncio

from hypothesis import given
from hypothesis import strategies as st
from rich.cells import cell_len
from textual.app import App, ComposeResult

from tapui.projection.paragraphs import Paragraph, title, value
from tapui.tower.table.columns import Cell, Column, Row, fit, heading
from tapui.tower.table.table import Table
from tapui.tower.textual.reader import Reader, wrap
from tests.rig.waiting import HUNG


@given(st.text(st.characters(exclude_categories=["Cc", "Cs", "Mn", "Me"])), st.integers(2, 50))
def test_fit_gives_exactly_the_width(text: str, width: int) -> None:
    assert cell_len(fit(text, width)) == width


@given(st.text(st.characters(exclude_categories=["Cc", "Cs"])), st.integers(2, 50))
def test_wrapping_loses_nothing_and_fits(text: str, width: int) -> None:
    pieces = wrap(text, width)
    assert "".join(pieces) == text
    assert all(cell_len(piece) <= width for piece in pieces)


class Shown(App[None]):
    def __init__(self, widget: Table | Reader) -> None:
        super().__init__()
        self.widget = widget

    def compose(self) -> ComposeResult:
        yield self.widget

    def give_way(self) -> None:
        """Nobody else waits."""


def rows(*names: str) -> list[Row]:
    return [
        heading(name[1:]) if name.startswith("#") else Row(name, (Cell(name), Cell("x")))
        for name in names
    ]


def table() -> Table:
    return Table((Column("name", 8, 30), Column("state", 6, rank=2)))


async def test_selection_follows_its_row() -> None:
    shown = table()
    async with Shown(shown).run_test() as pilot:
        shown.set_rows(rows("a", "b", "c"))
        shown.focus()
        await pilot.press("down")
        assert shown.selected == "b"
        shown.set_rows(rows("new", "a", "b", "c"))
        assert shown.selected == "b"
        shown.set_rows(rows("new", "a", "c"))
        assert shown.selected == "c", "the row is gone: what took its place is selected"


async def test_other_columns_leave_nothing_of_the_rows_before() -> None:
    shown = table()

    def painted() -> str:
        return "\n".join(shown.render_line(y).text for y in range(shown.size.height))

    async with Shown(shown).run_test(size=(40, 10)) as pilot:
        shown.set_rows(rows("alpha"))
        await pilot.pause()
        assert "alpha" in painted()
        screen = pilot.app.screen
        shown.set_columns((Column("tool", 8, 30), Column("calls", 6)))
        shown.set_rows([])
        await pilot.pause()
        lines = [strip.text for strip in screen._compositor.render_strips()]
        assert not [line for line in lines if "alpha" in line or "name" in line]
        assert [line for line in lines if "tool" in line]
        shown.set_rows(rows("alpha"))
        assert "alpha" in painted()


async def test_a_row_that_comes_on_top_does_not_slip_under_the_cursor() -> None:
    shown = table()
    async with Shown(shown).run_test():
        shown.set_rows(rows("a", "b"))
        shown.set_rows(rows("new", "a", "b"))
        assert shown.selected == "a"


async def test_the_selection_stays_in_sight() -> None:
    shown = table()
    async with Shown(shown).run_test(size=(40, 10)) as pilot:
        shown.set_rows(rows("a", "b"))
        shown.set_rows(rows(*(f"new{number}" for number in range(50)), "a", "b"))
        await pilot.pause()
        assert shown.selected == "a"
        assert 0 < 50 - shown.scroll_offset.y + 1 < 10


async def test_headings_are_skipped() -> None:
    shown = table()
    async with Shown(shown).run_test() as pilot:
        shown.set_rows(rows("#top", "a", "#mid", "b"))
        shown.focus()
        assert shown.selected == "a"
        await pilot.press("down")
        assert shown.selected == "b"
        await pilot.press("up")
        assert shown.selected == "a"
        await pilot.press("up")
        assert shown.selected == "a"


async def test_the_selected_row_is_scrolled_into_sight() -> None:
    shown = table()
    async with Shown(shown).run_test(size=(40, 10)) as pilot:
        shown.set_rows(rows(*(f"row-{number}" for number in range(100))))
        shown.focus()
        await pilot.press("end")
        await pilot.pause()
        painted = [shown.render_line(y).text for y in range(10)]
        assert any("row-99" in line for line in painted)
        assert "name" in painted[0], "the titles stay"


async def test_columns_of_the_highest_rank_go_where_room_is_short() -> None:
    shown = table()
    async with Shown(shown).run_test(size=(14, 6)):
        shown.set_rows(rows("a"))
        assert "state" not in shown.render_line(0).text
        assert "name" in shown.render_line(0).text


async def test_hostile_cells_are_escaped() -> None:
    shown = table()
    async with Shown(shown).run_test():
        shown.set_rows([Row("k", (Cell("a\x1b[2Jb[bold]\u202e"), Cell("x")))])
        assert r"a\x1b[2Jb[bold]\u202e" in shown.render_line(1).text


async def test_a_value_cannot_pass_itself_off_as_a_heading() -> None:
    shown = Reader()
    async with Shown(shown).run_test():
        shown.set_parts([title("command"), value("ls\nintention\nharmless")])
        assert shown.text.splitlines() == ["command", "│ ls", "│ intention", "│ harmless"]


async def test_long_text_is_there_to_its_end() -> None:
    shown = Reader()
    async with Shown(shown).run_test(size=(40, 10)) as pilot:
        shown.set_parts([Paragraph("word " * 2000 + "THE END")])
        await pilot.pause()
        assert shown.lines_below > 0
        shown.focus()
        await pilot.press("end")
        async with asyncio.timeout(HUNG):
            while shown.lines_below:
                await pilot.pause(0.01)
        painted = [shown.render_line(y).text for y in range(10)]
        assert "THE END" in painted[-1]
        assert not any("…" in line for line in painted)
        assert shown.lines_below == 0
