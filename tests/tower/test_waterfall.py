"""Where the time of a turn, a run and a goal went: the spans, what is read, what Enter opens."""

from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from tapui.tower.calls.call_detail import CallDetail
from tapui.tower.emitters.emitter_detail import EmitterDetail
from tapui.tower.goals.goal_detail import GoalDetail
from tapui.tower.streams.line_detail import LineDetail
from tapui.tower.turns.turn_detail import StepDetail, TurnDetail
from tapui.tower.turns.waterfall import SpanDetail, Waterfall
from tapui.wire import events as ev
from tapui.wire.errors import ErrorCode
from tapui.wire.message import Error
from tapui.wire.subjects import Span
from tapui.wire.tower import SpansList, SpansRead
from tests.records.turns import Writer, opened, stamp
from tests.replay.test_replay_app import Replayed, replayed
from tests.telemetry.spans import span as recorded_span
from tests.tower.emitters_world import watched
from tests.tower.goals_world import goals_world
from tests.tower.running import Running, on_top, running
from tests.tower.scripted import at, call, lines, posts
from tests.tower.told import turns_world

HOSTILE = "\x1b]0;owned\x07\u202e[/]\nsecond"
TRACE, OTHER = "a" * 32, "b" * 32


def span(id_: int, name: str, ago: float, took: float, **fields: Any) -> Span:
    """Return a span that began so many seconds ago and took so many."""
    given: dict[str, Any] = {"trace_id": TRACE, "span_id": f"{id_:016x}"}
    given |= {"started_at": at(ago), "duration": took * 1000}
    return Span(name=name, **(given | fields))  # type: ignore[arg-type]


def of_turn(ago: float = 160) -> list[Span]:
    """Return the spans of the turn that began so long ago."""
    root = f"{1:016x}"
    return [
        span(1, "turn", ago, 160, turn=14),
        span(2, "tool", 158, 0.03, tool="grep", call_id="t1", parent_id=root),
        span(3, "tool", 151, 31, tool="bash", call_id="t3", parent_id=root, status="error",
             code="INTERNAL"),
        span(4, "agent", 140, 60, agent="reviewer", parent_id=root),
        span(5, "tool", 135, 0.02, tool="grep", call_id="i1", parent_id=f"{4:016x}"),
        span(6, "provider", 90, 2, tool=HOSTILE, provider="shop", call_id="gone", parent_id=root),
    ]  # fmt: skip


def table(rig: Running | Replayed) -> Waterfall:
    return rig.app.screen.query_one(Waterfall)


def rows(rig: Running | Replayed) -> list[str]:
    return [" ".join(" ".join(row.texts).split()) for row in table(rig).rows]


async def traced(rig: Running, *spans: Span, is_cut: bool = False) -> SpansRead:
    """Show the spans of what is on top; these are answered."""
    await rig.press("w")
    asked = rig.feed.sent_of(SpansRead)[-1]
    rig.feed.put(SpansList(asked.id, list(spans), is_cut))
    await rig.settle()
    return asked


async def open_turn(rig: Running) -> str:
    """Open the newest turn's sheet; return when it began."""
    await rig.press("2", "home", "full_stop", "o")
    assert isinstance(on_top(rig.app), TurnDetail)
    return rig.app.view.state.turns["s1"].turns[-1].started_at


@pytest.mark.parametrize("size", [(40, 12), (200, 50)], ids=str)
async def test_a_turn_shows_which_span_was_within_which(size: tuple[int, int]) -> None:
    async with running(turns_world(), size=size) as rig:
        start = await open_turn(rig)
        turn, *within = of_turn()
        asked = await traced(rig, replace(turn, started_at=start), *within)
        assert (asked.session_id, asked.until, asked.trace_id) == ("s1", None, None)
        assert asked.since < start
        found = rows(rig)
        assert found[0] == "6 spans, 1 error"
        assert [one.indent for one in table(rig).rows] == [0, 0, 2, 2, 2, 4, 2]
        assert "turn 14" in found[1]
        assert "failed internal" in found[3]
        assert "✗" in rig.text
        assert "\x1b" not in rig.text
        assert "\u202e" not in rig.text
        await rig.press("w")
        assert "began" in rig.text
        assert len(rig.feed.sent_of(SpansRead)) == 1


async def test_until_the_turn_ends_what_began_in_it_is_shown() -> None:
    async with running(turns_world(), size=(120, 36)) as rig:
        await open_turn(rig)
        before = span(8, "tool", 10_000, 1, tool="old", trace_id=OTHER)
        emitter = span(9, "emitter", 100, 1, emitter="watch", run=1, trace_id=OTHER)
        await traced(rig, *of_turn()[1:], before, emitter)
        assert not [one for one in rows(rig) if "old" in one or "watch" in one]
        late = span(20, "tool", 1, 0.5, tool="view", parent_id=f"{1:016x}")
        rig.feed.happen(ev.SpanEnded(late, "s1"), ev.SpanEnded(late, "s2"))
        await rig.settle()
        assert "tool view" in rows(rig)[-1]
        assert len(rig.feed.sent_of(SpansRead)) == 1


async def test_what_cannot_be_read_is_said() -> None:
    async with running(turns_world(), size=(120, 36)) as rig:
        await open_turn(rig)
        await rig.press("w")
        assert rows(rig) == ["0 spans, being read …"]
        asked = rig.feed.sent_of(SpansRead)[-1]
        fault = Error(ErrorCode.INTERNAL, "the disk is gone", "spans.read", id=asked.id)
        rig.feed.put(fault)
        await rig.settle()
        assert rows(rig) == ["0 spans, cannot be read: the disk is gone"]
        assert rig.notices == []


async def test_that_there_are_more_is_said() -> None:
    async with running(turns_world(), size=(120, 36)) as rig:
        await open_turn(rig)
        await traced(rig, span(2, "tool", 100, 1, tool="x", dropped=7), is_cut=True)
        assert rows(rig)[0] == (
            "1 span, 7 more were not recorded, the newest alone: there are too many"
        )


async def test_enter_opens_the_step_or_the_span() -> None:
    async with running(turns_world(), size=(120, 36)) as rig:
        await open_turn(rig)
        await traced(rig, *of_turn())
        for text, kind in (
            ("tool bash", StepDetail),
            ("at shop", SpanDetail),
            ("turn 14", SpanDetail),
        ):
            row = next(one for one in table(rig).rows if text in one.texts[0])
            table(rig).select(row.key)
            await rig.press("enter")
            assert isinstance(on_top(rig.app), kind), text
            await rig.press("escape")
            assert isinstance(on_top(rig.app), TurnDetail), text


async def test_a_call_that_is_no_step_opens_itself() -> None:
    state = turns_world()
    state.recent_calls["k1"] = call("k1", "deploy", state="done", duration=5.0)
    async with running(state, size=(120, 36)) as rig:
        await open_turn(rig)
        await traced(rig, span(2, "provider", 50, 1, tool="deploy", provider="ci", call_id="k1"))
        table(rig).select(f"{2:016x}")
        await rig.press("enter")
        assert isinstance(on_top(rig.app), CallDetail)


async def test_circles_of_parents_and_missing_ones_are_all_shown() -> None:
    async with running(turns_world(), size=(120, 36)) as rig:
        await open_turn(rig)
        await traced(
            rig,
            span(2, "tool", 50, 1, tool="a", parent_id=f"{3:016x}"),
            span(3, "tool", 49, 1, tool="b", parent_id=f"{2:016x}"),
            span(4, "tool", 48, 1, tool="c", parent_id=f"{4:016x}"),
            span(5, "tool", 47, 1, tool="d", parent_id="f" * 16),
        )
        assert rows(rig)[0] == "4 spans"
        assert len(table(rig).rows) == 5


async def test_an_emitter_shows_its_newest_runs_with_their_turns() -> None:
    async with running(watched(), size=(120, 36)) as rig:
        await rig.press("6")
        pane = rig.pane(6)
        pane.table.select("e2")  # type: ignore[attr-defined]
        await rig.press("enter")
        assert isinstance(on_top(rig.app), EmitterDetail)
        run = span(1, "emitter", 166, 3, emitter="ci", run=12, lines=4)
        route = span(2, "route", 165, 1, emitter="ci", run=12, stream="ci@tap", from_seq=3,
                     to_seq=9, parent_id=f"{1:016x}")  # fmt: skip
        sent = span(3, "dispatch", 163, 1, emitter="ci", parent_id=f"{1:016x}")
        turn = span(4, "turn", 162, 9, turn=3)
        other = span(5, "emitter", 100, 3, emitter="tests", run=1, trace_id=OTHER)
        own = span(6, "tool", 100, 3, tool="x", trace_id="c" * 32)
        await traced(rig, run, route, sent, turn, other, own)
        found = rows(rig)
        assert len(found) == 5
        assert "emitter ci run 12" in " ".join(found)
        assert "lines 3 to 9" in " ".join(found)
        assert "turn 3" in found[1]  # the newest first
        rig.feed.happen(*posts(("s1", "ci@tap"), lines(5)))
        table(rig).select(f"{2:016x}")
        await rig.press("enter")
        assert isinstance(on_top(rig.app), LineDetail)


async def test_a_goal_shows_all_from_its_opening_on() -> None:
    async with running(goals_world(), size=(120, 36)) as rig:
        await rig.press("8", "enter")
        assert isinstance(on_top(rig.app), GoalDetail)
        goal = next(iter(rig.app.view.state.goals.values()))
        asked = await traced(rig, span(1, "turn", 60, 10, turn=6),
                             span(2, "emitter", 40, 1, emitter="ci", trace_id=OTHER))  # fmt: skip
        assert (asked.since, asked.until) == (goal.opened_at, None)
        assert rows(rig)[0] == "2 spans"
        await rig.press("v")
        assert "goalId" in rig.text or '"id"' in rig.text
        await rig.press("w", "w")
        assert "timeline" in rig.text


async def test_a_replay_has_them_up_to_its_moment(tmp_path: Path) -> None:
    state, workspace = tmp_path / "state", tmp_path / "s1"
    workspace.mkdir()
    with Writer(state) as writer:
        writer.turn(opened("s1", workspace))
        began = stamp(2)
        writer.turn(ev.SessionHappened("s1", "user.message", None, None))
        parent = f"{1:016x}"
        for number in (2, 3):
            one = recorded_span(number, tool=f"t{number}", parent_id=parent, started_at=began)
            writer.turn(ev.SpanEnded(one, "s1"))
        writer.turn(ev.SessionHappened("s1", "session.idle", None, None))
        writer.turn(ev.SpanEnded(recorded_span(1, "turn", started_at=began), "s1"))
    async with replayed(state) as rig:
        await rig.settled()
        await rig.pilot.press("2", "home", "full_stop", "o", "w")
        await rig.until(lambda: isinstance(on_top(rig.app), TurnDetail))
        await rig.until(lambda: len(rows(rig)) == 4)
        rig.app.paint()
        assert rows(rig)[0] == "3 spans"
