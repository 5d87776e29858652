"""Towers see turns: the newest in the snapshot, the others on demand."""

import json

import msgspec
import pytest
from msgspec.structs import replace

from tapui.wire import limits
from tapui.wire.turns import Turn
from tests.core.conftest import Scene
from tests.core.harness import Json


def turns(scene: Scene, **asked: int) -> list[Json]:
    scene.tower.hear()
    read = {"type": "turns.read", "id": "t", "sessionId": "s1", **asked}
    answer = scene.tower.say(read).hear_one("turns")
    assert answer["id"] == "t"
    found: list[Json] = answer["turns"]
    return found


def prompt(scene: Scene, text: str) -> None:
    scene.host.say(
        type="session.event", sessionId="s1", event="user.message", data={"content": text}
    )


def told(scene: Scene) -> Json:
    state: Json = scene.talk.tower().ack["state"]
    one: Json = next(one for one in state["turns"] if one["sessionId"] == "s1")
    return one


def test_calls_of_providers_and_of_the_host_are_steps(scene: Scene) -> None:
    prompt(scene, "Greet")
    scene.host.invoke("s1", args={"name": "Ann"})
    scene.provider.result(scene.provider.take_call(), data=1)
    start = {"tool": "bash", "toolCallId": "b1", "args": {"command": "ls"}}
    event = {"type": "session.event", "sessionId": "s1"}
    scene.host.say(**event, event="tool.execution_start", data=start)
    (turn,) = turns(scene)
    assert turn["head"]["prompt"] == "Greet"
    fields = ("provider", "tool", "summary", "state")
    assert [tuple(one[name] for name in fields) for one in turn["steps"]] == [
        ("greeter", "greet", "Ann", "done"),
        ("copilot", "bash", "ls", "running"),
    ]
    scene.host.say(**event, event="session.idle", data={})
    (turn,) = turns(scene)
    assert [one["state"] for one in turn["steps"]] == ["done", "cancelled"]
    assert turn["head"]["state"] == "done"


def test_the_snapshot_has_the_newest_turn_whole_and_heads(scene: Scene) -> None:
    for text in ("one", "two", "three"):
        prompt(scene, text)
        scene.host.invoke("s1")
        scene.provider.result(scene.provider.take_call(), data=1)
    one = told(scene)
    assert [head["prompt"] for head in one["heads"]] == ["one", "two"]
    assert one["current"]["head"]["prompt"] == "three"
    assert len(one["current"]["steps"]) == 1
    assert [turn["head"]["prompt"] for turn in turns(scene)] == ["three"]
    assert [turn["head"]["prompt"] for turn in turns(scene, last=2)] == ["two", "three"]
    assert [turn["head"]["prompt"] for turn in turns(scene, last=9, before=3)] == ["one", "two"]
    assert turns(scene, last=0) == turns(scene, last=-1) == turns(scene, before=1) == []


def test_an_unknown_session_has_no_turns(scene: Scene) -> None:
    read = {"type": "turns.read", "id": "t", "sessionId": "nowhere"}
    assert scene.tower.say(read).hear_one("turns")["turns"] == []


def test_an_answer_is_bounded_in_bytes(scene: Scene) -> None:
    for number in range(limits.TURNS):
        prompt(scene, "p" * 1000)
        for _ in range(40):
            scene.host.invoke("s1", args={"text": "ü" * 1000})
            scene.provider.result(scene.provider.take_call(), data=number)
    found = turns(scene, last=limits.TURNS)
    assert found[-1]["head"]["number"] == limits.TURNS
    size = len(json.dumps(found, ensure_ascii=False).encode())
    assert size < limits.MAX_TURNS_READ_BYTES
    assert sum(len(turn.get("steps", [])) for turn in found) <= limits.SESSION_STEPS


def own_call(scene: Scene, tool: str, args: Json, **end: object) -> Json:
    """Let the host tell of a call; return its step."""
    event = {"type": "session.event", "sessionId": "s1"}
    data = {"tool": tool, "toolCallId": "b1"}
    scene.host.say(**event, event="tool.execution_start", data={**data, "args": args})
    scene.host.say(**event, event="tool.execution_complete", data={**data, **end})
    step: Json = turns(scene)[0]["steps"][-1]
    return step


def test_a_shell_s_exit_code_and_the_changes_that_a_host_tells(scene: Scene) -> None:
    changes = [{"path": "b.txt", "isProbable": True}]
    step = own_call(scene, "bash", {"command": "make"}, exitCode=2, changes=changes)
    assert (step["state"], step["exitCode"]) == ("failed", 2)
    assert turns(scene)[0]["head"]["files"] == changes
    assert turns(scene)[0]["head"]["failed"] == 1


def test_changes_that_nobody_tells_are_read_from_the_arguments(scene: Scene) -> None:
    step = own_call(scene, "edit", {"path": "a.py", "old_str": "a\nb", "new_str": "a\nc\nd"})
    assert (step["added"], step["removed"]) == (2, 1)
    own_call(scene, "edit", {"path": "n.py", "old_str": "", "new_str": "x"}, result={"type": "no"})
    assert turns(scene)[0]["head"]["files"] == [{"path": "a.py", "added": 2, "removed": 1}]


def test_a_failed_tool_says_why_by_its_output(scene: Scene) -> None:
    end = {"type": "failure", "output": "No such\nfile"}
    assert own_call(scene, "view", {"path": "x"}, result=end)["error"] == "No such ⏎ file"
    end = {"type": "failure", "output": {"code": 3}}
    assert own_call(scene, "view", {"path": "x"}, result=end)["error"] == "the tool failed"


def test_a_call_s_changes_of_the_wrong_kind_are_refused(scene: Scene) -> None:
    data = {"tool": "bash", "toolCallId": "b1", "changes": [{"path": 7}]}
    said = {"type": "session.event", "sessionId": "s1", "event": "tool.execution_complete"}
    assert scene.host.say(**said, data=data).hear_one("error")["code"] == "INVALID_JSON"


def test_what_an_agent_writes_is_told_to_towers_ten_times_a_second_and_not_kept(
    scene: Scene,
) -> None:
    seq = scene.talk.gateway.seq
    for number in range(5):
        scene.host.say(type="session.now", sessionId="s1", text=f"{number}\n" + "x" * 1000)
        scene.talk.wait(0.05)
    told = [one["text"] for one in scene.tower.hear_of("session.now")]
    assert [text[:4] for text in told] == ["0 ⏎ ", "2 ⏎ ", "4 ⏎ "]
    assert max(map(len, told)) <= limits.MAX_SUMMARY
    assert scene.talk.gateway.seq == seq
    other = scene.talk.host()
    other.say(type="session.now", sessionId="s1", text="mine")
    assert other.hear_one("error")["code"] == "INVALID_SESSION"


TURN = {
    "head": {
        "number": 1, "sessionId": "s2", "startedAt": "2025-01-01T00:00:00.000000Z",
        "state": "done", "source": {"kind": "person"}, "prompt": "earlier",
    },
    "steps": [
        {"id": "1.1", "kind": "call", "state": "running", "tool": "bash", "summary": "ls",
         "at": "2025-01-01T00:00:01.000000Z", "callId": "t1"},
    ],
}  # fmt: skip


def prompts(scene: Scene) -> list[str]:
    found = scene.talk.gateway.state.turns["s2"].heads()
    return [head.prompt for head in found]


def test_what_happened_before_a_host_came_is_shown_as_history(scene: Scene) -> None:
    scene.host.open("s2")
    history = {"type": "session.history", "sessionId": "s2", "turns": [TURN]}
    scene.host.say(history).say(history)
    assert prompts(scene) == ["earlier"]
    (turn,) = scene.talk.gateway.state.turns["s2"].turns
    assert (turn.is_history, turn.steps[0].state) == (True, "unknown")
    assert len(scene.talk.events("session.restored")) == 1
    assert scene.talk.gateway.state.calls == {}


def test_the_records_turns_go_before_the_host_s(scene: Scene) -> None:
    recorded = msgspec.convert(TURN, Turn)
    recorded = replace(recorded, head=replace(recorded.head, prompt="recorded"))
    scene.talk.earlier["s2"] = [recorded]
    scene.host.open("s2")
    scene.host.say({"type": "session.history", "sessionId": "s2", "turns": [TURN]})
    assert prompts(scene) == ["recorded"]


@pytest.mark.parametrize("turns", ["x", [1], [{"head": {}}], [{**TURN, "steps": [{"id": 3}]}]])
def test_a_history_that_is_none_is_refused(scene: Scene, turns: object) -> None:
    scene.host.open("s2")
    said = scene.host.say({"type": "session.history", "sessionId": "s2", "turns": turns})
    assert said.hear_one("error")["code"] == "INVALID_JSON"
    assert prompts(scene) == []
