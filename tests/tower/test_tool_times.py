"""Calls by tool: counts, failures and percentiles; and the pane that shows them."""

import re
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec import Raw
from msgspec.structs import replace

from tapui.projection.state import State
from tapui.projection.turns.session import LiveTurns
from tapui.tower.calls.calls_pane import _tool_row, by_tool, percentile
from tapui.wire import events as ev
from tapui.wire.turns import SessionTurns, Turn
from tests.tower.running import running
from tests.tower.scripted import approval, at, call, session, world
from tests.tower.told import head, step


@pytest.mark.parametrize(
    ("values", "share", "expected"),
    [
        ([], 0.5, None),
        ([7.0], 0.0, 7.0),
        ([7.0], 0.95, 7.0),
        ([1.0, 2.0, 3.0, 4.0], 0.5, 2.0),
        ([1.0, 2.0, 3.0, 4.0], 0.95, 4.0),
        ([float(one) for one in range(1, 101)], 0.95, 95.0),
        ([float(one) for one in range(1, 101)], 1.0, 100.0),
    ],
)
def test_a_percentile_is_the_nearest_rank(
    values: list[float], share: float, expected: float | None
) -> None:
    assert percentile(values, share) == expected


@given(st.lists(st.floats(0, 1e9), min_size=1), st.floats(0, 1))
def test_a_percentile_is_a_value_that_the_share_does_not_exceed(
    values: list[float], share: float
) -> None:
    rising = sorted(values)
    found = percentile(rising, share)
    assert found in rising
    assert sum(one <= found for one in rising) >= share * len(rising) - 1e-6
    assert percentile(rising, 0.5) == statistics.median_low(rising)


def test_what_waited_for_the_person_is_no_time_of_the_tool() -> None:
    own = call("a", "bash", state="done", duration=9_000.0, provider="copilot", provider_id=None)
    other = call("b", "View", state="done", duration=30.0)
    bash, view = by_tool([own, other], {"a": 8_000.0, "b": 5.0})
    assert (bash.took, view.took) == ([1_000.0], [30.0])


def test_what_was_denied_is_no_failure_and_no_time_of_the_tool() -> None:
    (bash,) = by_tool(
        [call("a", "bash", state="failed", error="no", error_code="DENIED", duration=5.0)]
    )
    assert (bash.calls, bash.failed, bash.took) == (1, 0, [])


def test_what_ended_otherwise_is_counted_apart() -> None:
    codes = ["DENIED", "TIMEOUT", "TIMEOUT", "STOPPED", "HANDLER_ERROR"]
    calls = [
        call(f"c{at}", "bash", state="failed", error="no", error_code=code)
        for at, code in enumerate(codes)
    ]
    calls.append(call("c9", "bash", state="cancelled", error_code="CANCELLED"))
    (bash,) = by_tool(calls)
    assert (bash.calls, bash.failed) == (6, 1)
    assert bash.others == {"denied": 1, "timedOut": 2, "stopped": 1, "cancelled": 1}
    shown = [cell.text for cell in _tool_row(bash).cells]
    assert "1 denied, 2 timed out, 1 cancelled, 1 stopped" in shown


def test_calls_are_counted_by_tool() -> None:
    calls = [
        call("a", "View", state="done", duration=30.0),
        call("b", "grep", state="failed", duration=10.0, error="no"),
        call("c", "View", state="cancelled", duration=9_999.0),
        call("d", "View"),
        call("e", "View", state="done", duration=10.0),
    ]
    grep, view = by_tool(calls)
    assert (grep.tool, grep.calls, grep.failed, grep.running) == ("grep", 1, 1, 0)
    assert (view.tool, view.calls, view.failed, view.running) == ("View", 4, 0, 1)
    assert (view.took, view.last.id) == ([10.0, 30.0], "e")
    assert (view.percentile(0.5), view.percentile(0.95)) == (10.0, 30.0)


async def test_the_pane_shows_calls_by_tool_and_enter_leaves_those_of_one() -> None:
    async with running(world(), size=(120, 36)) as rig:
        await rig.press("5", "z", "v")
        assert "Calls by tool" in rig.text
        for row in (
            "bash  *copilot  *1  *1",
            "edit .* 4 ",
            "find_issue  *jira  *1 .* 212ms *212ms",
        ):
            assert_row(rig.text, row)
        await rig.press("slash", *"edit", "enter", "enter")
        assert "/ edit" in rig.text
        assert "4 of 20" in rig.text
        assert "find_issue" not in rig.text
        await rig.press("escape")
        assert "find_issue" in rig.text


async def test_the_tool_of_a_name_within_another_is_alone() -> None:
    state = State()
    for number, tool in enumerate(("view", "review", "view_all")):
        one = call(f"c{number}", tool, state="done", duration=1.0, started_at=at(number))
        state.recent_calls[one.id] = one
    async with running(state, size=(80, 24)) as rig:
        await rig.press("5", "v", "down", "enter")
        assert "1 of 3" in rig.text


async def test_tools_can_be_sorted_by_what_is_known_of_them() -> None:
    async with running(world(), size=(120, 36)) as rig:
        await rig.press("5", "z", "v", *["s"] * 6)
        rows = [one.key for one in rig.pane(5).query_one("Table").rows]  # type: ignore[attr-defined]
        assert rows[-1] == "tool search_docs"
        await rig.press("v", "v")
        assert rig.pane(5).query_one("Table").sorted_by is None  # type: ignore[attr-defined]


async def test_what_is_not_seen_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[int] = []
    monkeypatch.setattr(
        "tapui.tower.calls.calls_pane.by_tool", lambda _calls, _asked: counted.append(1) or []
    )
    async with running(world(), size=(80, 24)) as rig:
        await rig.press("5", "v")
        before = len(counted)
        assert before
        await rig.press("1")
        rig.feed.happen(ev.CallStarted(session_id="s1", call=call("new", "view")))
        await rig.settle()
        assert len(counted) == before


def assert_row(text: str, pattern: str) -> None:
    assert re.search(pattern, text), pattern


@pytest.mark.parametrize("size", [(80, 24), (160, 40)], ids=str)
async def test_the_row_of_a_call_has_no_time_in_it_that_waited_for_the_person(
    size: tuple[int, int],
) -> None:
    own = {"provider": "copilot", "provider_id": None, "timeout": None, "started_at": at(20)}
    state = State(sessions={"s1": session("s1", "First")})
    told = {"tool": "bash", "provider": "copilot", "asked": 13_900.0}
    taken_steps = [
        step("1.1", ago=20, call_id="t1", duration=15_600.0, **told),
        step("1.2", ago=20, call_id="t2", state="running", **told),
    ]
    turn = Turn(head(1, "Build", 30, None, steps=2), taken_steps)
    state.turns["s1"] = LiveTurns.of(SessionTurns("s1", [], turn))
    state.calls["t2"] = call("t2", "bash", **own)
    state.recent_calls["t1"] = call("t1", "bash", state="done", duration=15_600.0, **own)
    async with running(state, size=size) as rig:
        await rig.press("5")
        rows = {one.key: one.texts for one in rig.pane(5).table.rows}  # type: ignore[attr-defined]
        assert "1.7s" in rows["t1"]
        assert "6s" in rows["t2"]
        rig.pane(5).table.select("t1")  # type: ignore[attr-defined]
        await rig.press("enter")
        assert "13s for you, of 15s" in rig.text, "the detail has both"


async def test_a_call_that_waits_for_the_person_does_not_look_as_if_it_ran() -> None:
    state = State()
    state.sessions["s1"] = session("s1", "First")
    own = {"provider": "copilot", "provider_id": None, "timeout": None, "started_at": at(9)}
    state.calls["t1"] = call("t1", "bash", args=Raw(b'{"command":"ls"}'), **own)
    detail = {"kind": "shell", "fullCommandText": "ls", "toolCallId": "t1"}
    state.approvals["a1"] = approval("a1", "permission", detail, session_id="s1")
    async with running(state, size=(120, 36)) as rig:
        await rig.press("5")
        assert "! asks you" in rig.lists
        assert "● running" not in rig.text
        settled = replace(state.approvals["a1"], state="approved", decided_by="you")
        rig.feed.happen(ev.ApprovalDecided(approval=settled))
        await rig.settle()
        assert "● running" in rig.text
