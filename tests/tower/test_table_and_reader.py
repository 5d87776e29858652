"""The two widgets that paint text from outside: nothing lost, nothing wider than its place."""

import asyncio

import pytest
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


async def test_a_heading_of_rows_is_not_shown_without_a_row_below_it() -> None:
    shown = table()
    over, under = (heading(text, heads_rows=True) for text in ("over", "under"))
    says = heading("says something by itself")
    one, two = rows("one", "two")
    async with Shown(shown).run_test():
        for given_, left in (
            ([one, over], [one]),
            ([over], []),
            ([over, under, one], [under, one]),
            ([over, one, under], [over, one]),
            ([over, says], [over, says]),
            ([one, says], [one, says]),
            ([over, one, under, two], [over, one, under, two]),
        ):
            shown.set_rows(given_)
            assert shown.rows == left


@pytest.mark.parametrize("covered", [0, 2])
async def test_a_heading_whose_rows_are_out_of_sight_is_not_painted(covered: int) -> None:
    shown = table()
    names = rows(*(f"row-{number}" for number in range(12)))
    split = 7 - covered  # below the titles eight lines are in sight: it is the last one
    list_ = [*names[: split - 1], heading("others", heads_rows=True), *names[split - 1 :]]

    async with Shown(shown).run_test(size=(40, 9)) as pilot:

        def in_sight() -> str:
            strips = pilot.app.screen._compositor.render_strips()
            return "\n".join(strip.text for strip in strips[: 9 - covered])

        shown.set_rows(list_)
        shown.set_covered(covered)
        shown.focus()
        await pilot.pause()
        assert f"row-{split - 1}" in in_sight()
        assert "others" in in_sight(), "a row of them is in sight"
        shown.set_rows([names[11], *list_[:-1]])
        shown.scroll_to(y=0, animate=False, force=True)
        await pilot.pause()
        assert f"row-{split - 2}" in in_sight()
        assert f"row-{split - 1}" not in in_sight()
        assert "others" not in in_sight()
        shown.set_covered(0)
        shown.scroll_to(y=1, animate=False, force=True)
        await pilot.pause()
        assert "others" in in_sight()


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


async def test_a_text_without_a_place_yet_is_laid_out_once_it_has_one() -> None:
    shown = Reader()
    async with Shown(shown).run_test(size=(40, 10)) as pilot:
        shown.display = False
        await pilot.pause()
        shown.set_parts([Paragraph("one line of text"), Paragraph("another one")])
        await pilot.pause()
        assert (shown.was_read, shown.lines_below) == (False, 2)
        shown.display = True
        await pilot.pause()
        assert shown.text.splitlines() == ["one line of text", "another one"]
        assert shown.was_read


FACT = Paragraph("recorded   one two three four five six seven eight nine", hang=11)


async def test_further_lines_of_a_fact_stand_under_its_value() -> None:
    shown = Reader()
    async with Shown(shown).run_test(size=(40, 6)):
        shown.set_parts([FACT])
        first, *rest = shown.text.splitlines()
        assert rest
        assert all(line.startswith(" " * 11) for line in rest)
        assert first + "".join(line[11:] for line in rest) == FACT.text
        assert all(cell_len(line) < 40 for line in (first, *rest))


async def test_where_that_takes_a_third_of_the_width_they_are_not_set_in() -> None:
    shown = Reader()
    async with Shown(shown).run_test(size=(24, 6)):
        shown.set_parts([FACT])
        assert "".join(shown.text.splitlines()) == FACT.text
