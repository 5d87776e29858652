"""Find: what is typed is looked for beside the screen, and what is found is shown and opened."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager

import pytest
from msgspec import Raw
from textual.widgets import Input

from tapui.projection.state import State
from tapui.tower.app.services import FinderFault
from tapui.tower.finding.find_sheet import FindScreen, RecordDetail
from tapui.tower.finding.finder_thread import MOST
from tapui.tower.table.table import Table
from tapui.wire import events as ev
from tests.rig.waiting import until_async
from tests.tower.finders import ScriptedFinder, found
from tests.tower.running import Running, on_top, running
from tests.tower.scripted import at, world
from tests.tower.test_hostile_text import HOSTILE, check

RECORDS = (
    found("3", "Why does pairing flake?", marks=((9, 16),)),
    found("2", "pairing FAILED test_pair", kind="result", title="bash pytest -x", ago=60),
    found(
        "1", "pair it", kind="line", title="log@ci", session_id=None, session="", turn=None, ago=90
    ),
)


class Finds:
    """The sheet, and what its thread does."""

    def __init__(self, rig: Running, finder: ScriptedFinder) -> None:
        self.rig = rig
        self.finder = finder

    @property
    def screen(self) -> FindScreen:
        (screen,) = (one for one in self.rig.app.screen_stack if isinstance(one, FindScreen))
        return screen

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait until something is so; what is on the screen is told where it does not come."""
        await until_async(condition, what=lambda: f"on the screen:\n{self.rig.text}")
        await self.rig.settle()

    async def type(self, text: str) -> None:
        """Type a text, and wait until all of it was looked for."""
        await self.rig.press(*("space" if char == " " else char for char in text))
        await self.looked()

    async def looked(self) -> None:
        """Wait until all was looked for that is typed."""
        typed = self.screen.query_one(Input).value.strip()
        await self.until(lambda: self.screen.finding.is_done)
        await self.until(lambda: self.screen.finding.text == typed)
        await self.until(lambda: self.screen.finding.is_done)


@asynccontextmanager
async def finding(
    *records: object,
    size: tuple[int, int] = (120, 36),
    state: State | None = None,
    **wiring: object,
) -> AsyncIterator[Finds]:
    finder = ScriptedFinder(*(records or RECORDS))  # type: ignore[arg-type]
    async with running(state or world(), size=size, finder=finder, **wiring) as rig:
        finds = Finds(rig, finder)
        await rig.press("f")
        thread = finds.screen.thread
        yield finds
        finder.go_on()
    thread.join()
    assert finder.closed.is_set()


async def test_it_finds_as_one_types_and_says_the_syntax_before() -> None:
    async with finding() as finds:
        assert "changed:FILE" in finds.rig.text
        await finds.type("pair")
        assert finds.finder.looked_for[-1] == "pair"
        rows = finds.rig.text
        assert "Why does pairing flake?" in rows
        assert "pairing FAILED test_pair" in rows
        assert "3 found" in rows
        assert "changed:FILE" not in rows
        await finds.type("ing")
        assert "2 found" in finds.rig.text
        await finds.type(" nowhere")
        assert "Nothing was found." in finds.rig.text


async def test_what_was_looked_for_stands_out() -> None:
    async with finding() as finds:
        await finds.type("pairing")
        table = finds.screen.query_one(Table)
        emphasised = [
            segment.text
            for y in range(1, 4)
            for segment in table.render_line(y)
            if segment.style is not None and segment.style.underline
        ]
        assert emphasised == ["pairing"]


async def test_a_search_never_blocks_the_screen_and_the_newest_text_wins() -> None:
    async with finding() as finds:
        finds.finder.hold()
        await finds.rig.press("p")
        assert await asyncio.to_thread(finds.finder.held.wait, 10)
        await finds.rig.press("a")  # typed, painted, while the first search hangs
        assert "/ pa" in finds.rig.text
        await finds.until(lambda: finds.finder.looked_for[-1] == "pa")
        await finds.until(lambda: finds.screen.finding.is_done)
        assert finds.finder.interrupts > 0
        assert finds.screen.finding.text == "pa"
        assert "3 found" in finds.rig.text


async def test_a_search_that_hangs_can_be_left() -> None:
    async with finding() as finds:
        finds.finder.hold()
        await finds.rig.press("p")
        assert await asyncio.to_thread(finds.finder.held.wait, 10)
        await finds.rig.press("escape")
        assert len(finds.rig.app.screen_stack) == 1
        assert await asyncio.to_thread(finds.finder.closed.wait, 10)


async def test_the_first_hits_are_shown_before_all_are_found() -> None:
    async with finding() as finds:
        finds.finder.hold()
        await finds.rig.press("p")
        await finds.until(lambda: "looking …" in finds.rig.text)
        assert "Why does pairing flake?" in finds.rig.text
        assert "test_pair" not in finds.rig.text
        finds.finder.go_on()
        await finds.until(lambda: "3 found" in finds.rig.text)


async def test_progress_is_shown_until_all_is_indexed_and_more_is_found_then() -> None:
    async with finding() as finds:
        finds.finder.share = 0.4
        await finds.type("pair")
        assert "indexing 40 %" in finds.rig.text
        finds.finder.records.append(found("0", "an old pair", ago=9e6))
        finds.finder.share = 1.0
        await finds.until(lambda: "4 found" in finds.rig.text)
        assert "an old pair" in finds.rig.text


async def test_damaged_lines_are_told_beside_what_was_found() -> None:
    async with finding() as finds:
        finds.finder.damaged_lines = 2
        await finds.type("pair")
        await finds.until(lambda: "3 found, 2 damaged lines" in finds.rig.text)


async def test_what_was_recorded_just_now_is_found_while_the_index_catches_up() -> None:
    async with finding(*RECORDS[:1]) as finds:
        finds.finder.catches_up = True
        await finds.type("pair")
        assert "1 found" in finds.rig.text
        finds.finder.records.append(RECORDS[1])
        finds.finder.catches_up = False
        await finds.until(lambda: "2 found" in finds.rig.text)


async def test_a_fault_is_told_in_words_and_passes() -> None:
    async with finding() as finds:
        finds.finder.fault = FinderFault("The index is made again.", will_pass=True)
        await finds.type("pair")
        assert "The index is made again." in finds.rig.text
        assert "Nothing was found" not in finds.rig.text
        finds.finder.fault = None
        await finds.until(lambda: "3 found" in finds.rig.text)


@pytest.mark.expects_error_log("finding failed")
async def test_a_finder_that_cannot_be_made_is_told() -> None:
    def refuses() -> ScriptedFinder:
        raise MemoryError

    async with running(world(), size=(80, 24), finder=refuses) as rig:
        await rig.press("f")
        finds = Finds(rig, ScriptedFinder())
        await finds.until(lambda: "the log says why" in rig.text)
        await rig.press("p", "escape")
        assert len(rig.app.screen_stack) == 1


async def test_the_list_is_gone_through_and_a_row_copied() -> None:
    async with finding() as finds:
        await finds.type("pair")
        await finds.rig.press("down")
        table = finds.screen.query_one(Table)
        assert (table.has_focus, table.selected) == (True, RECORDS[1].key)
        await finds.rig.press("c")
        assert any("The row" in one for one in finds.rig.notices)
        await finds.rig.press("k", "up")
        assert not table.has_focus
        await finds.rig.press("down", "f")
        assert not table.has_focus
        assert "/ pair" in finds.rig.text


async def test_the_newest_row_is_selected_until_the_person_goes_to_another() -> None:
    async with finding() as finds:
        await finds.type("flake")
        await finds.rig.press(*["backspace"] * 5)
        finds.finder.records.append(found("9", "a newer pair", ago=-5))
        await finds.type("pair")
        table = finds.screen.query_one(Table)
        assert table.selected == "9"
        await finds.rig.press("down")
        assert table.selected == "3"
        finds.finder.records.append(found("99", "the newest pair", ago=-9))
        finds.screen.thread.look_for("pair")
        await finds.until(lambda: len(table.rows) == 5)
        assert table.selected == "3"


async def test_more_than_can_be_shown_is_said() -> None:
    many = [found(f"{number:03}", f"pair {number}", ago=number) for number in range(MOST + 20)]
    async with finding(*many) as finds:
        await finds.type("pair")
        assert f"the newest {MOST}" in finds.rig.text
        assert len(finds.screen.query_one(Table).rows) == MOST


async def test_enter_opens_the_record_of_another_session_and_what_opens_its_session() -> None:
    async with finding() as finds:
        finds.finder.texts["3"] = "event: user.message\ncontent: Why does pairing flake?"
        await finds.type("pair")
        await finds.rig.press("enter")
        assert isinstance(on_top(finds.rig.app), RecordDetail)
        await finds.until(lambda: "content: Why does pairing flake?" in finds.rig.text)
        assert "tapui replay s1" in finds.rig.text
        assert "1 of what looked like secrets" in finds.rig.text
        await finds.rig.press("right")
        await finds.until(lambda: "deleted since it was found" in finds.rig.text)
        await finds.rig.press("escape")
        assert finds.rig.app.screen is finds.screen


async def test_enter_goes_to_the_turn_of_a_session_that_is_here() -> None:
    here = found("3", "Why does pairing flake?", ago=-3)
    async with finding(here) as finds:
        happened = [ev.SessionHappened("s1", "user.message", Raw(b'{"content":"Why?"}'))]
        finds.rig.feed.happen(*happened, ts=at(-1))
        await finds.type("pair")
        await finds.rig.press("enter")
        app = finds.rig.app
        assert len(app.screen_stack) == 1
        assert app.main.current_kind.id == "turns"
        assert app.view.chosen_session == "s1"


async def test_the_sheet_begins_with_what_was_looked_for_last() -> None:
    async with finding() as finds:
        await finds.type("pair")
        await finds.rig.press("down", "escape")
        thread = finds.rig.app.screen_stack
        assert len(thread) == 1
        await finds.rig.press("f")
        await finds.until(lambda: "3 found" in finds.rig.text)
        assert finds.screen.query_one(Table).selected == RECORDS[1].key
        again = finds.screen.thread
        await finds.rig.press(*"test")  # what was there is selected: typing replaces it
        await finds.until(lambda: "/ test" in finds.rig.text and "1 found" in finds.rig.text)
    again.join()


async def test_where_nothing_can_be_found_nothing_is_offered() -> None:
    async with running(world()) as rig:
        await rig.press("f")
        assert len(rig.app.screen_stack) == 1


@pytest.mark.parametrize("size", [(20, 5), (80, 24), (200, 50)])
async def test_hostile_text_is_shown_harmlessly(size: tuple[int, int]) -> None:
    bad = found(
        "9", HOSTILE, session=HOSTILE, title=HOSTILE, session_id=HOSTILE, kind="result",
        marks=((0, 5), (9, 20), (40, 90)),
    )  # fmt: skip
    worse = found("8", HOSTILE, kind=HOSTILE, ts=HOSTILE, marks=((5, 2), (1, 1), (7, 10**6)))
    async with finding(bad, worse, size=size) as finds:
        finds.finder.texts = {"9": HOSTILE, "8": HOSTILE}
        await finds.type("e")
        check(finds.rig.app, "found")
        await finds.rig.press("enter")
        await finds.until(lambda: "reading" not in finds.rig.text)
        check(finds.rig.app, "record")
        await finds.rig.press("right")
        check(finds.rig.app, "the next record")
        await finds.rig.press("escape")
        finds.finder.fault = FinderFault(HOSTILE)
        await finds.rig.press("down", "f", "x")
        await finds.until(lambda: finds.screen.finding.problem)
        check(finds.rig.app, "problem")
