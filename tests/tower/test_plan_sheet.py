"""A plan that is ready: read whole on its sheet, approved with a mode or sent back with changes."""

import pytest

from tapui.hosts.copilot.asks.questions import plan_form
from tapui.projection.state import State
from tapui.wire.tower import ApprovalDecide
from tests.tower.running import running
from tests.tower.scripted import approval, session

PLAN = "# The plan\n\n1. Look\n2. Leap over the fence"


def planned() -> State:
    """A session whose plan waits."""
    state = State()
    state.sessions["s1"] = session("s1", "Fence", state="busy")
    detail = plan_form(
        {
            "summary": "Look, then leap",
            "planContent": PLAN,
            "actions": ["interactive", "autopilot"],
            "recommendedAction": "interactive",
        }
    )
    state.approvals["a1"] = approval("a1", "elicitation", detail, session_id="s1")
    return state


@pytest.mark.parametrize(
    ("keys", "answer"),
    [
        (["enter"], {"then": "interactive"}),
        (["down", "enter"], {"then": "autopilot"}),
        (["tab", *"leap"], {"then": "interactive", "changes": "leap"}),
    ],
)
@pytest.mark.parametrize("size", [(120, 50), (160, 50)], ids=["sheet", "beside-the-lists"])
async def test_a_plan_is_read_and_answered(
    size: tuple[int, int], keys: list[str], answer: dict[str, str]
) -> None:
    async with running(planned(), size=size) as rig:
        await rig.press("a")
        assert "Fence has a plan ready" in rig.text
        assert "The plan is ready: Look, then leap" in rig.text
        assert "d  send it back without a word" in rig.text
        assert "2. Leap over the fence" in rig.text
        assert "What follows" in rig.text
        assert "● interactive: run the plan" in rig.text
        assert "○ autopilot" in rig.text
        assert "what is to change in the plan" in rig.text
        await rig.turn(1)
        await rig.press(*keys, "enter")
        await rig.turn(1)
        await rig.press("enter")
        sent = [one for one in rig.feed.sent if isinstance(one, ApprovalDecide)]
        assert [(one.decision, one.answer) for one in sent] == [("approve", answer)]
