"""What a session's own shells told is recorded with their calls, and with no other's."""

from typing import Any

import pytest

from tapui.wire import limits
from tests.core.conftest import Scene
from tests.core.harness import Conversation, Json

SHELL: Json = {"id": "3", "cwd": "/code", "isCut": True, "head": "a\n", "tail": "z\n"}
DONE: Json = {"type": "success", "output": "cut"}


@pytest.fixture(autouse=True)
def named(scene: Scene) -> None:
    """Open the session `s2`, whose shells its host names."""
    scene.host.open("s2", shellTools=["bash"], reservedTools=["bash"])


def ends(scene: Scene, session: str, tool: str = "bash", id_: str = "t1", **data: Any) -> Json:
    """Let a command run; return its call as it was recorded."""
    scene.host.event(session, "tool.execution_start", tool=tool, toolCallId=id_)
    scene.host.event(session, "tool.execution_complete", tool=tool, toolCallId=id_, **data)
    return next(
        one["call"]
        for one in reversed(scene.talk.events("call.finished"))
        if one["call"]["id"] == id_
    )


def exited(talk: Conversation) -> list[Json]:
    return [one["call"] for one in talk.events("call.exited")]


def test_it_is_recorded_with_the_call(scene: Scene) -> None:
    call = ends(scene, "s2", result=DONE, exitCode=3, shell=SHELL)
    assert (call["exitCode"], call["shell"]) == (3, SHELL)


def test_of_a_host_that_names_no_shells_nothing_is_taken(scene: Scene) -> None:
    call = ends(scene, "s1", result=DONE, exitCode=0, shell=SHELL)
    assert (call["state"], "shell" in call) == ("done", False)


@pytest.mark.parametrize("tool", ["evil-bash", "view"])
def test_of_other_tools_nothing_is_taken(scene: Scene, tool: str) -> None:
    assert "shell" not in ends(scene, "s2", tool, result=DONE, exitCode=0, shell=SHELL)


def test_of_a_providers_tool_with_a_shells_name_nothing_is_taken(scene: Scene) -> None:
    scene.host.open("s3", shellTools=["greet"])
    scene.talk.provider("s3", name="other")
    assert "shell" not in ends(scene, "s3", "greet", result=DONE, exitCode=0, shell=SHELL)


@pytest.mark.parametrize(
    "shell", ["x", {}, {"id": 1}, {"id": "3", "tail": "x" * (limits.MAX_SHELL_TEXT + 1)}]
)
def test_a_malformed_one_leaves_the_call_under_way(scene: Scene, shell: Any) -> None:
    scene.host.event("s2", "tool.execution_start", tool="bash", toolCallId="t1")
    end = {"tool": "bash", "toolCallId": "t1", "result": DONE}
    scene.host.hear()
    error = scene.host.error(
        type="session.event",
        sessionId="s2",
        event="tool.execution_complete",
        data=end | {"shell": shell},
    )
    assert error["code"] == "INVALID_JSON"
    scene.host.event("s2", "tool.execution_complete", **end, shell=None)
    assert scene.talk.gateway.state.calls == {}


def test_the_state_keeps_an_end_and_the_record_all(scene: Scene) -> None:
    long = SHELL | {"head": "h" * 4_000, "tail": "t" * limits.MAX_SHELL_TEXT}
    call = ends(scene, "s2", result=DONE, exitCode=0, shell=long)
    assert call["shell"] == long
    talk = scene.talk
    kept = talk.gateway.state.recent_calls["t1"]
    assert kept.shell is not None
    assert (kept.shell.head, kept.shell.tail, kept.is_cut) == ("", "t" * limits.HEAD_BYTES, True)
    tower = talk.tower()
    tower.hear()
    whole = tower.say(type="detail.read", id="d", of="call", subject="t1").hear_one("detail")
    assert whole["call"]["shell"] == long


def test_an_output_that_is_too_long_for_its_record_keeps_its_ends(scene: Scene) -> None:
    text = "".join(f"{number}\n" for number in range(20_000))
    call = ends(scene, "s2", result=DONE | {"output": text}, exitCode=0, shell={"id": "3"})
    assert "dataCut" in call
    assert text.startswith(call["shell"]["head"])
    assert text.endswith(call["shell"]["tail"])


def test_providers_do_not_get_it(scene: Scene) -> None:
    subscribe = ["tool.execution_complete", "shell.completed"]
    provider = scene.talk.provider("s2", name="other", subscribe=subscribe)
    ends(scene, "s2", result=DONE, exitCode=0, shell={"id": "3", "isBehind": True})
    scene.host.event("s2", "shell.completed", toolCallId="t1", exitCode=1, shell=SHELL)
    heard = [one["data"] for one in provider.hear() if one["type"] == "session.event"]
    assert [one.keys() & {"shell"} for one in heard] == [set(), set()]


# The background


def test_the_end_of_a_command_in_the_background_is_its_calls(scene: Scene) -> None:
    ends(scene, "s2", result=DONE, shell={"id": "bg", "isBehind": True})
    scene.host.event(
        "s2", "shell.completed", toolCallId="t1", exitCode=5, shell={"id": "bg", "cwd": "/"}
    )
    (call,) = exited(scene.talk)
    shell = {"id": "bg", "cwd": "/", "isBehind": True}
    assert (call["id"], call["tool"], call["exitCode"]) == ("t1", "bash", 5)
    assert call["shell"] == shell
    kept = scene.talk.gateway.state.recent_calls["t1"]
    assert (kept.exit_code, kept.shell is not None and kept.shell.cwd) == (5, "/")
    (told,) = scene.talk.events("session.event")
    assert told["data"] == {"toolCallId": "t1", "exitCode": 5}


def test_it_is_told_once(scene: Scene) -> None:
    ends(scene, "s2", result=DONE, shell={"id": "bg", "isBehind": True})
    for code in (1, 0):
        scene.host.event(
            "s2", "shell.completed", toolCallId="t1", exitCode=code, shell={"id": "bg"}
        )
    assert [one["exitCode"] for one in exited(scene.talk)] == [1]


def test_an_end_of_what_did_not_go_on_is_nobodys(scene: Scene) -> None:
    ends(scene, "s2", result=DONE, exitCode=1, shell={"id": "0"})
    scene.host.event("s2", "shell.completed", toolCallId="t1", exitCode=0, shell={"id": "0"})
    ends(scene, "s1", id_="t2", result=DONE, shell={"id": "bg", "isBehind": True})
    scene.host.event("s1", "shell.completed", toolCallId="t2", exitCode=0, shell={"id": "bg"})
    scene.host.event("s2", "shell.completed", toolCallId="t9", exitCode=0, shell={"id": "9"})
    assert exited(scene.talk) == []
    assert scene.talk.gateway.state.recent_calls["t1"].exit_code == 1


def test_commands_in_the_background_are_bounded(
    scene: Scene, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_NATIVE_CALLS", 3)
    for number in range(5):
        ends(scene, "s2", id_=f"t{number}", result=DONE, shell={"id": "bg", "isBehind": True})
    session = scene.talk.gateway.parts.sessions.open["s2"]
    assert list(session.behind) == ["t2", "t3", "t4"]
