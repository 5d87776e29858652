"""The tower over records: every moment is shown, nothing can be changed, no fault ends it."""

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from textual.pilot import Pilot

from tapui import times
from tapui.records import register
from tapui.replay.feed import READ_ONLY, ReplayFeed
from tapui.tower.app.replay_app import ReplayApp
from tapui.tower.requests.request_detail import RequestDetail
from tapui.tower.textual.dialogs import moment_meant
from tapui.tower.textual.sheet import Sheet
from tapui.wire.message import Error
from tapui.wire.tower import (
    CallCancel,
    DetailRead,
    GatewayStop,
    SessionMode,
    StreamLines,
    StreamRead,
    TurnsList,
    TurnsRead,
)
from tests.index import played
from tests.records.turns import Writer, opened
from tests.replay.test_timeline import TURNS, break_middle, forge, play
from tests.rig.waiting import until_async
from tests.tower.running import screen_text

SIZE = (120, 36)


@dataclass
class Replayed:
    app: ReplayApp
    feed: ReplayFeed
    pilot: Pilot[str]

    async def until(self, condition: Callable[[], object]) -> None:
        """Wait until something is so; what is on the screen is told where it does not come."""
        await until_async(condition, what=lambda: f"{self.text}\n{self.notices}")

    async def at(self, number: int) -> None:
        await self.until(lambda: self.feed.position.number == number)
        await self.until(lambda: self.app.view.seq == number)
        self.app.paint()
        await self.pilot.pause()

    async def settled(self) -> None:
        """All was read, and the end is shown."""
        await self.until(lambda: self.feed.position.number is not None)
        await self.at(self.feed.position.total)
        await self.until(lambda: "REPLAY" in self.text)

    @property
    def text(self) -> str:
        return screen_text(self.app)

    @property
    def notices(self) -> list[str]:
        return [str(one.message) for one in self.app._notifications]


@asynccontextmanager
async def replayed(
    state: Path, size: tuple[int, int] = SIZE, session: str = "s1", **wiring: object
) -> AsyncIterator[Replayed]:
    feed = ReplayFeed(register.folders(state, session), state, f"session {session}")
    app = ReplayApp(feed, **wiring)
    try:
        async with app.run_test(size=size) as pilot:
            yield Replayed(app, feed, pilot)
    finally:
        await feed.stop(5.0)


@pytest.fixture
def journal(state: Path) -> Writer:
    with Writer(state) as writer:
        play(writer)
    return writer


@pytest.mark.usefixtures("journal")
async def test_changes_say_why_there_are_none(state: Path) -> None:
    async with replayed(state) as rig:
        await rig.settled()
        await rig.pilot.press("7")
        await rig.until(lambda: "A replay has no folder that could be compared" in rig.text)
        assert rig.app.changes.read_of("s1").asked_at is None, "nothing is asked of the records"


async def test_what_waited_then_is_shown_without_the_keys_that_answer(state: Path) -> None:
    asked, _decided = played.permission("a1", "rm -rf build")
    with Writer(state) as writer:
        play(writer)
        writer.turn(asked)
        writer.turn(opened("s1"))
    async with replayed(state, (160, 45)) as rig:
        await rig.settled()
        assert "withdrawn: tapui ended" in rig.text
        await rig.pilot.press("<")
        await rig.at(rig.feed.position.total - 1)
        assert "rm -rf build" in rig.text
        assert "a answers" not in rig.text, "neither in the band nor in the session's detail"
        await rig.pilot.press("a")
        assert len(rig.app.screen_stack) == 1
        rig.app.push_screen(Sheet(RequestDetail("a1")))
        await rig.until(lambda: "nothing is answered here" in rig.text)
        await rig.pilot.press("d", "enter")
        for answer in ("deny", "A letter, then Enter", "waiting for the gateway"):
            assert answer not in rig.text


@pytest.mark.usefixtures("journal")
async def test_events_and_turns_are_gone_through(state: Path) -> None:
    async with replayed(state) as rig:
        await rig.settled()
        total = rig.feed.position.total
        assert "REPLAY" in rig.text
        assert f"event {total} of {total}" in rig.text
        assert f"turn {TURNS} of {TURNS}" in rig.text
        await rig.pilot.press("<")
        await rig.at(total - 1)
        await rig.pilot.press("<", "<")
        await rig.at(total - 3)
        await rig.pilot.press(">")
        await rig.at(total - 2)
        assert f"event {total - 2} of {total}" in rig.text
        await rig.pilot.press("{", "{")
        await rig.until(lambda: rig.feed.position.turn == TURNS - 1)
        await rig.at(rig.feed.position.number or -1)
        current = rig.app.view.state.turns["s1"].current()
        assert current is not None
        assert (current.head.prompt, current.steps) == (f"do {TURNS - 2}", [])
        await rig.pilot.press("}", "}", "}")
        await rig.at(total)
        for _ in range(TURNS + 1):
            await rig.pilot.press("{")
        await rig.at(0)
        assert rig.app.view.state.sessions == {}
        await rig.pilot.press("<")
        await rig.at(0)


@pytest.mark.usefixtures("journal")
async def test_each_step_shows_the_state_of_that_moment(state: Path) -> None:
    async with replayed(state) as rig:
        await rig.settled()
        timeline = rig.feed._timeline
        assert timeline is not None
        for number in range(timeline.number - 1, timeline.number - 12, -1):
            await rig.pilot.press("<")
            await rig.at(number)
            assert rig.app.view.state.snapshot() == timeline.at(number).state.snapshot()
        for number in range(timeline.number - 10, timeline.number + 1):
            await rig.pilot.press(">")
            await rig.at(number)
            assert rig.app.view.state.snapshot() == timeline.at(number).state.snapshot()


async def test_a_time_is_gone_to_and_the_clock_is_that_of_then(
    state: Path, journal: Writer
) -> None:
    async with replayed(state) as rig:
        await rig.settled()
        rig.feed.go_to(moment_of(journal, 9))
        await rig.at(9)
        assert rig.app.view.now == pytest.approx(moment_of(journal, 9))
        await rig.pilot.press("w")
        await rig.pilot.press(*"soon", "enter")
        await rig.pilot.pause()
        assert "Not a time" in rig.text
        await rig.pilot.press(*["backspace"] * 4, *"+1m", "enter")
        await rig.at(rig.feed.position.total)


def moment_of(journal: Writer, seq: int) -> float:
    then = times.epoch(journal.entries[seq].ts)
    assert then is not None
    return then


@pytest.mark.usefixtures("journal")
async def test_it_plays_to_the_end_and_stops_on_a_key(state: Path) -> None:
    async with replayed(state) as rig:
        await rig.settled()
        total = rig.feed.position.total
        await rig.pilot.press(*["{"] * (TURNS + 1))
        await rig.at(0)
        await rig.pilot.press(")", ")", "p")
        await rig.at(total)
        await rig.until(lambda: not rig.feed.position.is_playing)
        assert rig.feed.position.speed == 5
        await rig.pilot.press("(")
        assert rig.feed.position.speed == 2
        await rig.pilot.press("p")
        await rig.pilot.pause()
        await rig.pilot.press("<")
        await rig.at(total - 1)
        assert not rig.feed.position.is_playing


@pytest.mark.usefixtures("journal")
async def test_nothing_can_be_changed(state: Path) -> None:
    feed = ReplayFeed(register.folders(state, "s1"), state, "session s1")
    items = feed.items()
    for message in (CallCancel("c1"), GatewayStop(), SessionMode("s1", "plan")):
        feed.send(message)
        async for item in items:
            if isinstance(item, Error):
                assert item.message == READ_ONLY
                assert item.reply_to == message.__struct_config__.tag
                break
    await feed.stop(5.0)
    await items.aclose()


@pytest.mark.usefixtures("journal")
async def test_what_a_tower_reads_is_that_of_the_moment(state: Path) -> None:
    async with replayed(state) as rig:
        await rig.settled()
        await rig.pilot.press("{", "{")
        await rig.until(lambda: rig.feed.position.turn == TURNS - 1)
        told: list[object] = []
        rig.app.view.apply = told.append  # type: ignore[method-assign,assignment]
        rig.app.send(StreamRead("r1", "log@ci", "s1", 3))
        rig.app.send(TurnsRead("r2", "s1", last=2))
        rig.app.send(DetailRead("r3", "call", "c1"))
        await rig.until(lambda: len([one for one in told if hasattr(one, "id")]) == 3)
        (lines,) = [one for one in told if isinstance(one, StreamLines)]
        assert [line.event for line in lines.lines] == [f"line {TURNS - 3}"]
        (turns,) = [one for one in told if isinstance(one, TurnsList)]
        assert [turn.head.number for turn in turns.turns] == [TURNS - 2, TURNS - 1]
        assert turns.turns[0].steps
        assert not turns.turns[1].steps


@pytest.mark.usefixtures("journal")
async def test_its_keys_are_in_the_help_and_those_of_the_person_work(state: Path) -> None:
    async with replayed(state, (120, 84), keys={"event-back": "A"}) as rig:
        await rig.settled()
        total = rig.feed.position.total
        await rig.pilot.press("A")
        await rig.at(total - 1)
        await rig.pilot.press("question_mark", "end")
        await rig.until(lambda: "A           an event back" in rig.text)
        assert ">           an event on" in rig.text


@pytest.mark.usefixtures("journal")
async def test_records_that_are_deleted_meanwhile_are_told_and_the_screen_stays(
    state: Path,
) -> None:
    async with replayed(state) as rig:
        await rig.settled()
        (folder,) = register.folders(state, "s1")
        total = rig.feed.position.total
        for path in folder.glob("*.jsonl"):
            path.unlink()
        await rig.pilot.press("<")
        await rig.until(
            lambda: "The records cannot be read: the records were deleted" in rig.notices
        )
        assert rig.feed.position.number == total
        await rig.pilot.press(">", "p", "{")
        await rig.pilot.pause()
        assert "label" in rig.text


@pytest.mark.usefixtures("journal")
@pytest.mark.parametrize("harm", [break_middle, forge])
async def test_damage_is_told_and_passed_over(state: Path, harm: Callable[[Path], None]) -> None:
    (folder,) = register.folders(state, "s1")
    harm(folder)
    async with replayed(state, (60, 20)) as rig:
        await rig.settled()
        await rig.until(lambda: "Damaged lines that were passed over: 2." in rig.notices)
        total = rig.feed.position.total
        for _ in range(total):
            await rig.pilot.press("<")
        await rig.at(0)
        assert "\x1b" not in rig.text


async def test_the_journal_of_a_newer_version_is_told(state: Path) -> None:
    with Writer(state) as writer:
        play(writer)
        writer.turn(played.idle())
    (folder,) = register.folders(state, "s1")
    with (folder / "sessions.jsonl").open("ab") as file:
        file.write(b'{"v":9,"run":"r2","seq":1,"ts":"2027","kind":"session.dreamt"}\n')
    async with replayed(state) as rig:
        await rig.until(lambda: "Events of a newer tapui that are not shown: 1." in rig.notices)


@pytest.mark.parametrize("width", [20, 40, 80, 200])
@pytest.mark.usefixtures("journal")
async def test_the_bar_has_one_line_at_any_width(state: Path, width: int) -> None:
    async with replayed(state, (width, 12)) as rig:
        await rig.settled()
        (line,) = [one for one in rig.text.splitlines() if "REPLAY" in one]
        if width >= 40:
            assert f"{rig.feed.position.total} of {rig.feed.position.total}" in line


def test_times_as_people_write_them() -> None:
    now = moment_meant("2026-11-20T20:15:00", 0.0)
    assert now is not None
    assert moment_meant("+5m", now) == now + 300
    assert moment_meant("- 2h", now) == now - 7200
    assert moment_meant("2026-11-20 20:15", now) == now
    assert moment_meant("20:16:01", now) == pytest.approx(now + 61.999999)
    assert moment_meant("9:05", now) is not None
    assert times.epoch("9999-12-31T23:59:59Z") is None  # which has no local date everywhere
    for wrong in ("", "later", "25:00", "+9999999d", "9999-12-31", "1:2:3:4", "0001-01-01"):
        assert moment_meant(wrong, now) is None
