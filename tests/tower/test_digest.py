"""The digest: what it counts, and that the first key after a while shows it and does no more."""

import pytest

from tapui.projection.state import State
from tapui.projection.turns.session import LiveTurns
from tapui.tower.app.app import TowerApp
from tapui.tower.app.digest import AWAY, DigestScreen, digest, used_now
from tapui.wire import events as ev
from tapui.wire.turns import FileChange, SessionTurns, Turn, Usage
from tests.tower.running import Running, running
from tests.tower.scripted import START, approval, at, session, world
from tests.tower.told import head, step


def told(*turns: Turn, session_id: str = "s1") -> dict[str, LiveTurns]:
    heads = [turn.head for turn in turns[:-1]]
    return {session_id: LiveTurns.of(SessionTurns(session_id, heads, turns[-1]))}


def test_turns_that_ended_meanwhile_are_counted_with_what_they_used_and_changed() -> None:
    turns = [
        Turn(head(1, "before", 5000, 60, usage=Usage(9, 9), files=[FileChange("z")])),
        Turn(head(2, "a", 1200, 300, usage=Usage(10, 1, 0.5), files=[FileChange("x", 1, 2)])),
        Turn(head(3, "b", 800, 60, state="failed", usage=Usage(5, 1))),
        Turn(head(4, "c", 300, None, files=[FileChange("x", 4, 0), FileChange("y")])),
    ]
    found = digest(State(turns=told(*turns)), {}, START - 1000, START)
    assert [(turn.prompt, turn.state) for turn in found.ended] == [("a", "done"), ("b", "failed")]
    assert found.running == 1
    assert found.usage == Usage(15, 2, 0.5)
    assert found.files == [FileChange("x", 5, 2), FileChange("y")]


def test_what_a_turn_had_used_before_is_not_counted() -> None:
    before = State(turns=told(Turn(head(1, "a", 5000, None, usage=Usage(10, 4, 0.25)))))
    turn = Turn(head(1, "a", 5000, 4500, usage=Usage(13, 5, 0.75)))
    state = State(turns=told(turn))
    found = digest(state, {}, START - 1000, START, used_now(before))
    assert found.usage == Usage(3, 1, 0.5)


def test_steps_that_failed_meanwhile_are_counted() -> None:
    steps = [
        step("1.1", state="failed", ago=1500),
        step("1.2", state="failed", ago=500),
        step("1.3", ago=400),
    ]
    turn = Turn(head(1, "a", 2000, None, failed=2), steps)
    assert digest(State(turns=told(turn)), {}, START - 1000, START).failed_steps == 1


def test_the_time_that_something_waited_is_counted_once_where_requests_overlap() -> None:
    asked = [
        approval("a", "mode", {}, created_at=at(2000), state="approved", decided_by="rule “x”"),
        approval("b", "mode", {}, created_at=at(950), state="denied", decided_by="tapui 1"),
        approval("c", "mode", {}, created_at=at(500), state="expired"),
        approval("d", "mode", {}, created_at=at(100)),
        approval("e", "mode", {}, created_at=at(3000), state="approved", decided_by="rule “x”"),
    ]
    decided_at = {"a": at(900), "b": at(850), "c": at(400), "e": at(2500)}
    state = State(approvals={one.id: one for one in asked})
    found = digest(state, decided_at, START - 1000, START)
    assert found.waited == pytest.approx(150 + 100 + 100)
    assert (found.waiting, found.timed_out) == (1, 1)
    assert found.answers == {"rule “x”": 1, "you": 1}


def test_nothing_is_nothing() -> None:
    assert digest(State(), {}, START - 1000, START).is_empty


def busy_world() -> State:
    state = world()
    state.approvals.clear()
    state.turns["s1"] = LiveTurns.of(SessionTurns("s1", [], Turn(head(1, "Fix it", 60, None))))
    return state


async def ended_meanwhile(rig: Running) -> None:
    rig.clock.turn(AWAY + 300)
    rig.feed.happen(ev.SessionHappened("s1", "session.idle"), ts=at(-AWAY))
    await rig.settle()


async def test_the_first_key_after_ten_minutes_shows_it_and_the_next_one_closes_it() -> None:
    async with running(busy_world()) as rig:
        await rig.press("1")
        await ended_meanwhile(rig)
        await rig.press("q")
        assert isinstance(rig.app.screen, DigestScreen)
        assert "While you were away: 15m, since 20:10" in rig.text
        assert "1 turn finished" in rig.text
        assert "“Fix it”" in rig.text
        await rig.press("q")
        assert len(rig.app.screen_stack) == 1
        assert rig.app.is_running
        assert "tapui" in rig.text
        await rig.press("question_mark")
        assert len(rig.app.screen_stack) == 2, "keys act again"


async def test_keys_of_one_read_show_it_close_it_and_act() -> None:
    async with running(busy_world()) as rig:
        await ended_meanwhile(rig)
        await rig.type("5", "5", "5")
        assert len(rig.app.screen_stack) == 1
        assert rig.app.main.current_kind.id == "calls"


@pytest.mark.parametrize("seconds", [AWAY - 1, AWAY + 300])
async def test_a_key_acts_at_once_after_less_time_or_where_nothing_happened(
    seconds: float,
) -> None:
    async with running(State(sessions={"s1": session("s1", "quiet")})) as rig:
        await rig.press("1")
        rig.clock.turn(seconds)
        await rig.press("question_mark")
        assert "Help" in rig.text


async def test_a_click_does_not_lose_it() -> None:
    async with running(busy_world()) as rig:
        await ended_meanwhile(rig)
        await rig.pilot.click("HeaderLine", offset=(70, 0))
        await rig.settle()
        assert isinstance(rig.app, TowerApp)
        await rig.press("x")
        assert isinstance(rig.app.screen, DigestScreen)
