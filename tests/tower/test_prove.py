"""Prove it now and send it back, by the keys of a session's row and of a turn's."""

import pytest
from msgspec import Raw

from tapui.projection.feed import Link
from tapui.projection.state import State
from tapui.tower.textual.dialogs import AskLineScreen
from tapui.tower.turns.check_detail import CheckDetail
from tapui.wire import events as ev
from tapui.wire.errors import ErrorCode
from tapui.wire.message import Error
from tapui.wire.proving import (
    ProofBegan,
    ProofEnded,
    ProofLines,
    ProofPlan,
    ProofRun,
    ProofSendBack,
    ProofStop,
)
from tests.cli.running import HOSTILE, RAW
from tests.tower.running import Running, on_top, running
from tests.tower.scripted import at, session


def world() -> State:
    found = State()
    found.sessions["s1"] = session("s1", "Fix pairing", can=["tell"])
    return found


def ordered(rig: Running) -> ProofRun:
    return rig.feed.sent_of(ProofRun)[-1]


async def shown(rig: Running, **fields: object) -> ProofPlan:
    """Order the check of the selected session, and let the gateway show it."""
    await rig.press("full_stop", "v")
    given = {"command": "pytest -q", "cwd": "/code/s1", "digest": "0" * 64, **fields}
    plan = ProofPlan(id=ordered(rig).id, session_id="s1", **given)  # type: ignore[arg-type]
    rig.feed.put(plan)
    await rig.settle()
    return plan


async def begun(rig: Running) -> str:
    """Let it run; return the order's id."""
    await shown(rig)
    await rig.press("enter")
    id_ = ordered(rig).id
    rig.feed.put(ProofBegan(id_, "s1", "pytest -q", "/code/s1", at()))
    await rig.settle()
    return id_


@pytest.mark.parametrize("size", [(80, 24), (120, 36)])
async def test_nothing_runs_before_enter(size: tuple[int, int]) -> None:
    async with running(world(), size=size) as rig:
        plan = await shown(rig, changed=["conftest.py"], more=2, doubt="")
        assert ordered(rig).seen is None
        for words in (
            "pytest -q",
            "in /code/s1",
            "changed since the session began: conftest.py and 2 more",
            "runs with your rights",
        ):
            assert words in rig.text
        await rig.press("down", "y", "space")
        assert len(rig.feed.sent_of(ProofRun)) == 1
        await rig.press("enter")
        assert ordered(rig).seen == plan.digest


async def test_the_output_comes_live_and_the_verdict_stands_above_it() -> None:
    async with running(world(), size=(120, 36)) as rig:
        id_ = await begun(rig)
        assert "x stops it" in rig.text
        rig.feed.put(ProofLines(id_, 1, ["collected 2 items", "", "  indented"]))
        rig.feed.put(ProofLines(id_, 9, ["2 passed"]))
        await rig.settle()
        assert "  indented" in rig.text
        assert "5 lines came too fast to be shown" in rig.text
        rig.feed.put(ProofEnded(id_, "passed", "pytest, 2 tests", 0))
        await rig.settle()
        assert "✓ passed: pytest, 2 tests" in rig.text


async def test_what_was_allowed_before_runs_at_once() -> None:
    async with running(world()) as rig:
        await rig.press("full_stop", "v")
        rig.feed.put(ProofBegan(ordered(rig).id, "s1", "pytest -q", "/code/s1", at()))
        await rig.settle()
        assert "x stops it" in rig.text


async def test_enter_in_one_read_with_other_keys_does_not_count() -> None:
    async with running(world()) as rig:
        await shown(rig)
        await rig.type("down", "enter")
        assert len(rig.feed.sent_of(ProofRun)) == 1
        assert "Pressed with other keys, so it does not count." in rig.notices


async def test_escape_leaves_it() -> None:
    async with running(world()) as rig:
        await shown(rig)
        await rig.press("escape")
        assert not isinstance(on_top(rig.app), CheckDetail)
        assert len(rig.feed.sent_of(ProofRun)) == 1
        assert rig.feed.sent_of(ProofStop) == []


async def test_where_no_check_is_known_the_person_names_one() -> None:
    async with running(world()) as rig:
        await rig.press("full_stop", "v")
        rig.feed.put(
            Error(
                ErrorCode.NOT_FOUND,
                "no check is known here: name one",
                reply_to="proof.run",
                id=ordered(rig).id,
            )
        )
        await rig.settle()
        assert "no check is known here" in rig.text
        assert rig.notices == []
        await rig.press("n")
        assert isinstance(rig.app.screen, AskLineScreen)
        await rig.press("t", "o", "x", "enter")
        assert (ordered(rig).command, ordered(rig).seen) == ("tox", None)


async def test_x_stops_it_and_only_while_it_runs() -> None:
    async with running(world()) as rig:
        id_ = await begun(rig)
        await rig.press("x")
        assert [one.session_id for one in rig.feed.sent_of(ProofStop)] == ["s1"]
        rig.feed.put(ProofEnded(id_, "unknown", "pytest -q, you stopped it"))
        await rig.settle()
        assert "○ unknown: pytest -q, you stopped it" in rig.text
        await rig.press("x")
        assert len(rig.feed.sent_of(ProofStop)) == 1


async def test_a_closed_sheet_stops_nothing() -> None:
    async with running(world()) as rig:
        id_ = await begun(rig)
        await rig.press("escape")
        rig.feed.put(ProofLines(id_, 1, ["late"]))
        rig.feed.put(ProofEnded(id_, "passed", "pytest", 0))
        await rig.settle()
        assert rig.feed.sent_of(ProofStop) == []


async def test_a_link_that_breaks_leaves_it_unknown() -> None:
    async with running(world()) as rig:
        await begun(rig)
        rig.feed.put(Link("down", "lost"))
        await rig.settle()
        assert "the link to the gateway broke" in rig.text


async def test_hostile_text_is_shown_as_text() -> None:
    async with running(world(), size=(120, 36)) as rig:
        await shown(rig, command=f"pytest {HOSTILE}", changed=[HOSTILE], doubt=HOSTILE)
        assert RAW.search(rig.text) is None
        await rig.press("enter")
        id_ = ordered(rig).id
        rig.feed.put(ProofBegan(id_, "s1", f"pytest {HOSTILE}", HOSTILE, at()))
        rig.feed.put(ProofLines(id_, 1, [HOSTILE, "[b]markup[/b]"]))
        rig.feed.put(ProofEnded(id_, "failed", HOSTILE, 1))
        await rig.settle()
        assert RAW.search(rig.text) is None
        assert "[b]markup[/b]" in rig.text


async def test_r_sends_back_what_is_missing_once_it_is_confirmed() -> None:
    async with running(world()) as rig:
        await rig.press("full_stop", "r")
        assert "Send Fix pairing what is missing?" in rig.text
        assert rig.feed.sent_of(ProofSendBack) == []
        await rig.press("y")
        (sent,) = rig.feed.sent_of(ProofSendBack)
        assert sent.session_id == "s1"
        rig.feed.put(
            Error(
                ErrorCode.NOT_FOUND,
                "nothing is missing of its last turn",
                reply_to="proof.sendBack",
                id=sent.id,
            )
        )
        await rig.settle()
        assert any("nothing is missing of its last turn" in one for one in rig.notices)


async def test_r_on_a_check_that_failed_sends_it_back() -> None:
    async with running(world()) as rig:
        id_ = await begun(rig)
        await rig.press("r")
        assert "what is missing?" not in rig.text
        rig.feed.put(ProofEnded(id_, "failed", "pytest, exit 1", 1))
        await rig.settle()
        await rig.press("r")
        assert "Send Fix pairing what is missing?" in rig.text
        await rig.press("y")
        assert [one.session_id for one in rig.feed.sent_of(ProofSendBack)] == ["s1"]


async def test_a_turn_has_the_same_keys() -> None:
    async with running(world(), size=(120, 36)) as rig:
        rig.feed.happen(ev.SessionHappened("s1", "user.message", data=Raw(b'{"content": "go"}')))
        await rig.press("2", "full_stop", "v")
        assert ordered(rig).session_id == "s1"
