"""The streams pane: follow, hold, pause, filter, details, copy, older lines, hostile text."""

import json

import pytest
from textual.events import Paste
from textual.pilot import Pilot
from textual.widgets import Input

from tapui import times
from tapui.tower.app.buffers import RING_LINES
from tapui.tower.streams.line_detail import LineDetail
from tapui.tower.streams.lines import HELD_LINES
from tapui.tower.streams.streams_pane import StreamsPane
from tapui.tower.table.filter import FilterBar
from tapui.tower.table.table import Table
from tapui.tower.textual.reader import Reader
from tapui.wire.events import SessionReplaced, StreamPosted
from tapui.wire.subjects import Session
from tapui.wire.tower import StreamRead
from tests.tower.running import on_top
from tests.tower.streams_rig import CI, TS, Screen, line

HOSTILE = (
    "\x1b]52;c;ZXZpbA==\x07 \x1b]0;title\x07 \x1b[2J [red]x[/] x[/] [@click=app.quit]q[/] "
    "\x9b31m \u202egnp.exe \u200b \x00 \x7f\r\nnext"
)


@pytest.fixture
async def screen() -> Screen:
    return Screen()


async def typed(pilot: Pilot[None], text: str) -> None:
    await pilot.press("slash")
    await pilot.press(*("full_stop" if char == "." else char for char in text))


async def test_the_first_screen_says_what_to_do(screen: Screen) -> None:
    async with screen.run_test(size=(80, 20)):
        await screen.flush()
        assert screen.pane.query_one(".empty").display
        assert not screen.pane.query_one(".filled").display
        assert "tapui demo" in screen.text_of(".empty")


async def test_the_tail_follows(screen: Screen) -> None:
    async with screen.run_test(size=(80, 20)):
        screen.feeder.open()
        screen.feeder.numbers(1, 100)
        await screen.flush()
        assert screen.on_screen()[-1] == "line 100"
        screen.feeder.numbers(101, 103)
        await screen.flush()
        assert screen.on_screen()[-2:] == ["line 102", "line 103"]
        assert "● following" in screen.frame
        assert "103 lines" in screen.text_of(".heading")
        assert "PR #42" in screen.text_of(".heading")


@pytest.mark.parametrize("text", ["word " * 60 + "end", "\u5b57" * 90 + "end"])
async def test_a_row_of_which_more_is_to_the_right_ends_in_a_sign(
    screen: Screen, text: str
) -> None:
    async with screen.run_test(size=(80, 20)) as pilot:
        screen.feeder.open()
        screen.feeder.post([line(1, text), line(2, "short")])
        await screen.flush()
        row = screen.tail.scrollable_content_region.width
        cut = screen.tail.render_line(0)
        assert cut.cell_length == screen.tail.size.width
        assert cut.crop(0, row).text.endswith("…")
        assert screen.on_screen()[1] == "short"
        await pilot.press(*["right"] * 40)
        await screen.settle()
        shown = screen.tail.render_line(0).text.rstrip()
        assert shown.endswith("end")
        assert "…" not in shown


async def test_scrolled_up_nothing_moves_and_the_new_lines_are_counted(screen: Screen) -> None:
    async with screen.run_test(size=(80, 20)) as pilot:
        screen.feeder.open()
        screen.feeder.numbers(1, 100)
        await screen.flush()
        await pilot.press("pageup", "pageup")
        before = screen.on_screen()
        assert before[-1] != "line 100"
        screen.feeder.numbers(101, 112)
        await screen.flush()
        assert screen.on_screen() == before
        assert "↓ 12 newer" in screen.frame
        assert "End to follow" in screen.text_of(".standing")
        await pilot.press("end")
        await screen.settle()
        assert screen.on_screen()[-1] == "line 112"
        assert "● following" in screen.frame


async def test_the_wheel_stops_the_tail_and_its_end_follows_again(screen: Screen) -> None:
    async with screen.run_test(size=(80, 20)):
        screen.feeder.open()
        screen.feeder.numbers(1, 100)
        await screen.flush()
        screen.tail.scroll_to(y=screen.tail.max_scroll_y - 5, animate=False, force=True)
        screen.feeder.numbers(101, 102)
        await screen.flush()
        assert "↓ 2 newer" in screen.frame
        assert screen.on_screen()[-1] == "line 95"
        screen.tail.scroll_to(y=screen.tail.max_scroll_y, animate=False, force=True)
        await screen.settle()
        screen.feeder.numbers(103, 103)
        await screen.flush()
        assert screen.on_screen()[-1] == "line 103"


async def test_lines_that_leave_the_ring_stay_under_the_reader(screen: Screen) -> None:
    async with screen.run_test(size=(80, 20)) as pilot:
        screen.feeder.open()
        screen.feeder.numbers(1, RING_LINES)
        await screen.flush()
        await pilot.press("home", "down", "down")
        before = screen.on_screen()
        assert before[0] == "line 1"
        end = RING_LINES
        for _ in range(4):
            screen.feeder.numbers(end + 1, end + 1500)
            end += 1500
            await screen.flush()
            assert screen.on_screen() == before
        assert screen.tail.row == screen.tail.rows[2]
        assert f"↓ {end - RING_LINES:,} newer" in screen.frame
        assert len(screen.tail.rows) == HELD_LINES
        await pilot.press("end")
        await screen.settle()
        assert screen.on_screen()[-1] == f"line {end}"
        assert [one.seq for one in screen.tail.rows] == list(range(end - RING_LINES + 1, end + 1))


async def test_a_pause_stops_the_painting_and_loses_nothing(screen: Screen) -> None:
    async with screen.run_test(size=(80, 20)) as pilot:
        screen.feeder.open()
        screen.feeder.numbers(1, 50)
        await screen.flush()
        await pilot.press("space")
        before = screen.on_screen()
        screen.feeder.numbers(51, 1500)
        await screen.flush()
        assert screen.on_screen() == before
        assert "‖ paused, 1,450 newer" in screen.frame
        assert "Space to resume" in screen.text_of(".standing")
        await pilot.press("space")
        await screen.settle()
        assert [one.seq for one in screen.tail.rows] == list(range(1, 1501))
        assert screen.on_screen()[-1] == "line 1500"


async def test_a_filter_works_live_and_while_paused(screen: Screen) -> None:
    async with screen.run_test(size=(80, 20)) as pilot:
        screen.feeder.open()
        screen.feeder.numbers(1, 30)
        await screen.flush()
        await pilot.press("space")
        await typed(pilot, "LINE 2")
        await pilot.press("enter")
        await screen.settle()
        assert [one.seq for one in screen.tail.rows] == [2, *range(20, 30)]
        assert "11 of 30 match" in screen.text_of(".standing")
        assert screen.tail.has_focus
        screen.feeder.numbers(31, 200)
        await screen.flush()
        assert len(screen.tail.rows) == 11
        await pilot.press("space")
        await screen.settle()
        assert [one.seq for one in screen.tail.rows] == [2, *range(20, 30), 200]
        await pilot.press("escape")
        await screen.settle()
        assert len(screen.tail.rows) == 200


async def test_a_wrong_pattern_is_told_at_the_input_and_the_old_filter_stays(
    screen: Screen,
) -> None:
    async with screen.run_test(size=(80, 20)) as pilot:
        screen.feeder.open()
        screen.feeder.numbers(1, 30)
        await screen.flush()
        await typed(pilot, "re:1$")
        await pilot.press("enter")
        await screen.settle()
        assert [one.seq for one in screen.tail.rows] == [1, 11, 21]
        await pilot.press("slash", "end", "left_parenthesis", "enter")
        await screen.settle()
        assert "✗ missing )" in screen.text_of(".refusal")
        assert screen.query_one(FilterBar).query_one(Input).has_focus
        assert [one.seq for one in screen.tail.rows] == [1, 11, 21]
        await pilot.press("escape")
        assert screen.tail.lines.filter is not None
        assert screen.tail.lines.filter.text == "re:1$"
        assert screen.text_of(".refusal") == ""


async def test_a_pattern_that_backtracks_without_end_is_refused(screen: Screen) -> None:
    async with screen.run_test(size=(80, 20)) as pilot:
        screen.feeder.open()
        screen.feeder.post(line(seq, "a" * 40 + "!") for seq in range(1, 1001))
        await screen.flush()
        await pilot.press("slash")
        screen.query_one(FilterBar).query_one(Input).value = "re:^(a|aa|a?a)+$"
        await screen.settle()
        assert "✗ too slow" in screen.text_of(".refusal")
        assert len(screen.tail.rows) == 1000


async def test_the_filter_field_takes_hostile_pastes_as_visible_text(screen: Screen) -> None:
    async with screen.run_test(size=(80, 20)) as pilot:
        screen.feeder.open()
        screen.feeder.numbers(1, 3)
        await screen.flush()
        await pilot.press("slash")
        field = screen.query_one(Input)
        field.post_message(Paste("a\x1b]52;c;x\x07\u202e"))
        await screen.settle()
        assert field.value == "a\\x1b]52;c;x\\x07\\u202e"


async def test_the_place_to_the_side_is_kept(screen: Screen) -> None:
    async with screen.run_test(size=(80, 20)) as pilot:
        screen.feeder.open()
        screen.feeder.post(line(seq, f"{seq:04} " + "x" * 200) for seq in range(1, 40))
        await screen.flush()
        await pilot.press("right", "right")
        assert screen.tail.scroll_offset.x == 16
        screen.feeder.post(line(seq, "short") for seq in range(40, 80))
        await screen.flush()
        assert screen.tail.scroll_offset.x == 16
        await pilot.press("up", "end")
        await screen.settle()
        assert screen.tail.scroll_offset.x == 16
        await pilot.press("left", "left", "left")
        assert screen.tail.scroll_offset.x == 0


async def test_details_show_text_and_metadata_whole(screen: Screen) -> None:
    async with screen.run_test(size=(100, 30)) as pilot:
        screen.feeder.open()
        text = "start " + "x" * 3000 + " end"
        screen.feeder.post([line(1, text, "surface", {"job": 7, "logs": ["a", "\x1b[2J"]})])
        await screen.flush()
        await pilot.press("enter")
        await pilot.pause()
        assert isinstance(on_top(screen), LineDetail)
        shown = screen.screen.query_one(Reader).text
        assert "number     1 of ci-watch@ci\nsession    PR #42" in shown
        assert "job: 7" in shown
        assert "\x1b" not in shown
        assert shown.count("x") >= 3000
        await pilot.press("escape")
        await pilot.pause()
        assert not isinstance(screen.screen, LineDetail)


async def test_a_line_is_copied_as_safe_text(screen: Screen) -> None:
    async with screen.run_test(size=(80, 20)) as pilot:
        screen.feeder.open()
        screen.feeder.post([line(1, "first"), line(2, "rm -rf\n\x1b[2J")])
        await screen.flush()
        await pilot.press("c")
        await screen.workers.wait_for_complete()
        assert screen.clipboard == "rm -rf\\x0a\\x1b[2J"
        await pilot.press("up", "c")
        await screen.workers.wait_for_complete()
        assert screen.clipboard == "first"


async def test_hostile_text_is_shown_escaped_and_never_as_markup(screen: Screen) -> None:
    async with screen.run_test(size=(260, 30)) as pilot:
        screen.feeder.open("s1", HOSTILE)
        screen.feeder.post([line(1, HOSTILE, "inject", {HOSTILE: HOSTILE})], "x[/]\x1b[2J@p[/]")
        await screen.flush()
        await pilot.press("enter")
        await pilot.pause()
        await pilot.press("escape", "c", "slash", "x", "left_square_bracket", "enter")
        await screen.settle()
        shown = screen.export_screenshot()
        rows = "\n".join(screen.on_screen())
        assert "\\x1b]52;c;ZXZpbA==\\x07" in rows
        assert "[red]x[/] x[/] [@click=app.quit]q[/]" in rows
        assert "\\u202egnp.exe" in rows
        for char in "\x1b\x07\x9b\u202e\u200b\x00\x7f":
            assert char not in shown
            assert char not in rows


async def test_older_lines_are_read_and_the_view_stays(screen: Screen) -> None:
    async with screen.run_test(size=(80, 20)) as pilot:
        screen.feeder.open()
        screen.feeder.numbers(301, 420)
        await screen.flush()
        assert screen.sent == []
        await pilot.press("home")
        before = screen.on_screen()
        await pilot.press("o")
        asked = screen.sent[-1]
        assert isinstance(asked, StreamRead)
        assert (asked.stream, asked.session_id, asked.before, asked.last) == (CI, "s1", 301, 200)
        screen.answer([line(seq) for seq in range(201, 301)])
        await screen.flush()
        assert screen.on_screen() == before
        await pilot.press("up")
        assert screen.tail.line == line(300)
        assert screen.tail.rows[0].seq == 201


async def test_older_lines_come_while_paused_too(screen: Screen) -> None:
    async with screen.run_test(size=(80, 20)) as pilot:
        screen.feeder.open()
        screen.feeder.numbers(301, 420)
        await screen.flush()
        await pilot.press("space", "o")
        screen.feeder.numbers(421, 430)
        screen.answer([line(seq) for seq in range(201, 301)])
        await screen.flush()
        assert [one.seq for one in screen.tail.rows] == list(range(201, 421))
        await pilot.press("space")
        await screen.settle()
        assert [one.seq for one in screen.tail.rows] == list(range(201, 431))


async def test_a_stream_known_only_by_its_last_line_is_read(screen: Screen) -> None:
    async with screen.run_test(size=(80, 20)):
        screen.feeder.open()
        screen.feeder.numbers(150, 150)
        await screen.flush()
        asked = screen.sent[-1]
        assert isinstance(asked, StreamRead)
        assert (asked.stream, asked.before) == (CI, None)
        screen.answer([line(seq) for seq in range(51, 151)])
        await screen.flush()
        assert [one.seq for one in screen.tail.rows] == list(range(51, 151))
        assert screen.on_screen()[-1] == "line 150"


async def test_lines_missed_while_the_link_was_down_are_read(screen: Screen) -> None:
    async with screen.run_test(size=(80, 20)):
        screen.feeder.open()
        screen.feeder.numbers(1, 50)
        await screen.flush()
        screen.feeder.snapshot(line(80))
        screen.feeder.numbers(81, 82)
        await screen.flush()
        asked = screen.sent[-1]
        assert isinstance(asked, StreamRead)
        assert (asked.stream, asked.before) == (CI, None)
        screen.answer([line(seq) for seq in range(1, 83)])
        await screen.flush()
        assert [one.seq for one in screen.tail.rows] == list(range(1, 83))
        assert screen.on_screen()[-1] == "line 82"
        assert len(screen.sent) == 1


async def test_a_tail_that_was_hidden_follows_when_it_is_shown(screen: Screen) -> None:
    async with screen.run_test(size=(80, 20)):
        screen.feeder.open()
        screen.pane.display = False
        screen.feeder.numbers(1, 100)
        await screen.flush()
        screen.pane.display = True
        await screen.settle()
        assert screen.on_screen()[-1] == "line 100"
        assert screen.tail.line == line(100)
        screen.feeder.numbers(101, 140)
        await screen.flush()
        assert screen.on_screen()[-1] == "line 140"
        assert screen.tail.line == line(140)


async def test_lines_that_never_came_are_marked(screen: Screen) -> None:
    async with screen.run_test(size=(80, 20)):
        screen.feeder.open()
        screen.feeder.post([line(1), line(2), line(7)])
        await screen.flush()
        screen.set_focus(None)
        await screen.settle()
        edges = [screen.tail.render_line(y).text[0] for y in range(3)]
        assert edges == [" ", " ", "┊"]


async def test_unread_lines_are_counted_until_they_are_seen(screen: Screen) -> None:
    async with screen.run_test(size=(100, 20)) as pilot:
        screen.feeder.open()
        screen.feeder.numbers(1, 3)
        screen.feeder.post([line(seq, level="inject") for seq in range(1, 6)], "build@ci")
        await screen.flush()
        table = screen.query_one(Table)
        cells = {row.cells[0].text: [cell.text for cell in row.cells] for row in table.rows}
        assert cells[CI] == [CI, "", "PR #42", "", "", "0/s"]
        assert cells["build@ci"] == ["build@ci", "", "PR #42", "", "5 new", "0/s"]
        await pilot.press("right_square_bracket")
        await screen.flush()
        assert screen.pane.selected == ("s1", "build@ci")
        assert screen.view.rings["s1", "build@ci"].unread == 0
        shown = [one.split("  ") for one in screen.on_screen()[:5]]
        assert [one[0] for one in shown] == [f"line {seq}" for seq in range(1, 6)]
        assert {one[-1].strip() for one in shown} == {"to PR #42"}
        screen.feeder.numbers(4, 9)
        await screen.flush()
        assert screen.view.rings["s1", CI].unread == 6


async def test_the_list_and_the_tail_are_reached_by_key(screen: Screen) -> None:
    async with screen.run_test(size=(80, 20)) as pilot:
        screen.feeder.open()
        screen.feeder.numbers(1, 3)
        await screen.flush()
        assert screen.tail.has_focus
        await pilot.press("escape")
        assert screen.query_one(Table).has_focus
        await pilot.press("enter")
        assert screen.tail.has_focus


async def test_the_tail_goes_with_a_replaced_session(screen: Screen) -> None:
    async with screen.run_test(size=(80, 20)) as pilot:
        screen.feeder.open()
        screen.feeder.numbers(1, 3, "other@ci")
        screen.feeder.numbers(1, 40)
        await screen.flush()
        await pilot.press("right_square_bracket")
        await screen.flush()
        session = Session(
            id="s2", label="new", cwd="/", state="idle", host="h", providers=[], opened_at=TS
        )
        screen.feeder.apply(SessionReplaced(session_id="s2", session=session, replaces="s1"))
        await screen.flush()
        assert screen.pane.selected == ("s2", CI)
        assert screen.on_screen()[-1] == "line 40"


async def test_a_stream_that_begins_anew_is_shown_anew(screen: Screen) -> None:
    async with screen.run_test(size=(80, 20)) as pilot:
        screen.feeder.open()
        screen.feeder.numbers(1, 40)
        await screen.flush()
        await pilot.press("up")
        screen.feeder.numbers(1, 4)
        await screen.flush()
        assert screen.on_screen()[-1] == "line 40"
        assert "↓ 4 newer" in screen.frame
        await pilot.press("end")
        await screen.settle()
        assert [one.seq for one in screen.tail.rows] == [1, 2, 3, 4]


@pytest.mark.parametrize(("width", "height"), [(80, 20), (120, 32), (200, 46)])
async def test_list_and_tail_are_usable_at_every_size(
    screen: Screen, width: int, height: int
) -> None:
    async with screen.run_test(size=(width, height)):
        screen.feeder.open()
        for number in range(6):
            screen.feeder.numbers(1, 60, f"stream-{number}@provider-{number}")
        await screen.flush()
        table = screen.query_one(Table)
        assert table.size.height >= 4
        assert table.size.width >= 40
        first = table.render_line(0).text
        assert "· stream-0@provider-0" in first
        assert screen.tail.size.height >= 10
        assert screen.tail.size.width >= 60
        assert screen.on_screen()[-1] == "line 60"


async def test_resizing_keeps_following(screen: Screen) -> None:
    async with screen.run_test(size=(120, 40)) as pilot:
        screen.feeder.open()
        screen.feeder.numbers(1, 100)
        await screen.flush()
        await pilot.resize_terminal(80, 20)
        await screen.settle()
        assert screen.on_screen()[-1] == "line 100"
        await pilot.resize_terminal(160, 50)
        await screen.settle()
        assert screen.on_screen()[-1] == "line 100"
        screen.feeder.numbers(101, 200)
        await screen.flush()
        assert screen.on_screen()[-1] == "line 200"


async def test_metadata_that_is_deep_does_not_break_the_details(screen: Screen) -> None:
    async with screen.run_test(size=(80, 20)) as pilot:
        screen.feeder.open()
        deep = json.loads('{"a":' * 200 + "1" + "}" * 200)
        screen.feeder.post([line(1, "deep", metadata=deep)])
        await screen.flush()
        await pilot.press("enter")
        await pilot.pause()
        assert '{"a":1}' in screen.screen.query_one(Reader).text


async def test_a_stream_that_lags_says_how_old_its_newest_line_is(screen: Screen) -> None:
    async with screen.run_test(size=(100, 20)):
        screen.feeder.open()
        screen.view.now = times.epoch(TS) or 0.0
        screen.feeder.apply(StreamPosted("s1", CI, line(1), waited=4_000))
        await screen.flush()
        assert "old" not in screen.text_of(".standing"), "a moment is no lag"
        screen.feeder.apply(StreamPosted("s1", CI, line(2), waited=240_000))
        await screen.flush()
        assert "newest line 4m old" in screen.text_of(".standing")
        screen.view.now += 11
        screen.view.touch("clock")
        await screen.flush()
        assert "old" not in screen.text_of(".standing"), "the queue is empty: it is silent"


def test_a_frame_that_is_painted_before_the_tail_is_there_says_nothing_of_it() -> None:
    assert StreamsPane().place_notes() == []
