"""Results of tapui's own tools that would be too long: cut, or told page by page."""

import json
from typing import Any

import pytest

from tapui.wire.limits import MAX_TOOL_RESULT
from tests.core.conftest import Scene
from tests.core.emitters.test_consent import asked, decide
from tests.core.goals.played import GoalScene
from tests.core.harness import Conversation, Json, Peer, tool
from tests.core.runner import EmitterShell
from tests.tools.conftest import Caller

WIDE = "\u20ac" * 300


def size(told: Any) -> int:
    return len(json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode())


def pages(caller: Any, tool: str, entries: str, **args: Any) -> list[list[Json]]:
    """Call a tool until nothing is left; return the entries of each page, each within bounds."""
    found: list[list[Json]] = []
    more: Json = {}
    while True:
        told = caller(tool, **args, **more)
        assert size(told) <= MAX_TOOL_RESULT
        found.append(told[entries])
        if "cursor" not in told:
            assert "truncated" not in told
            return found
        assert told["truncated"] is True
        more = {"cursor": told["cursor"]}


@pytest.fixture
def played(talk: Conversation) -> GoalScene:
    host = talk.host()
    host.open("s1")
    provider, tower = talk.provider("s1"), talk.tower()
    talk.wait(1)
    talk.forget()
    return GoalScene(Scene(talk, host, provider, tower))


def test_many_goals_are_told_the_newest_first_and_the_others_by_the_cursor(
    played: GoalScene,
) -> None:
    for number in range(12):
        texts = [{"text": f"{number}.{at} {WIDE}"} for at in range(20)]
        played.call("tap_create_goal", title=f"goal {number}", criteria=texts)
    found = pages(played.call, "tap_list_goals", "goals")
    assert len(found) > 1
    titles = [one["title"] for page in reversed(found) for one in page]
    assert titles == [f"goal {number}" for number in range(12)]
    assert found[0][-1]["criteria"][19]["text"] == f"11.19 {WIDE}"


def test_a_goal_that_is_too_long_alone_is_cut(played: GoalScene) -> None:
    texts = [{"id": f"c{at}{WIDE[:250]}", "text": f"{at} {WIDE[:170]}"} for at in range(50)]
    for title in ("first", "second"):
        played.call("tap_create_goal", title=title, criteria=texts)
    newest = played.call("tap_list_goals")
    oldest = played.call("tap_list_goals", cursor=newest["cursor"])
    for told, title in ((newest, "second"), (oldest, "first")):
        assert size(told) <= MAX_TOOL_RESULT
        (goal,) = told["goals"]
        assert (told["truncated"], goal["truncated"], goal["title"]) == (True, True, title)
        assert [one["id"].rstrip("\u20ac\u2026") for one in goal["criteria"]] == [
            f"c{at}" for at in range(50)
        ]
    assert "cursor" not in oldest


def test_each_check_of_a_long_report_keeps_its_outcome(played: GoalScene) -> None:
    checks = [
        {"id": f"c{at}", "kind": "file", "path": f"{at}/{WIDE}", "contains": [WIDE]}
        for at in range(100)
    ]
    told = played.call("tap_verify_goal_output", checks=checks)
    assert size(told) <= MAX_TOOL_RESULT
    assert told["truncated"] is True
    assert [one["id"] for one in told["checks"]] == [f"c{at}" for at in range(100)]
    assert sum(told["counts"].values()) == 100
    assert {one["status"] for one in told["checks"]} <= {"pass", "fail", "error", "unknown"}


def test_a_long_audit_keeps_each_claims_verdict(played: GoalScene) -> None:
    claims = [
        {
            "id": f"c{at}",
            "text": f"{at} {WIDE} {WIDE}",
            "evidence": [{"kind": "ran", "command": f"{WIDE} {n}"} for n in range(2)],
        }
        for at in range(50)
    ]
    told = played.call("tap_audit_claims", claims=claims)
    assert size(told) <= MAX_TOOL_RESULT
    assert told["truncated"] is True
    assert [one["id"] for one in told["claims"]] == [f"c{at}" for at in range(50)]
    assert {one["verdict"] for one in told["claims"]} == {"unsupported"}
    assert told["counts"]["unsupported"] == 50


def test_a_report_that_is_short_is_whole(played: GoalScene) -> None:
    told = played.call("tap_verify_goal_output", checks=[{"kind": "ran", "command": "pytest"}])
    assert "truncated" not in told


def test_lines_are_a_list_and_page_by_page_where_they_are_long(caller: Caller) -> None:
    for number in range(40):
        caller.calls("tap_post", stream="notes", message=f"{number} " + "x" * 5000)
    short = caller.calls("tap_stream_history", stream="notes", last=3)
    assert [one["seq"] for one in short] == [38, 39, 40]
    found = pages(caller.calls, "tap_stream_history", "lines", stream="notes", last=40)
    assert len(found) > 2
    assert [one["seq"] for page in reversed(found) for one in page] == list(range(1, 41))
    assert all(len(one["event"]) > 5000 for page in found for one in page)


@pytest.mark.parametrize(
    "metadata",
    [
        {"a": {"b": ["x" * 9000] * 9}},
        {f"k{at}": {f"k{n}": at for n in range(300)} for at in range(300)},
        [{"deep": [[["x" * 30] * 12] * 12] * 12}] * 12,
    ],
    ids=["texts", "keys", "nested"],
)
def test_a_line_that_is_too_long_alone_is_cut(
    caller: Caller, talk: Conversation, metadata: Any
) -> None:
    provider = talk.provider("s1", name="ci")
    provider.push("x" * 200_000, stream="log", metadata={"all": metadata})
    told = caller.calls("tap_stream_history", stream="log@ci")
    assert size(told) <= MAX_TOOL_RESULT
    (line,) = told["lines"]
    assert (line["seq"], line["truncated"], line["event"][:3]) == (1, True, "xxx")
    (listed,) = caller.calls("tap_list_streams")["streams"]
    assert (listed["stream"], listed["count"], listed["truncated"]) == ("log@ci", 1, True)


def test_many_emitters_are_told_by_pages(
    caller: Caller, talk: Conversation, shell: EmitterShell, tower: Peer
) -> None:
    rules = [{"match": f"{at} {'x' * 200}", "outcome": "keep"} for at in range(20)]
    for number in range(20):
        caller.begins(
            "tap_start_emitter", name=f"e{number:02}", command=f"run {number}", eventFilter=rules
        )
        decide(tower, asked(talk))
        assert "error" not in caller.outcome()
    found = pages(caller.calls, "tap_list_emitters", "emitters")
    assert len(found) > 1
    assert [one["name"] for page in found for one in page] == [f"e{at:02}" for at in range(20)]


def test_a_session_with_many_tools_has_a_state_that_fits(
    caller: Caller, talk: Conversation
) -> None:
    for number in range(10):
        names = (f"t{number}-{at:02}-" + "x" * 55 for at in range(100))
        talk.provider("s1", name=f"crowd{number}", tools=[tool(name) for name in names])
    told = caller.calls("tap_get_session_state")
    assert size(told) <= MAX_TOOL_RESULT
    assert (told["truncated"], told["sessionId"]) == (True, "s1")


@pytest.mark.parametrize("cursor", ["s9", "", 3, ["s1"]])
def test_a_cursor_that_names_nothing_is_refused(caller: Caller, cursor: Any) -> None:
    caller.calls("tap_post", stream="notes", message="one")
    for name in ("tap_list_streams", "tap_list_goals", "tap_list_emitters"):
        assert "cursor" in caller.fails(name, cursor=cursor)
    assert "cursor" in caller.fails("tap_stream_history", stream="notes", cursor=cursor)
