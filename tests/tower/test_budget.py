"""The budget of a session: written, set, and asked about."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tapui.tower.wording.words import BudgetError, budget_words, read_budget
from tapui.wire.subjects import Budget
from tapui.wire.tower import ApprovalDecide, SessionBudget
from tests.tower.running import running
from tests.tower.scripted import approval, at, world

ASKED = {
    "kind": "budget",
    "question": "The budget is used up (412,000 of 400,000 tokens). Send this prompt? go",
    "choices": ["go on once", "raise the budget by as much again, and go on"],
    "allowFreeform": False,
}


@pytest.mark.parametrize(
    ("text", "budget"),
    [
        ("400k tokens, 30 requests", Budget(400_000, 30.0)),
        ("400,000", Budget(400_000)),
        ("1.5M tokens and 2.5 premium requests", Budget(1_500_000, 2.5)),
        (" 12 premium ", Budget(None, 12.0)),
        ("none", Budget()),
        ("0", Budget()),
    ],
)
def test_a_budget_is_read_as_it_is_written(text: str, budget: Budget) -> None:
    assert read_budget(text) == budget


@pytest.mark.parametrize("text", ["much", "-4", "5 apples", "0 tokens", "9" * 40, "1,5 tokens x"])
def test_what_is_no_budget_says_what_is(text: str) -> None:
    with pytest.raises(BudgetError, match="Such as 400k tokens"):
        read_budget(text)


@given(st.text(max_size=30))
def test_nothing_that_is_written_is_a_fault(text: str) -> None:
    try:
        budget = read_budget(text)
    except BudgetError:
        return
    assert read_budget(budget_words(budget)).tokens == budget.tokens


async def test_the_budget_of_a_session_is_set_from_its_row() -> None:
    state = world()
    state.sessions["s1"] = replace(state.sessions["s1"], budget=Budget(400_000))
    async with running(state) as rig:
        await rig.press("1", "full_stop")
        assert "budget (now 400,000 tokens)" in rig.text
        await rig.press("b", "ctrl+u", *"3k", "enter")
        assert rig.feed.sent == [SessionBudget("s1", 3_000)]
        await rig.press("full_stop", "b", "ctrl+u", *"much", "enter")
        assert "“much” is no budget" in rig.notices[-1]
        assert len(rig.feed.sent) == 1


async def test_a_budget_that_is_used_up_is_a_question_with_a_no() -> None:
    state = world()
    asked = approval("a1", "userInput", ASKED, session_id="s1", expires_at=at(-90_000))
    state.approvals = {"a1": asked}
    async with running(state) as rig:
        assert "budget" in rig.text
        await rig.press("a")
        assert "has used up its budget" in rig.text
        await rig.turn(1)
        await rig.press("escape", "d")
        assert "denies: the prompt is not sent" in rig.text
        await rig.press("enter")
        assert rig.feed.sent == [ApprovalDecide(approval_id="a1", decision="deny")]
