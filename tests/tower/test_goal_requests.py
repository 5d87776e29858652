"""What is asked about goals: in the sheet, with the answers that there are."""

from typing import Any

from tapui.projection.requests.goals import DROP, LEAVE, MORE, OPENED, YES
from tapui.tower.requests.request_detail import DEAF_SECONDS, RequestDetail
from tapui.tower.textual.reader import Reader
from tapui.wire.tower import ApprovalDecide
from tests.tower.running import on_top, running
from tests.tower.scripted import approval, at, world

UNPROVEN: dict[str, Any] = {
    "kind": "unproven",
    "goalId": "g1",
    "goal": "the cart works",
    "question": "the cart works",
    "by": "person",
    "missing": ["pytest ends with exit 0: never run"],
    "choices": [LEAVE, MORE, "it is achieved", DROP],
    "allowFreeform": False,
}
CRITERION: dict[str, Any] = {
    "kind": "criterion",
    "goalId": "g1",
    "goal": "the cart works",
    "question": "The page looks good",
    "by": "agent",
    "choices": [YES, "no, it is not so"],
    "allowFreeform": False,
}


async def answered(detail: dict[str, Any], *keys: str) -> tuple[str, list[Any]]:
    state = world()
    asked = approval("a1", "goal", detail, session_id="s1", expires_at=at(-90_000))
    state.approvals = {"a1": asked}
    async with running(state) as rig:
        await rig.press("a")
        text = rig.text
        await rig.turn(1)
        await rig.press(*keys)
        return text, rig.feed.sent


async def test_a_goal_that_was_not_reached_says_what_is_missing() -> None:
    text, sent = await answered(UNPROVEN, "escape", "d", "enter")
    assert "sent back, not proven" in text
    assert "not proven: pytest ends with exit 0: never run" in text
    for choice in (LEAVE, MORE, DROP):
        assert choice in text
    assert sent == [ApprovalDecide(approval_id="a1", decision="deny")]


async def test_a_criterion_of_an_agents_says_whose_words_these_are() -> None:
    text, sent = await answered(CRITERION, "enter", "enter")
    assert "The page looks good" in text
    assert "these are the agent's words" in text
    assert sent == [ApprovalDecide(approval_id="a1", decision="approve", answer=YES)]


def of_file(name: str, **more: Any) -> dict[str, Any]:
    """Return the detail of a request about a goal of a folder's file."""
    return {
        "name": name,
        "changed": "",
        "criteria": [{"check": {"kind": "ran", "command": "pytest -q", "minTests": 3}}],
        "agent": None,
        "deadline": None,
        "folder": "/code",
        "file": "/code/tap.config.json",
        "line": 3,
        **more,
    }


async def file_answered(
    details: list[dict[str, Any]], *keys: str
) -> tuple[str, str, list[tuple[str, str]]]:
    """Open the sheet, press keys; return what it showed, its text, and what was decided."""
    state = world()
    state.approvals = {
        f"a{number}": approval(
            f"a{number}", "fileGoal", detail, session_id="s1", expires_at=at(-90_000)
        )
        for number, detail in enumerate(details, 1)
    }
    async with running(state, size=(120, 50)) as rig:
        await rig.press("a")
        await rig.turn(DEAF_SECONDS)
        screen = on_top(rig.app)
        assert isinstance(screen, RequestDetail)
        shown, text = rig.text, screen.query_one(Reader).text
        await rig.press(*keys)
        decided = [
            (one.approval_id, one.decision)
            for one in rig.feed.sent
            if isinstance(one, ApprovalDecide)
        ]
        return shown, text, decided


async def test_a_goal_of_a_file_is_shown_to_the_letter() -> None:
    detail = of_file(
        "the cart\x1b[2J",
        changed="other criteria",
        agent="reviewer",
        deadline="2036-01-01T00:00:00Z",
        criteria=[
            {"check": {"kind": "ran", "command": "pytest -q", "minTests": 3}},
            {"text": "The page looks good"},
            {"text": "it is saved", "check": {"kind": "call", "tool": "save"}},
        ],
        later="a key of a later tapui",
    )
    shown, text, decided = await file_answered([detail], "end", "y", "enter")
    assert "its folder's file has a goal: the cart\\x1b[2J" in shown
    for part in (
        "│ the cart\\x1b[2J",
        "Changed since you allowed it:",
        "│ other criteria",
        "│ 1. ran pytest -q",
        "│    minTests: 3",
        "│ 2. you say: The page looks good",
        "│ 3. it is saved",
        "│    call save",
        "agent        reviewer",
        "deadline     2036-01-01T00:00:00Z",
        "from         /code/tap.config.json:3",
        "│ a key of a later tapui",
    ):
        assert part in text, part
    assert OPENED in " ".join(text.split())
    assert "allow exactly this" in shown
    assert decided == [("a1", "approve")]


async def test_goals_of_one_file_are_answered_together() -> None:
    details = [of_file("tests"), of_file("page"), of_file("elsewhere", folder="/other")]
    shown, text, decided = await file_answered(details, "end", "d", "enter")
    assert "its folder's file has 2 goals" in shown
    assert "1 of 2" in text
    assert "elsewhere" not in text
    assert decided == [("a1", "deny"), ("a2", "deny")]
