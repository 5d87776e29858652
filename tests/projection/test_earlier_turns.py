"""Turns of before this run: put before the others, each once, within bounds."""

from functools import partial
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import astuple, replace

from tapui.projection.turns.earlier_turns import TAPUI_ENDED, bounded, interrupted, unknown_of
from tapui.projection.turns.turn import LiveStep
from tapui.wire import events as ev
from tapui.wire import limits
from tapui.wire.codec import encode
from tapui.wire.turns import FileChange, Step, Turn, TurnHead, TurnSource, Usage
from tests.projection.test_turns import Day
from tests.records.turns import stamp

HUGE = "\x1b[31m" * 100_000


def turn(number: int, prompt: str, *steps: Step, state: Any = "done", **fields: Any) -> Turn:
    head = TurnHead(
        number, "s1", stamp(number), state, TurnSource("person"), prompt=prompt, **fields
    )
    return Turn(head, list(steps))


def step(at: int, call_id: str | None = None, **fields: Any) -> Step:
    return Step("7.7", "call", fields.pop("state", "done"), stamp(at), call_id=call_id, **fields)


def test_turns_of_before_stand_before_those_of_this_run() -> None:
    day = Day()
    day.seq = 100
    day.happen("user.message", content="now")
    day.start("c9")
    earlier = bounded([turn(1, "one", step(2, "c1"), step(3, "c2")), turn(5, "two")])
    day.tell(ev.TurnsRestored("s1", earlier))
    heads = day.state.turns["s1"].heads()
    told = [(head.number, head.prompt, head.is_history) for head in heads]
    assert told == [(1, "one", True), (2, "two", True), (3, "now", False)]
    first = day.state.turns["s1"].turn(1)
    assert first is not None
    assert [one.id for one in first.steps] == ["1.1", "1.2"]
    assert [one.id for one in day.steps] == ["3.1"]
    day.finish("c9", "failed", error="x")
    assert day.turn.head.failed == 1
    day.happen("user.message", content="next")
    assert day.turn.head.number == 4


def test_a_turn_that_is_known_is_left_out() -> None:
    day = Day()
    day.happen("user.message", content="go")
    day.start("c1")
    known = day.state.turns["s1"]
    at = int(known.turns[0].started_at[-7:-1])
    same_call = turn(at + 99, "other words", step(9, "c1"))
    same_prompt = turn(at + 1, "go")
    another = turn(at + 1, "go on")
    assert unknown_of(known, [same_call, same_prompt, another]) == [another]


def test_a_turn_under_way_goes_on_where_its_host_came_in() -> None:
    day = Day()
    day.seq = 100
    day.happen("session.busy")
    day.start("c9")
    begun = turn(50, "long ago", step(51, "c1"), state="running", failed=1, usage=Usage(5, 5))
    day.tell(ev.TurnsRestored("s1", bounded([turn(1, "one"), begun])))
    heads = day.state.turns["s1"].heads()
    assert [(head.number, head.prompt) for head in heads] == [(1, "one"), (2, "long ago")]
    assert [one.call_id for one in day.steps] == ["c1", "c9"]
    assert (day.turn.head.state, day.turn.head.is_history) == ("running", False)
    assert day.turn.head.usage == Usage(5, 5)
    day.finish("c9")
    day.happen("session.idle")
    assert day.turn.head.state == "done"


def test_a_running_turn_of_before_goes_on_with_what_follows() -> None:
    day = Day()
    day.seq = 100
    day.tell(ev.TurnsRestored("s1", bounded([turn(1, "go", step(2, "c1"), state="running")])))
    day.happen("session.busy")
    day.start("c2")
    assert [one.call_id for one in day.steps] == ["c1", "c2"]
    assert (day.turn.head.prompt, day.turn.head.state) == ("go", "running")


def test_a_turn_that_outlived_tapui_goes_on() -> None:
    """Its begin comes from the records, where tapui's end had ended it; its host says it runs."""
    day = Day()
    day.seq = 100
    cut = turn(50, "long ago", step(51, "c1", state="unknown", error=TAPUI_ENDED), state="unknown")
    day.tell(ev.TurnsRestored("s1", bounded([turn(1, "one"), cut])))
    told = bounded([turn(50, "long ago", step(51, "c1", state="running"), state="running")])
    known = day.state.turns["s1"]
    assert unknown_of(known, told) == told
    day.tell(ev.TurnsRestored("s1", told))
    assert [(one.prompt, one.state) for one in known.heads()] == [
        ("one", "done"),
        ("long ago", "running"),
    ]
    day.happen("assistant.message", content="here I am again")
    day.happen("session.idle")
    assert [(one.kind, one.state) for one in day.steps] == [
        ("call", "unknown"),
        ("message", "done"),
    ]
    assert (day.turn.head.number, day.turn.head.state) == (2, "done")
    assert unknown_of(known, told) == []


@pytest.mark.parametrize("lost", ["unknown", "cancelled"])
@pytest.mark.parametrize("read_at", range(4))
def test_a_call_that_waited_for_the_person_when_tapui_ended_is_one_step(
    lost: Any, read_at: int
) -> None:
    """Its host tells of it again, perhaps before the records of the former run were read: these
    come before all of it, or after so many events."""
    day = Day()
    day.seq = 100
    left = step(51, "c1", state=lost, error=TAPUI_ENDED, tool="bash", summary="make")
    ended: Any = "unknown" if lost == "unknown" else "stopped"
    cut = turn(50, "build it", left, state=ended, ended_at=stamp(52))
    told = turn(50, "build it", step(51, "c1", state="running"), state="running")
    restored = [ev.TurnsRestored("s1", bounded([one])) for one in (cut, told)]
    happens = (
        partial(day.happen, "session.busy"),
        partial(day.start, "c1", command="make"),
        partial(day.approve, "waiting", call="c1"),
    )
    for number, event in enumerate(happens):
        if number == read_at:
            day.tell(*restored)
        event()
    if read_at == len(happens):
        day.tell(*restored)
    assert [(one.call_id, one.state) for one in day.steps] == [("c1", "waiting")]
    assert (day.turn.head.prompt, day.turn.head.state) == ("build it", "waiting")
    day.approve("approved", call="c1")
    day.finish("c1", exit_code=0)
    day.happen("session.idle")
    (only,) = day.steps
    assert (only.state, only.at, only.error, only.summary) == ("done", stamp(51), "", "make")
    assert (day.turn.head.steps, day.turn.head.failed, day.turn.head.state) == (1, 0, "done")


def test_what_was_asked_before_its_call_began_is_one_step() -> None:
    day = Day()
    day.seq = 100
    left = step(51, "c1", state="unknown", error=TAPUI_ENDED, summary="make")
    cut = turn(50, "build it", left, state="unknown", ended_at=stamp(52))
    told = turn(50, "build it", state="running")
    day.tell(*(ev.TurnsRestored("s1", bounded([one])) for one in (cut, told)))
    day.approve("waiting", call="c1")
    day.approve("approved", call="c1")
    day.start("c1", command="make")
    day.finish("c1", exit_code=0)
    assert [(one.call_id, one.state, one.tool) for one in day.steps] == [("c1", "done", "bash")]


@pytest.mark.parametrize("state", ["running", "done"])
def test_what_came_while_no_tapui_was_there_is_added(state: Any) -> None:
    day = Day()
    day.seq = 100
    left = step(52, "c2", state="unknown", error=TAPUI_ENDED)
    said = replace(step(51), kind="message")
    asked = replace(left, kind="gate", call_id=None, approval_id="a-1")
    cut = turn(
        50, "go", step(51, "c1"), said, left, asked,
        state="unknown", ended_at=stamp(53), usage=Usage(5, 5),
    )  # fmt: skip
    told = turn(
        50, "go", step(50, "c1"), replace(said, at=stamp(50)),
        step(52, "c2", state="failed", error="no", exit_code=2), step(60, "c3"),
        replace(said, at=stamp(61)), state=state, usage=Usage(9, 9),
        files=[FileChange("a.txt", 1, 0)], ended_at=stamp(62) if state == "done" else None,
    )  # fmt: skip
    known = day.state.turns["s1"]
    day.tell(ev.TurnsRestored("s1", bounded([cut])))
    told = bounded([told])[0]
    day.tell(ev.TurnsRestored("s1", unknown_of(known, [told])))
    assert [(one.kind, one.call_id, one.state, one.exit_code) for one in day.steps] == [
        ("call", "c1", "done", None),
        ("message", None, "done", None),
        ("call", "c2", "failed", 2),
        ("call", "c3", "done", None),
        ("message", None, "done", None),
    ]
    head = day.turn.head
    assert (head.state, head.steps, head.failed, head.usage) == (state, 5, 1, Usage(9, 9))
    assert head.files == [FileChange("a.txt", 1, 0)]
    assert unknown_of(known, [told]) == []


def test_a_call_of_the_session_is_unknown_when_its_session_ends_here() -> None:
    day = Day()
    day.happen("user.message", content="go")
    day.start("c1")
    day.finish("c1", "failed", error="the session ended", error_code="DISCONNECTED")
    assert [(one.state, one.error) for one in day.steps] == [("unknown", "the session ended")]
    assert day.turn.head.failed == 0


def test_a_journal_of_several_runs_folds_to_each_turn_once() -> None:
    """As a replay reads it: the next run finds the turns of the one before, and reads them back."""
    day = Day()
    day.happen("user.message", content="one")
    day.start("c1")
    day.finish("c1")
    day.happen("session.idle")
    day.happen("user.message", content="two")
    day.start("c2")
    earlier = bounded([one for n in (1, 2) if (one := day.state.turns["s1"].turn(n)) is not None])
    day.tell(ev.SessionOpened("s1", day.state.sessions["s1"]))
    told = day.state.turns["s1"]
    assert [(one.prompt, one.state) for one in told.heads()] == [
        ("one", "done"),
        ("two", "unknown"),
    ]
    day.tell(ev.TurnsRestored("s1", earlier[:1]))
    goes_on = replace(earlier[1], head=replace(earlier[1].head, state="running"))
    day.tell(ev.TurnsRestored("s1", [goes_on]))
    day.start("c3")
    assert [(one.prompt, one.state) for one in told.heads()] == [
        ("one", "done"),
        ("two", "running"),
    ]
    assert [one.call_id for one in day.steps] == ["c2", "c3"]


def test_what_was_under_way_is_unknown() -> None:
    day = Day()
    day.happen("user.message", content="go")
    day.start("c1")
    interrupted(day.state.turns["s1"], stamp(9))
    assert day.turn.head.state == "unknown"
    assert [(one.state, one.error) for one in day.steps] == [("unknown", TAPUI_ENDED)]


def test_forged_turns_are_bounded() -> None:
    inner = step(2, HUGE, summary=HUGE, steps=[step(2, steps=[step(2)] * 999)] * 999)
    huge = replace(
        inner, tool=HUGE, provider=HUGE, error=HUGE, agent=HUGE, decided_by=HUGE, added=2**63 - 1,
        state="waiting", duration=-1.0, calls=-3, usage=Usage(2**63 - 1, -1, -1.0),
    )  # fmt: skip
    files = [FileChange(HUGE, 2**63 - 1, -(2**63))] * 999
    forged = turn(1, HUGE, *[huge] * 999, files=files, failed=2**62, steps=-5)
    no_time = replace(forged, head=replace(forged.head, started_at="yesterday"))
    made = bounded([forged] * 60 + [no_time])
    assert len(made) == limits.TURNS
    assert len(encode(made)) < 2 * limits.MAX_RESTORED_BYTES
    day = Day()
    day.tell(ev.TurnsRestored("s1", made))
    day.happen("assistant.usage", inputTokens=2**53)
    assert encode(day.state.snapshot())
    newest = made[-1].head
    assert (newest.is_history, newest.failed <= newest.steps) == (True, True)


turns = st.lists(
    st.builds(
        turn, st.integers(0, 99), st.text(max_size=3),
        state=st.sampled_from(["running", "done", "unknown"]),
    ),
    max_size=5,
)  # fmt: skip


@settings(max_examples=100, database=None, deadline=None)
@given(turns, turns)
def test_any_two_histories_are_joined_once_and_in_order(one: list[Turn], two: list[Turn]) -> None:
    day = Day()
    day.seq = 1000
    day.happen("user.message", content="now")
    for told in (one, two, one):
        new = unknown_of(day.state.turns["s1"], bounded(told))
        day.tell(ev.TurnsRestored("s1", new))
    heads = day.state.turns["s1"].heads()
    assert [head.number for head in heads] == list(range(1, len(heads) + 1))
    assert [head.started_at for head in heads] == sorted(head.started_at for head in heads)
    assert unknown_of(day.state.turns["s1"], bounded(one)) == []


def test_a_step_comes_back_as_it_was_told_with_every_field() -> None:
    inner = Step("14.4", "call", "done", stamp(2), call_id="c2")
    whole = Step(
        "14.3", "subagent", "failed", stamp(1), 1.5, 1.0, 2.0, 3.0, "task", "copilot", "looks",
        2, 3, 4, "no", "c1", "a-1", "tapui", "sub-1", Usage(1, 2), 5, [inner],
    )  # fmt: skip
    assert None not in astuple(whole)
    assert LiveStep.of(whole).told() == whole
