"""What happened before tapui ran, out of a session's own file: as the CLI wrote it, and forged."""

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tapui.hosts.copilot.session import history
from tapui.projection.turns.earlier_turns import TAPUI_ENDED
from tapui.wire.turns import FileChange, Turn, TurnSource, Usage
from tests.projection.test_summary import json_values

AFTER = datetime(2027, 1, 1, tzinfo=UTC)
DIFF = "\n--- a/code/a.txt\n+++ b/code/a.txt\n@@ -1,2 +1,3 @@\n one\n-two\n+2\n+2b\n"


def event(at: int, kind: str, agent: str | None = None, /, **data: Any) -> bytes:
    told = {"type": kind, "data": data, "timestamp": f"2026-11-22T07:54:{at:02}.869Z", "id": "x"}
    return json.dumps({**told, "agentId": agent} if agent else told).encode()


def written(folder: Path, *lines: bytes) -> Path:
    (folder / "events.jsonl").write_bytes(b"".join(line + b"\n" for line in lines))
    return folder


def read(folder: Path, *, is_busy: bool = False, before: datetime = AFTER) -> list[Turn]:
    return history.read(folder, "s1", before, is_busy=is_busy).turns


def call(at: int, id_: str, tool: str, args: Any, **end: Any) -> list[bytes]:
    start = event(at, "tool.execution_start", toolCallId=id_, toolName=tool, arguments=args)
    return [start, event(at + 1, "tool.execution_complete", toolCallId=id_, **end)]


TURN = [
    event(1, "session.start", sessionId="s1"),
    event(2, "user.message", content="go now", delivery="idle"),
    event(2, "assistant.turn_start", turnId="0"),
    event(3, "session.usage_record", usage={"inputTokens": 100, "outputTokens": 20, "cost": 0.0}),
    event(3, "assistant.message", content=""),
    *call(4, "t1", "edit", {"path": "/code/a.txt"}, success=True,
          fileEdits=[{"path": "/code/a.txt", "kind": "edit"}],
          result={"content": "ok", "detailedContent": DIFF}),
    *call(6, "t2", "bash", {"command": "make"}, success=True, shellExecution={"exitCode": 7}),
    *call(8, "t3", "view", {"path": "x"}, success=False, error={"message": "no such file"}),
    event(10, "assistant.message", content="all done"),
    event(11, "assistant.turn_end", turnId="0"),
]  # fmt: skip


def test_the_prompts_are_known_by_the_ids_of_their_events(tmp_path: Path) -> None:
    earlier = history.read(written(tmp_path, *TURN), "s1", AFTER, is_busy=False)
    assert earlier.prompts == {"x": "2026-11-22T07:54:02.869000Z"}


def test_what_the_cli_began_by_itself_is_a_turn_with_a_name(tmp_path: Path) -> None:
    kind = {"type": "shell_completed", "shellId": "bg1", "exitCode": 5, "description": "npm test"}
    own = [
        event(12, "system.notification", content="exited", kind=kind),
        event(12, "assistant.message", content="", toolRequests=[{"name": "read_bash"}]),
        *call(13, "t4", "read_bash", {"shellId": "bg1"}, success=True),
        event(15, "assistant.turn_start", turnId="0"),
        event(16, "assistant.message", content="it is red"),
        event(17, "assistant.turn_end", turnId="0"),
    ]
    first, second = read(written(tmp_path, *TURN, *own))
    assert (first.head.prompt, first.head.state) == ("go now", "done")
    assert second.head.source == TurnSource("host", "Copilot")
    assert second.head.prompt == "shell “npm test” completed"
    assert [step.tool or step.kind for step in second.steps] == ["read_bash", "message"]


def test_a_turn_is_read_as_the_cli_wrote_it(tmp_path: Path) -> None:
    (turn,) = read(written(tmp_path, *TURN))
    head = turn.head
    assert (head.prompt, head.state, head.failed, head.is_history) == ("go now", "done", 2, True)
    assert head.started_at == "2026-11-22T07:54:02.869000Z"
    assert head.ended_at == "2026-11-22T07:54:11.869000Z"
    assert head.usage == Usage(100, 20, 0.0, calls=1)
    assert head.files == [FileChange("/code/a.txt", 2, 1)]
    assert [(one.kind, one.state, one.summary, one.call_id) for one in turn.steps] == [
        ("call", "done", "/code/a.txt", "t1"),
        ("call", "failed", "make", "t2"),
        ("call", "failed", "x", "t3"),
        ("message", "done", "all done", None),
    ]
    assert [one.exit_code for one in turn.steps] == [None, 7, None, None]
    assert (turn.steps[0].duration, turn.steps[2].error) == (1000.0, "no such file")


def test_a_command_behind_its_call_has_the_exit_code_that_was_told_later(tmp_path: Path) -> None:
    text = "<command started in background with shellId: 1>"
    kind = {"kind": {"type": "shell_completed", "shellId": "1", "exitCode": 2}}
    notified = json.loads(event(9, "system.notification", content=""))
    notified["data"] |= kind
    (turn,) = read(
        written(
            tmp_path,
            event(1, "session.start", sessionId="s1"),
            event(2, "user.message", content="go"),
            *call(4, "t1", "bash", {"command": "make"}, success=True, result={"content": text}),
            json.dumps(notified).encode(),
        )
    )
    assert [(one.state, one.exit_code) for one in turn.steps] == [("failed", 2)]
    assert turn.head.failed == 1


def test_what_came_after_this_host_is_told_live(tmp_path: Path) -> None:
    later = event(30, "user.message", content="later")
    before = datetime(2026, 11, 22, 7, 54, 20, tzinfo=UTC)
    (turn,) = read(written(tmp_path, *TURN, later), before=before)
    assert turn.head.prompt == "go now"


@pytest.mark.parametrize(("is_busy", "state"), [(True, "running"), (False, "unknown")])
def test_a_call_under_way_is_unknown(tmp_path: Path, is_busy: bool, state: str) -> None:
    (turn,) = read(written(tmp_path, *TURN[:6]), is_busy=is_busy)
    assert turn.head.state == state
    assert [(one.state, one.error) for one in turn.steps] == [("unknown", TAPUI_ENDED)]


def test_calls_under_way_are_told_of_where_the_turn_goes_on(tmp_path: Path) -> None:
    folder = written(tmp_path, *TURN[:6], event(9, "tool.execution_start", toolCallId=7))
    (call_,) = history.read(folder, "s1", AFTER, is_busy=True).calls
    assert (call_.id, call_.tool, call_.args) == ("t1", "edit", {"path": "/code/a.txt"})
    assert history.read(folder, "s1", AFTER, is_busy=False).calls == []


def test_a_turn_that_was_sent_back_is_one(tmp_path: Path) -> None:
    lines = [
        *TURN,
        event(12, "hook.end", hookType="agentStop",
              output={"decision": "block", "reason": "run the tests"}),
        event(13, "user.message", content="run the tests", delivery="queued"),
        event(14, "assistant.message", content="they pass"),
    ]  # fmt: skip
    (turn,) = read(written(tmp_path, *lines))
    assert (turn.head.source.kind, turn.head.says) == ("person", "they pass")
    assert [(one.kind, one.summary) for one in turn.steps[-3:]] == [
        ("message", "all done"),
        ("prompt", "run the tests"),
        ("message", "they pass"),
    ]


def test_subagents_and_other_prompts(tmp_path: Path) -> None:
    lines = [
        *TURN,
        event(20, "user.message", content="go on", isAutopilotContinuation=True),
        event(21, "tool.execution_start", toolCallId="t9", toolName="task",
              arguments={"description": "look"}),
        event(22, "subagent.started", "k1", toolCallId="t9", agentName="explore"),
        event(23, "user.message", "k1", content="the task"),
        event(24, "assistant.message", "k1", content="found"),
        event(25, "subagent.completed", "k1", toolCallId="t9", totalToolCalls=1),
        event(26, "session.mode_changed", previousMode="interactive", newMode="plan"),
        event(27, "abort", reason="user"),
    ]  # fmt: skip
    first, second = read(written(tmp_path, *lines))
    assert first.head.ended_at == "2026-11-22T07:54:11.869000Z"
    assert (second.head.source.kind, second.head.state) == ("autopilot", "stopped")
    agent, mode = second.steps
    assert (agent.kind, agent.tool, agent.summary, agent.state) == (
        "subagent", "explore", "look", "done",
    )  # fmt: skip
    assert [one.summary for one in agent.steps] == ["found"]
    assert mode.summary == "interactive → plan"


def test_no_file_a_folder_and_a_pipe_have_no_turns(tmp_path: Path) -> None:
    assert read(tmp_path) == []
    (tmp_path / "events.jsonl").mkdir()
    assert read(tmp_path) == []
    other = tmp_path / "other"
    other.mkdir()
    os.mkfifo(other / "events.jsonl")
    assert read(other) == []


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    secret = written(tmp_path, *TURN) / "events.jsonl"
    other = tmp_path / "other"
    other.mkdir()
    (other / "events.jsonl").symlink_to(secret)
    with pytest.raises(OSError, match="symbolic links"):
        read(other)


def test_only_the_end_of_a_huge_file_is_read(tmp_path: Path) -> None:
    huge = event(1, "user.message", content="x" * 5 * 1024 * 1024)
    (turn,) = read(written(tmp_path, huge, *TURN))
    assert turn.head.prompt == "go now"


@pytest.fixture(scope="module")
def any_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("session")


@settings(max_examples=100, deadline=None)
@given(
    st.lists(
        st.binary(max_size=40)
        | st.builds(
            event, st.integers(0, 59), st.sampled_from(
                ["user.message", "assistant.message", "tool.execution_start", "abort",
                 "tool.execution_complete", "session.usage_record", "subagent.started",
                 "session.mode_changed", "session.model_change", "session.compaction_complete"]
            ),
            content=json_values, toolCallId=st.sampled_from(["a", "b"]) | json_values,
            toolName=st.just("edit") | json_values, arguments=json_values, usage=json_values,
            result=json_values, fileEdits=json_values, shellExecution=json_values,
            agentName=json_values, previousMode=json_values, newModel=json_values,
        ),
        max_size=8,
    )
)  # fmt: skip
def test_any_lines_make_turns_or_none(any_folder: Path, lines: list[bytes]) -> None:
    for turn in read(written(any_folder, *lines)):
        assert turn.head.is_history
