"""Calls by tool: counts, failures and percentiles; and the pane that shows them."""

import re
import statistics

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapui.projection.state import State
from tapui.tower.calls.calls_pane import by_tool, percentile
from tapui.wire import events as ev
from tests.tower.running import running
from tests.tower.scripted import at, call, world


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
        "tapui.tower.calls.calls_pane.by_tool", lambda _calls: counted.append(1) or []
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
