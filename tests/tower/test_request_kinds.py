"""A kind of request is one object: with it, a request is in every list, sheet and command."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import pytest

from tapui.cli.overview import show_waiting
from tapui.projection.requests.kinds import KINDS, kind_of
from tapui.projection.requests.request_kind import DENY, AskedRequest, Option, RequestKind
from tapui.projection.state import State
from tapui.tower.app.next_app import NextApp
from tapui.tower.app.notifier import notice_words
from tapui.tower.requests.request_detail import DEAF_SECONDS, RequestDetail
from tapui.wire import events as ev
from tapui.wire.subjects import Approval
from tapui.wire.tower import ApprovalDecide
from tests.tower.running import Running, on_top, running
from tests.tower.scripted import HandClock, ScriptedFeed, approval, session
from tests.tower.test_goal_requests import CRITERION, UNPROVEN


class LunchRequest(RequestKind):
    """A session wants lunch: all that this kind needs stands here."""

    word = "lunch"
    verb_word = "eat"
    asks = "is hungry"
    notice = "wants lunch"
    titles = {"price": "price"}  # noqa: RUF012 - never changed

    def line(self, approval: Approval, detail: Mapping[str, Any]) -> str:
        return f"{detail['dish']} at noon"

    def answers(self, asked: Sequence[AskedRequest], others: int) -> list[Option]:
        return [Option("allow", "let it eat", "lets it eat"), DENY]

    def told(self, approval: Approval, detail: Mapping[str, Any]) -> frozenset[str]:
        return frozenset({"dish"})


LUNCH = approval("a1", "lunch", {"dish": "soup", "price": 7}, session_id="s1")


@pytest.fixture(autouse=True)
def lunch() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(KINDS, "lunch", LunchRequest())
        yield


def hungry() -> State:
    state = State()
    state.sessions["s1"] = session("s1", "First")
    state.approvals["a1"] = LUNCH
    return state


async def answered(rig: Running) -> None:
    """The sheet shows the request, and its letter and Enter decide."""
    assert isinstance(on_top(rig.app), RequestDetail)
    for said in ("First is hungry", "soup at noon", "price", "let it eat"):
        assert said in rig.text
    await rig.turn(DEAF_SECONDS)
    await rig.press("y")
    assert "Enter lets it eat" in rig.text
    await rig.press("enter")
    assert rig.feed.sent == [ApprovalDecide(approval_id="a1", decision="approve")]


async def test_it_is_in_the_list_and_on_its_sheet() -> None:
    async with running(hungry(), size=(120, 36)) as rig:
        assert "eat" in rig.text
        assert "soup at noon" in rig.text
        await rig.press("a")
        await answered(rig)


def test_it_is_in_a_notice() -> None:
    assert notice_words(hungry(), [LUNCH]) == "Waiting for you: First wants lunch"


async def test_it_is_in_the_turn() -> None:
    state = State()
    state.sessions["s1"] = session("s1", "First")
    async with running(state, size=(120, 36)) as rig:
        rig.feed.happen(ev.ApprovalRequested(approval=LUNCH))
        await rig.settle()
        await rig.press("2")
        assert "lunch" in rig.text


async def test_next_shows_it() -> None:
    feed, clock = ScriptedFeed(is_embedded=False), HandClock()
    app = NextApp(feed, clock=clock, ticks=clock)
    async with app.run_test(size=(80, 24)) as pilot:
        rig = Running(app, feed, clock, pilot)
        feed.begin(hungry(), towers=2)
        await rig.settle()
        await answered(rig)


def test_status_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    show_waiting(hungry(), [LUNCH])
    assert "eat soup at noon" in capsys.readouterr().out


YES_OR_NO = "answer in the tower, or with `tapui approve ID` or `tapui deny ID`"
WITH_AN_ANSWER = "answer in the tower, or with `tapui next` (an answer) or `tapui deny ID` (none)"


def printed(capsys: pytest.CaptureFixture[str], *waiting: Approval) -> list[str]:
    """Return the lines below the requests."""
    show_waiting(hungry(), list(waiting))
    return [line for line in capsys.readouterr().out.splitlines() if "answer in the tower" in line]


@pytest.mark.parametrize("kind", KINDS)
def test_status_offers_what_answers_each_kind(
    capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    asked = approval("a1", kind, {}, session_id="s1")
    is_asked_for_words = kind in ("userInput", "elicitation", "elicitation.plan", "goal")
    expected = WITH_AN_ANSWER if is_asked_for_words else YES_OR_NO
    assert printed(capsys, asked) == [f"  {expected}"]


def test_status_offers_what_answers_a_goal_that_is_not_proven(
    capsys: pytest.CaptureFixture[str],
) -> None:
    (line,) = printed(capsys, approval("a1", "goal", UNPROVEN, session_id="s1"))
    assert line == (
        "  answer in the tower, or with `tapui goal done g1` (it is achieved), "
        "`tapui goal drop g1` (drop it), `tapui next` (three more) or `tapui deny ID` (leave it)"
    )


def test_a_goals_id_in_a_command_is_one_word(capsys: pytest.CaptureFixture[str]) -> None:
    hostile = approval("a1", "goal", {**UNPROVEN, "goalId": "g; rm -rf ~\x1b"}, session_id="s1")
    (line,) = printed(capsys, hostile)
    assert "`tapui goal done 'g; rm -rf ~" in line
    assert "\x1b" not in line


def test_status_says_which_request_is_answered_how(capsys: pytest.CaptureFixture[str]) -> None:
    waiting = [
        LUNCH,
        approval("a2", "goal", CRITERION, session_id="s1"),
        approval("a3", "permission", {}, session_id="s1"),
        approval("a4", "userInput", {"question": "Which?"}, session_id="s1"),
    ]
    assert printed(capsys, *waiting) == [
        f"  a1, a3: {YES_OR_NO}",
        f"  a2, a4: {WITH_AN_ANSWER}",
    ]


def test_a_prompt_over_the_budget_is_approved(capsys: pytest.CaptureFixture[str]) -> None:
    over = approval("a1", "userInput", {"kind": "budget"}, session_id="s1")
    assert printed(capsys, over) == [f"  {YES_OR_NO}"]


def test_one_of_a_later_tapui_is_a_permission() -> None:
    assert kind_of(approval("a1", "of-tomorrow", {})) is KINDS["permission"]
