"""Alarms in the tower: called once, shown in the session's row and its turn."""

import pytest

from tapui.projection.state import State
from tapui.tower.app.notifier import Notices, PersonCall, alarm_words
from tapui.wire import events as ev
from tapui.wire.subjects import Alarm, AlarmKind
from tests.tower.running import running
from tests.tower.scripted import at, session
from tests.tower.told import turns_world

QUIET = Alarm("al1", "quiet", at(900), "s1")
FAILING = Alarm("al2", "failing", at(160), "s1", program="pnpm test", exit_code=1, times=4)
WAITING = Alarm("al3", "waiting", at(700), "s1", approval_id="a1")


def raised(*alarms: Alarm) -> list[ev.AnyEvent]:
    return [ev.AlarmRaised(alarm=one, session_id=one.session_id) for one in alarms]


def alone() -> State:
    """The world of the turns, in which nothing waits for the person."""
    state = turns_world()
    state.approvals.clear()
    for step in state.turns["s1"].turns[-1].all_steps():
        if step.state == "waiting":
            step.state = "done"
    return state


async def test_the_row_and_the_turn_show_an_alarm_until_it_is_over() -> None:
    async with running(alone()) as rig:
        await rig.press("1")
        assert "no event" not in rig.text
        rig.feed.happen(*raised(QUIET))
        await rig.settle()
        for size in ((80, 24), (120, 36), (200, 50)):
            await rig.resize(size)
            await rig.press("1")
            assert "! no event" in rig.text, size
            await rig.press("2")
            assert "no event" in rig.text, size
        rig.feed.happen(ev.AlarmCleared(alarm=QUIET, session_id="s1"))
        await rig.settle()
        assert "no event" not in rig.text


async def test_a_session_says_that_its_ledger_is_not_believed() -> None:
    changed = "the ledger was changed outside of tapui"
    alarm = Alarm("al4", "ledger", at(160), "s1", why=changed)
    async with running(alone(), size=(120, 36)) as rig:
        rig.feed.happen(*raised(alarm))
        await rig.press("1", "enter")
        assert f"ledger     what was proven is unknown: {changed}" in rig.text


async def test_a_turn_shows_what_fails_again_and_again() -> None:
    async with running(alone(), size=(200, 50)) as rig:
        rig.feed.happen(*raised(FAILING))
        await rig.press("2")
        assert "↻" in rig.text
        assert "exit 1, 4×" in rig.text


async def test_what_waits_for_long_stands_out() -> None:
    async with running(turns_world(), size=(120, 36)) as rig:
        await rig.press("1")
        assert "! asks you" in rig.text
        rig.feed.happen(*raised(WAITING))
        await rig.settle()
        assert "! waits long" in rig.text


async def test_an_alarm_calls_the_person_once() -> None:
    calls: list[PersonCall] = []
    async with running(alone(), on_notice=calls.append) as rig:
        rig.feed.happen(*raised(FAILING))
        await rig.turn(1)
        again = Alarm("al2", "failing", at(160), "s1", program="pnpm test", exit_code=1, times=5)
        rig.feed.happen(*raised(again))
        await rig.turn(60)
        text = "Look at it: Fix the flaky pairing test fails again and again"
        assert calls == [PersonCall(text, "alarm", "s1")]


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("waiting", "has waited for you for long"),
        ("quiet", "has had no event for long"),
        ("failing", "fails again and again"),
        ("ledger", "has a ledger that tapui does not believe"),
    ],
)
def test_a_notice_has_constant_words_and_a_clean_label(kind: AlarmKind, words: str) -> None:
    state = State(sessions={"s1": session("s1", "\x1b]0;owned\x07-x")})
    text = alarm_words(state, [Alarm("a", kind, at(), "s1", program="\x1b[2J", times=3)])
    assert text.startswith("Look at it: ")
    assert text.endswith(words)
    assert "\x1b" not in text
    assert alarm_words(state, [QUIET, FAILING]) == "Look at it: 2 alarms"


def test_what_was_called_for_is_called_for_again_only_after_it_was_over() -> None:
    notices = Notices()
    notices.add("al1")
    assert notices.due(0, {"al1"}) == ["al1"]
    notices.add("al1")
    assert notices.due(100, {"al1"}) == []
    assert notices.due(200, set()) == []
    notices.add("al1")
    assert notices.due(300, {"al1"}) == ["al1"]
