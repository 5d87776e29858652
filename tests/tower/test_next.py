"""Only what waits is shown, the most urgent first, and the app ends when nothing is left."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest

from tapui.projection.feed import Link
from tapui.projection.state import State
from tapui.tower.app.next_app import GONE, NONE_LEFT, NextApp
from tapui.tower.requests.request_detail import RequestDetail
from tapui.wire.events import ApprovalRequested, ApprovalWithdrawn
from tapui.wire.subjects import Approval
from tapui.wire.tower import ApprovalDecide
from tests.tower.running import Running, on_top
from tests.tower.scripted import HandClock, ScriptedFeed, approval, at, session


@asynccontextmanager
async def next_app(*waiting: Approval) -> AsyncIterator[Running]:
    feed, clock = ScriptedFeed(is_embedded=False), HandClock()
    state = State()
    state.sessions["s1"] = session("s1", "First")
    state.approvals.update({one.id: one for one in waiting})
    app = NextApp(feed, clock=clock, ticks=clock)
    async with app.run_test(size=(80, 24)) as pilot:
        rig = Running(app, feed, clock, pilot)
        feed.begin(state, towers=2)
        await rig.settle()
        yield rig


def asks(id_: str, name: str, *, left: float = 7200, waited: float = 60) -> Approval:
    return approval(id_, "bindAll", {"name": name}, created_at=at(waited), expires_at=at(-left))


def shown(rig: Running) -> str:
    assert isinstance(on_top(rig.app), RequestDetail)
    return on_top(rig.app).key


async def test_the_most_urgent_comes_first_and_the_end_when_none_is_left() -> None:
    late = asks("a1", "new", waited=5)
    old = asks("a2", "old", waited=500)
    soon = asks("a3", "soon", left=30, waited=1)
    async with next_app(late, old, soon) as rig:
        for one in (soon, old, late):
            assert shown(rig) == one.id
            assert "1 Sessions" not in rig.text
            rig.feed.happen(ApprovalWithdrawn(approval=one_settled(one)))
            await rig.settle()
        assert "withdrawn" in rig.text, "the last one says how it ended"
        await rig.press("escape")
        assert rig.app.return_value == NONE_LEFT


async def test_what_was_not_on_screen_cannot_be_allowed() -> None:
    detail = {"kind": "shell", "fullCommandText": "true\n" * 100 + "rm -rf ~"}
    one = approval("a1", "permission", detail, session_id="s1", created_at=at(5))
    async with next_app(one) as rig:
        await rig.turn(1)
        await rig.press("y")
        assert "more lines below: scroll to the end first." in rig.text
        await rig.press("enter")
        assert not rig.feed.sent
        await rig.press("end", "y", "enter")
        assert rig.feed.sent == [ApprovalDecide(approval_id="a1", decision="approve")]


def one_settled(one: Approval) -> Approval:
    return approval(one.id, "bindAll", {}, state="withdrawn")


async def test_what_is_left_unanswered_is_not_shown_again() -> None:
    async with next_app(asks("a1", "x", waited=9), asks("a2", "y")) as rig:
        first = shown(rig)
        await rig.press("escape")
        assert shown(rig) != first
        rig.feed.happen(ApprovalRequested(approval=asks("a3", "z")))
        await rig.press("escape")
        assert shown(rig) == "a3"
        await rig.press("escape")
        assert rig.app.return_value == NONE_LEFT
        assert rig.feed.sent == []


async def test_it_ends_with_its_gateway() -> None:
    async with next_app(asks("a1", "x")) as rig:
        rig.feed.put(Link("down", "gone"))
        await rig.settle()
        assert rig.app.return_value == GONE


async def test_nobody_is_called_by_it(monkeypatch: pytest.MonkeyPatch) -> None:
    rung: list[str] = []
    monkeypatch.setattr(NextApp, "bell", lambda _: rung.append("bell"))
    async with next_app(asks("a1", "x")) as rig:
        rig.feed.happen(ApprovalRequested(approval=asks("a2", "y")))
        await rig.settle()
    assert rung == []
