"""The fold: what it keeps, what it drops, and that any events in any order do no harm."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import Raw
from msgspec.structs import replace

from tapui.projection.cuts import cut
from tapui.projection.fold import fold
from tapui.projection.state import State, is_connected, is_open, is_waiting
from tapui.wire import events as ev
from tapui.wire import limits, subjects
from tapui.wire.goals import Goal
from tapui.wire.message import Line
from tapui.wire.steering import Order
from tests.records.test_replay import events as random_events
from tests.records.turns import closed, opened, stamp, started


def folded(*events: Any) -> State:
    state = State()
    for seq, event in enumerate(events):
        fold(state, event, stamp(seq))
    return state


CALL_STATES = {
    ev.CallStarted: "running",
    ev.CallProgress: "running",
    ev.CallCancelling: "cancelling",
    ev.CallFinished: "done",
}


def as_the_core_says(event: Any) -> Any:
    """Return a random event with what the core makes sure of."""
    if isinstance(event, ev.UnattachedFound):
        found = [replace(one, host=event.host) for one in event.unattached]
        return replace(event, unattached=found)
    if type(event) in CALL_STATES:
        return replace(event, call=replace(event.call, state=CALL_STATES[type(event)]))
    return event


runs = st.lists(random_events().map(as_the_core_says), max_size=60)


@settings(max_examples=60, database=None, deadline=None)
@given(runs)
def test_a_snapshot_is_the_whole_state(run: list[Any]) -> None:
    state = folded(*run)
    again = State.of(state.snapshot())
    assert again == state
    assert again.snapshot() == state.snapshot()


@settings(max_examples=60, database=None, deadline=None)
@given(runs, st.integers(0, 60))
def test_a_snapshot_and_what_follows_are_as_good_as_everything(run: list[Any], at: int) -> None:
    whole, begun = folded(*run), State.of(folded(*run[:at]).snapshot())
    for seq, event in enumerate(run[at:], min(len(run), at)):
        fold(begun, event, stamp(seq))
    assert begun == whole


@settings(max_examples=60, database=None, deadline=None)
@given(runs)
def test_tables_hold_what_they_are_for_and_no_more(run: list[Any]) -> None:
    state = folded(*run)
    assert state.calls.keys().isdisjoint(state.recent_calls)
    assert len(state.recent_calls) <= limits.RECENT_CALLS
    assert sum(not is_open(one) for one in state.sessions.values()) <= limits.ENDED_SESSIONS
    gone = sum(not is_connected(one) for one in state.providers.values())
    assert gone <= limits.RECENT_PROVIDERS
    for key, stream in state.streams.items():
        assert key == (stream.session_id, stream.name)


def finished(id_: str) -> ev.CallFinished:
    call = subjects.Call(id_, "s1", "ci", "greet", "done", stamp(0))
    return ev.CallFinished("s1", call)


def test_the_newest_of_what_is_over_is_kept() -> None:
    calls = [
        event
        for i in range(limits.RECENT_CALLS + 5)
        for event in (started("s1", f"c{i}"), finished(f"c{i}"))
    ]
    state = folded(*calls)
    assert next(iter(state.recent_calls)) == "c5"
    sessions = [
        event
        for i in range(limits.ENDED_SESSIONS + 5)
        for event in (opened(f"s{i}"), closed(f"s{i}"))
    ]
    assert list(folded(*sessions, opened("live")).sessions) == [
        *(f"s{i}" for i in range(5, limits.ENDED_SESSIONS + 5)),
        "live",
    ]


def approval(id_: str, state: str) -> Any:
    view = subjects.Approval(id_, "permission", state, {}, stamp(0), stamp(1))  # type: ignore[arg-type]
    return ev.ApprovalRequested(view) if state == "waiting" else ev.ApprovalDecided(view)


def test_what_still_waits_is_never_dropped() -> None:
    waiting = [approval(f"w{i}", "waiting") for i in range(3)]
    settled = [
        approval(f"a{i}", state)
        for i in range(limits.RECENT_APPROVALS + 50)
        for state in ("waiting", "denied")
    ]
    state = folded(*waiting, *settled)
    assert [id_ for id_, one in state.approvals.items() if is_waiting(one)] == ["w0", "w1", "w2"]
    assert len(state.approvals) == 3 + limits.RECENT_APPROVALS
    assert list(state.approvals)[-1] == f"a{limits.RECENT_APPROVALS + 49}"


def test_what_was_open_when_tapui_ended_ends_when_its_session_opens_anew() -> None:
    asked = [
        ev.ApprovalRequested(
            subjects.Approval(id_, "permission", "waiting", {}, stamp(0), stamp(1), session_id)
        )
        for id_, session_id in (("a1", "s1"), ("a2", "s2"), ("a3", None))
    ]
    gates = [
        ev.GateChecked(id_, subjects.Gate(f"g-{id_}", id_, "bash", "waiting", ["ci"], stamp(0)))
        for id_ in ("s1", "s2")
    ]
    calls = [started("s1", "c1"), started("s2", "c2")]
    begun = (opened("s1"), opened("s2"), *asked, *gates, *calls)
    state = folded(*begun, opened("s1"))
    assert {id_: (one.state, one.reason) for id_, one in state.approvals.items()} == {
        "a1": ("withdrawn", "tapui ended"),
        "a2": ("waiting", None),
        "a3": ("waiting", None),
    }
    assert (list(state.gates), list(state.calls)) == (["g-s2"], ["c2"])
    again = folded(*begun, opened("s1"), started("s1", "c1"))
    assert list(again.calls) == ["c2", "c1"], "its host has told that it goes on"


def test_arguments_stay_with_a_call_to_its_end() -> None:
    call = started("s1", "c1").call
    progress = subjects.Call("c1", "s1", "ci", "greet", "running", stamp(0), progress="60 %")
    state = folded(ev.CallStarted("s1", call), ev.CallProgress("s1", progress), finished("c1"))
    assert state.recent_calls["c1"].args == call.args
    assert state.recent_calls["c1"].state == "done"


def test_a_call_whose_id_is_used_once_more_is_under_way() -> None:
    """A host may give two of its session's own calls one id."""
    call = subjects.Call("c1", "s1", "p", "t", "running", "")
    state = folded(ev.CallStarted("s1", call), finished("c1"), ev.CallStarted("s1", call))
    assert (list(state.calls), list(state.recent_calls)) == (["c1"], [])
    assert State.of(state.snapshot()) == state


@pytest.mark.parametrize("size", [limits.DETAIL_BYTES - 11, limits.DETAIL_BYTES - 10])
def test_large_arguments_are_cut_in_the_live_state(size: int) -> None:
    event = started("s1", "c1", size)
    whole = len(bytes(event.call.args or b"")) <= limits.DETAIL_BYTES
    call = folded(event).calls["c1"]
    assert (call.args is not None) == whole
    assert (call.args_cut is None) == whole


def test_a_cut_keeps_head_size_and_hash() -> None:
    text = Raw(('"' + "ü" * 5000 + '"').encode())
    assert cut(text, 20_000) == (text, None)
    whole, kept = cut(text, 100)
    assert whole is None
    assert kept is not None
    assert kept.size == 10_002
    assert kept.head == '"' + "ü" * (limits.CUT_HEAD - 1)
    assert len(kept.sha256) == 64


def test_a_replaced_session_hands_its_streams_on() -> None:
    line = Line(1, stamp(0), "keep", "e")
    session = subjects.Session("s2", "l", "/", "idle", "h", [], stamp(0))
    state = folded(
        opened("s1"),
        ev.StreamPosted("s1", "a@p", line),
        ev.SessionReplaced("s2", session, "s1"),
    )
    assert list(state.sessions) == ["s2"]
    assert list(state.streams) == [("s2", "a@p")]
    assert state.streams["s2", "a@p"].session_id == "s2"


def test_what_was_asked_ordered_and_called_goes_with_a_replaced_session() -> None:
    session = subjects.Session("s2", "l", "/", "idle", "h", [], stamp(0))
    call = subjects.Call("c1", "s1", "copilot", "bash", "done", stamp(0), 1)
    order = Order("o1", "s1", "tell", "done", "you", stamp(0), "go on")
    asked = subjects.Approval("a1", "permission", "approved", {}, stamp(0), stamp(9), "s1")
    state = folded(
        opened("s1"),
        ev.CallStarted("s1", call),
        ev.CallFinished("s1", call),
        ev.OrderGiven("s1", order),
        ev.ApprovalDecided(asked, "s1"),
        ev.SessionReplaced("s2", session, "s1"),
    )
    held = (state.recent_calls, state.orders, state.approvals)
    assert [one.session_id for kept in held for one in kept.values()] == ["s2"] * 3


def test_a_closed_session_takes_its_streams_along() -> None:
    line = Line(1, stamp(0), "keep", "e")
    state = folded(opened("s1"), ev.StreamPosted("s1", "a@p", line), closed("s1"))
    assert state.streams == {}
    assert state.sessions["s1"].state == "ended"


def test_a_mode_that_is_only_ordered_changes_nothing() -> None:
    state = folded(opened("s1"), ev.ModeChanged("s1", "plan", "ordered", "tapui"))
    assert state.sessions["s1"].mode is None
    fold(state, ev.ModeChanged("s1", "plan", "done", "tapui"), stamp(9))
    assert state.sessions["s1"].mode == "plan"


def goal(id_: str, status: Any = "active") -> Goal:
    return Goal(id_, "s1", "ship", status, 1, "person", stamp(0))


def test_goals_of_an_ended_session_are_kept_as_long_as_it() -> None:
    told = (opened("s1"), ev.GoalOpened("s1", goal("g1")), closed("s1"))
    assert [one.id for one in folded(*told).goals_of("s1")] == ["g1"]
    others = [
        one
        for number in range(limits.ENDED_SESSIONS)
        for one in (opened(f"n{number}"), closed(f"n{number}"))
    ]
    assert folded(*told, *others).goals == {}


def test_a_session_that_opens_again_is_told_its_goals_anew() -> None:
    known = ev.GoalOpened("s1", goal("g1"))
    again = ev.GoalUpdated("s1", goal("g2"), by="tapui", what="restored")
    state = folded(opened("s1"), known, closed("s1"), opened("s1"), again)
    assert [one.id for one in state.goals_of("s1")] == ["g2"]


def test_of_too_many_goals_the_oldest_that_is_closed_goes() -> None:
    told = [
        ev.GoalOpened("s1", goal(f"g{number}", "abandoned" if number == 1 else "active"))
        for number in range(limits.MAX_GOALS + 1)
    ]
    state = folded(opened("s1"), *told)
    assert len(state.goals) == limits.MAX_GOALS
    assert "g1" not in state.goals
