"""Several streams in one tail, levels, what stands out, mute, wrapping, a time, selecting."""

import pytest
from textual.geometry import Offset
from textual.selection import Selection
from textual.widgets import Input

from tapui.tower.table.table import Table
from tapui.tower.textual.dialogs import ActionsScreen, MomentScreen
from tapui.wire import events as ev
from tapui.wire.message import Level, Line
from tapui.wire.tower import StreamRead
from tests.tower.running import running
from tests.tower.scripted import lines, posts, session, world
from tests.tower.streams_rig import CI, Screen, line

OTHER = "deploys@cd"


@pytest.fixture
async def screen() -> Screen:
    return Screen()


def at(seq: int, second: int, text: str = "", level: Level = "keep") -> Line:
    return Line(seq, f"2026-11-18T08:26:{second:02}.000000Z", level, text or f"line {seq}")


async def both(screen: Screen) -> None:
    """Two streams by turns."""
    screen.feeder.open()
    for seq in range(1, 6):
        screen.feeder.post([at(seq, 2 * seq, f"ci {seq}")])
        screen.feeder.post([at(seq, 2 * seq + 1, f"cd {seq}")], OTHER)
    await screen.flush()


async def test_marked_streams_are_one_tail_by_time_with_their_names(screen: Screen) -> None:
    async with screen.run_test(size=(80, 24)) as pilot:
        await both(screen)
        assert screen.on_screen()[0] == "ci 1"
        await pilot.press("m", "right_square_bracket", "m")
        await screen.flush()
        rows = [screen.tail.render_line(y).text[12:].rstrip() for y in range(10)]
        assert rows[:4] == ["ci-watch ci 1", "deploys  cd 1", "ci-watch ci 2", "deploys  cd 2"]
        assert "2 streams" in screen.text_of(".heading")
        screen.feeder.post([at(6, 20, "late")])
        screen.feeder.post([at(6, 19, "early")], OTHER)
        await screen.flush()
        assert [one.line.event for one in screen.tail.rows][-2:] == ["early", "late"]
        glyphs = [row.cells[0].glyph for row in screen.query_one(Table).rows]
        assert glyphs == ["+", "+"]
        await pilot.press("m")
        await screen.flush()
        assert [one.line.event for one in screen.tail.rows] == [
            *(f"ci {seq}" for seq in range(1, 6)),
            "late",
        ]


async def test_long_names_are_cut_in_the_middle_and_equal_ones_told_apart(screen: Screen) -> None:
    async with screen.run_test(size=(100, 24)) as pilot:
        screen.feeder.open()
        screen.feeder.numbers(1, 2, "a-very-long-name-of-a-stream@ci")
        screen.feeder.numbers(1, 2, "log@one")
        screen.feeder.numbers(1, 2, "log@two")
        await screen.flush()
        for _ in range(3):
            await pilot.press("m", "right_square_bracket")
        await screen.flush()
        shown = {screen.tail.render_line(y).text.rstrip() for y in range(6)}
        assert any("a-very-l…-stream line 1" in row for row in shown)
        assert any("log@one " in row for row in shown)
        assert any("log@two " in row for row in shown)


async def test_levels_are_left_out_by_key_and_one_by_one(screen: Screen) -> None:
    async with screen.run_test(size=(80, 24)) as pilot:
        screen.feeder.open()
        levels: list[Level] = ["keep", "surface", "inject"]
        screen.feeder.post(
            at(seq, seq, f"{level} {seq}", level) for seq, level in enumerate(levels, 1)
        )
        await screen.flush()
        await pilot.press("i")
        await screen.settle()
        assert [one.line.level for one in screen.tail.rows] == ["surface", "inject"]
        assert "shown to you and sent to the agent only  2 of 3 match" in screen.text_of(
            ".standing"
        )
        await pilot.press("i")
        assert [one.line.level for one in screen.tail.rows] == ["inject"]
        await pilot.press("i")
        assert len(screen.tail.rows) == 3
        await pilot.press("full_stop", "s")
        await screen.settle()
        assert [one.line.level for one in screen.tail.rows] == ["keep", "inject"]


async def test_an_inject_says_where_it_was_sent_behind_its_text(screen: Screen) -> None:
    async with screen.run_test(size=(80, 24)) as pilot:
        screen.feeder.open(label="Fix the flaky pairing test of the gateway")
        screen.feeder.post([line(1, "why?", "inject")])
        await screen.flush()
        address = "to Fix the flak…the gateway"
        row = screen.tail.render_line(0).text
        assert row[10:].startswith("→ why?")
        assert row.endswith(f"{address} "), "at the right, beside the scroll bar"
        screen.feeder.post([line(2, "x" * 70, "inject")])
        await screen.flush()
        assert screen.on_screen()[1] == f"{'x' * 66}…", "the text comes before where it went"
        await pilot.press("end", "up", *["right"] * 6)
        assert screen.tail.render_line(1).text.rstrip().endswith(f"xx  {address}")
        screen.screen.selections = {screen.tail: Selection(Offset(0, 0), None)}
        copied = screen.screen.get_selected_text() or ""
        first, second = copied.splitlines()
        assert first.endswith(f"→ why?{' ' * 36}{address}")
        assert second.endswith(f"xx  {address}")


async def test_a_name_without_room_behind_its_text_is_cut_once(screen: Screen) -> None:
    async with screen.run_test(size=(80, 24)) as pilot:
        screen.feeder.open(label="Fix the flaky pairing test of the gateway")
        screen.feeder.post([line(1, "x" * 48, "inject")])
        await screen.flush()
        await pilot.pause()
        row = screen.tail.render_line(0).text
        assert row.endswith("xx  to Fix the…ateway ")


async def test_keys_go_to_injects_and_failures(screen: Screen) -> None:
    async with screen.run_test(size=(80, 24)) as pilot:
        screen.feeder.open()
        texts = {7: "build 4711 failed", 20: "0 failed, 12 passed", 30: "see below"}
        screen.feeder.post(
            line(seq, texts.get(seq, f"line {seq}"), "inject" if seq == 30 else "keep")
            for seq in range(1, 61)
        )
        await screen.flush()
        await pilot.press("comma")
        assert screen.tail.line is not None
        assert screen.tail.line.seq == 30
        await pilot.press("comma")
        assert screen.tail.line.seq == 7
        assert "✗ build" in screen.tail.render_line(7 - 1 - screen.tail.scroll_offset.y).text
        await pilot.press("comma")
        assert screen.tail.line.seq == 7
        await pilot.press("semicolon")
        assert screen.tail.line.seq == 30
        assert "○ not following" in screen.frame


async def test_matches_of_the_last_filter_are_gone_to_without_it(screen: Screen) -> None:
    async with screen.run_test(size=(80, 24)) as pilot:
        screen.feeder.open()
        screen.feeder.numbers(1, 40)
        await screen.flush()
        await pilot.press("slash", *"line", "space", "3", "enter", "escape")
        await screen.settle()
        assert len(screen.tail.rows) == 40
        await pilot.press("N", "N")
        assert screen.tail.line is not None
        assert screen.tail.line.seq == 38
        await pilot.press("n")
        assert screen.tail.line.seq == 39


async def test_a_muted_stream_is_neither_shown_nor_counted(screen: Screen) -> None:
    async with screen.run_test(size=(80, 24)) as pilot:
        await both(screen)
        await pilot.press("full_stop")
        assert isinstance(screen.screen, ActionsScreen)
        await pilot.press("m")
        await screen.settle()
        await screen.flush()
        assert screen.tail.rows == []
        assert "muted" in screen.text_of(".heading")
        screen.feeder.post([at(6, 30)])
        await screen.flush()
        assert screen.view.rings["s1", CI].unread == 0
        assert screen.query_one(Table).rows[0].cells[-2].text == "muted"
        await pilot.press("full_stop", "m")
        await screen.settle()
        await screen.flush()
        assert [one.seq for one in screen.tail.rows] == [1, 2, 3, 4, 5, 6]


async def tick(screen: Screen) -> None:
    screen.view.now += 1
    screen.view.touch("clock")
    await screen.flush()


async def test_a_stream_has_bars_of_its_last_seconds_and_a_silent_one_has_none(
    screen: Screen,
) -> None:
    async with screen.run_test(size=(160, 24)):
        screen.feeder.open()
        screen.feeder.numbers(1, 3)
        screen.feeder.numbers(1, 3, OTHER)
        await tick(screen)
        for last in (5, 19, 19, 21):
            seq = screen.view.rings["s1", CI].lines[-1].seq
            screen.feeder.numbers(seq + 1, last)
            await tick(screen)
        table = screen.query_one(Table)
        assert [row.cells[1].text for row in table.rows] == ["▂█▁▂", ""]
        assert [row.cells[-1].text for row in table.rows] == ["2/s", "0/s"]
        for _ in range(30):
            await tick(screen)
        assert [row.cells[1].text for row in table.rows] == ["", ""]


async def test_what_is_above_is_hidden_on_this_screen_and_shown_again(screen: Screen) -> None:
    async with screen.run_test(size=(80, 24)) as pilot:
        screen.feeder.open()
        screen.feeder.numbers(1, 9)
        await screen.flush()
        await pilot.press("ctrl+l")
        await screen.settle()
        assert screen.tail.rows == []
        assert "what was above is hidden" in screen.text_of(".standing")
        screen.feeder.numbers(10, 12)
        await screen.flush()
        assert [row.seq for row in screen.tail.rows] == [10, 11, 12]
        assert screen.sent == [], "nothing is asked for, and nothing is recorded"
        await pilot.press("up")
        await screen.settle()
        await pilot.press("ctrl+l")
        await screen.settle()
        assert [row.seq for row in screen.tail.rows] == list(range(1, 13))
        assert screen.tail.line is not None
        assert screen.tail.line.seq == 11, "the cursor stays where it was"
        await pilot.press("ctrl+l")
        await screen.settle()
        assert [row.seq for row in screen.tail.rows] == [11, 12], "what is above the cursor went"


async def test_many_new_lines_are_not_counted_but_their_rate_is(screen: Screen) -> None:
    async with screen.run_test(size=(160, 24)):
        screen.feeder.open()
        screen.feeder.numbers(1, 3)
        screen.feeder.numbers(1, 3, OTHER)
        screen.view.touch("clock")
        await screen.flush()
        screen.feeder.post([at(4, 3, "the build failed")], OTHER)
        screen.view.rings["s1", OTHER].unread = 9_500
        screen.feeder.numbers(5, 4_106, OTHER)
        screen.view.now += 1
        screen.view.touch("clock")
        await screen.flush()
        cells = [cell.text for cell in screen.query_one(Table).rows[1].cells]
        assert cells[-2:] == ["9k+ new", "4,103/s"]


async def test_new_failures_are_counted(screen: Screen) -> None:
    async with screen.run_test(size=(160, 24)):
        screen.feeder.open()
        screen.feeder.numbers(1, 3)
        screen.feeder.post([line(1, "fine"), line(2, "2 errors"), line(3, "no errors")], OTHER)
        await screen.flush()
        await screen.flush()
        cells = [cell.text for cell in screen.query_one(Table).rows[1].cells]
        assert cells[-3:-1] == ["✗ 1", "3 new"]


async def test_long_lines_wrap_and_the_cursor_stays_in_sight(screen: Screen) -> None:
    async with screen.run_test(size=(80, 24)) as pilot:
        screen.feeder.open()
        screen.feeder.post(line(seq, f"{seq} " + "x" * 130) for seq in range(1, 31))
        await screen.flush()
        await pilot.press("y")
        await screen.settle()
        shown = [row for row in screen.on_screen() if row]
        assert shown[-1].endswith("x")
        assert "".join(shown[-2:]) == "30 " + "x" * 130
        await pilot.press("home")
        await screen.settle()
        shown = screen.on_screen()
        assert "".join(shown[:2]) == "1 " + "x" * 130
        for _ in range(9):
            await pilot.press("down")
        await screen.settle()
        assert screen.tail.line is not None
        assert screen.tail.line.seq == 10
        texts = [screen.tail.render_line(y).text for y in range(screen.tail.size.height)]
        assert any(text.startswith("▌") and " 10 x" in text for text in texts)
        await pilot.press("y")
        await screen.settle()
        assert screen.tail.line.seq == 10


async def test_a_time_that_is_here_is_gone_to(screen: Screen) -> None:
    async with screen.run_test(size=(80, 24)) as pilot:
        screen.feeder.open()
        screen.feeder.post(at(seq, seq) for seq in range(1, 41))
        await screen.flush()
        await pilot.press("w")
        await pilot.pause()
        assert isinstance(screen.screen, MomentScreen)
        screen.screen.query_one(Input).value = "2026-11-18T08:26:12+00:00"
        await pilot.press("enter")
        await screen.settle()
        assert screen.tail.line is not None
        assert screen.tail.line.seq == 13
        assert screen.sent == []


async def test_a_time_that_is_not_here_is_read_and_read_on_from(screen: Screen) -> None:
    async with screen.run_test(size=(80, 24)) as pilot:
        screen.feeder.open()
        screen.feeder.numbers(5000, 5150)
        await screen.flush()
        await pilot.press("w")
        await pilot.pause()
        screen.screen.query_one(Input).value = "2026-11-18T08:00:00+00:00"
        await pilot.press("enter")
        await screen.settle()
        asked = screen.sent[-1]
        assert isinstance(asked, StreamRead)
        assert (asked.at, asked.before, asked.after) == ("2026-11-18T08:00:00.000000Z", None, None)
        early = [Line(seq, "2026-11-18T07:00:00Z", "keep", f"line {seq}") for seq in range(1, 400)]
        screen.answer(early[100:200])
        await screen.flush()
        assert screen.tail.line is not None
        assert screen.tail.line.seq == 200
        asked = screen.sent[-1]
        assert isinstance(asked, StreamRead)
        assert (asked.after, asked.at) == (200, "2026-11-18T07:00:00Z")
        screen.answer(early[200:399])
        await screen.flush()
        assert [one.seq for one in screen.tail.rows][:2] == [101, 102]
        assert screen.tail.line.seq == 200
        await pilot.press("end")
        await screen.settle()
        assert [one.seq for one in screen.tail.rows] == list(range(5000, 5151))


async def test_pages_come_as_one_scrolls_up_and_go_when_it_follows(screen: Screen) -> None:
    async with screen.run_test(size=(80, 24)) as pilot:
        screen.feeder.open()
        screen.feeder.numbers(1001, 1150)
        await screen.flush()
        first = 1001
        await pilot.press("home")
        for _ in range(3):
            asked = screen.sent[-1]
            assert isinstance(asked, StreamRead)
            assert asked.before == first
            before = screen.on_screen()
            first -= 200
            screen.answer([line(seq) for seq in range(first, first + 200)])
            await screen.flush()
            assert screen.on_screen() == before
            await pilot.press("home")
            await screen.settle()
        assert [one.seq for one in screen.tail.rows] == list(range(401, 1151))
        await pilot.press("end")
        await screen.settle()
        assert [one.seq for one in screen.tail.rows] == list(range(1001, 1151))
        assert screen.tail.lines.count == 150


async def test_what_cannot_be_read_is_told(screen: Screen) -> None:
    async with screen.run_test(size=(80, 24)) as pilot:
        screen.feeder.open()
        screen.feeder.numbers(301, 420)
        await screen.flush()
        await pilot.press("home")
        screen.answer([])
        await screen.flush()
        await pilot.press("o")
        await screen.flush()
        said = [str(one.message) for one in screen._notifications]
        assert said == ["No older lines are in the records."]


async def test_selected_text_is_copied_and_lines_to_their_end_whole(screen: Screen) -> None:
    async with screen.run_test(size=(80, 24)) as pilot:
        screen.feeder.open()
        long = "start " + "y" * 300 + " end"
        screen.feeder.post([line(1, "one two three"), line(2, long), line(3, "last of all")])
        await screen.flush()
        screen.screen.selections = {screen.tail: Selection(Offset(16, 0), Offset(19, 0))}
        await screen.settle()
        assert screen.screen.get_selected_text() == "two"
        assert not screen.tail.lines.is_following
        screen.screen.selections = {screen.tail: Selection(Offset(16, 0), Offset(16, 2))}
        await screen.settle()
        text = screen.screen.get_selected_text() or ""
        lines = text.split("\n")
        assert lines[0] == "two three"
        assert lines[1].endswith(long)
        assert lines[2].endswith("last")
        screen.screen.clear_selection()
        await pilot.press("up", "c")
        await screen.workers.wait_for_complete()
        assert screen.clipboard == long


async def test_a_drag_selects_in_the_tail(screen: Screen) -> None:
    async with screen.run_test(size=(80, 24)) as pilot:
        screen.feeder.open()
        screen.feeder.post([line(1, "one two three"), line(2, "four five")])
        await screen.flush()
        await pilot.mouse_down(screen.tail, offset=(12, 0))
        await pilot.hover(screen.tail, offset=(16, 0))
        await pilot.hover(screen.tail, offset=(19, 0))
        await pilot.mouse_up(screen.tail, offset=(19, 0))
        await screen.settle()
        assert screen.screen.get_selected_text() == "one two"
        screen.feeder.numbers(3, 60)
        await screen.flush()
        assert screen.screen.get_selected_text() == "one two"


@pytest.mark.parametrize("marks", [["m", "right_square_bracket", "m"], ["m"], []])
async def test_streams_of_a_session_that_ends_take_nothing_with_them(marks: list[str]) -> None:
    async with running(world(), size=(120, 36)) as rig:
        for name in ("ci-watch@ci-watcher", "builds@ci-watcher"):
            rig.feed.happen(*posts(("s1", name), lines(3)))
        await rig.press("3", *marks)
        for one in list(rig.app.view.state.sessions.values()):
            rig.feed.happen(ev.SessionClosed(session_id=one.id, session=one))
        await rig.settle()
        assert rig.app.view.state.streams == {}
        rig.feed.happen(ev.SessionOpened(session_id="s9", session=session("s9", "later")))
        rig.feed.happen(*posts(("s9", "late@ci-watcher"), lines(3)))
        await rig.settle()
        assert "late@ci-watcher" in rig.text
