"""What the server tells of a turn, as events."""

import json
from typing import Any

import pytest

from tapui.hosts.language_server.rounds import OUTPUT_LENGTH, TurnProgress


def progress() -> TurnProgress:
    return TurnProgress("s1", lambda name: name == "mine", lambda: 0.0)


def told(turn: TurnProgress, *values: Any) -> list[tuple[str, dict[str, Any]]]:
    events = [event for value in values for event in turn.take(value)]
    return [(one.event, json.loads(bytes(one.data))) for one in events]


def report(reply: str = "", *calls: dict[str, Any], round_id: int = 1) -> dict[str, Any]:
    found = {"roundId": round_id, "reply": reply, "toolCalls": list(calls)}
    return {"kind": "report", "editAgentRounds": [found]}


def call(status: str, name: str = "read_file", **more: Any) -> dict[str, Any]:
    return {"id": "k1", "name": name, "status": status, "input": {"a-b": 1}, **more}


def test_a_turn_with_a_call() -> None:
    given = {"tool": "read_file", "toolCallId": "k1", "args": {"a-b": 1}}
    end = {"result": {"type": "success", "output": "one\ntwo"}, "durationMs": 0}
    assert told(
        progress(),
        {"kind": "begin"},
        report("Let me "),
        report("look.", call("not started")),
        report("", call("running")),
        report("", call("completed", result=[{"value": "one"}, {"value": "two"}])),
        report("", call("completed")),
        report("Done."),
        {"kind": "report", "tokenUsage": {"promptTokens": 7, "completionTokens": True}},
        {"kind": "end"},
        report("late"),
    ) == [
        ("assistant.turn_start", {}),
        ("assistant.message", {"content": "Let me look."}),
        ("tool.execution_start", given),
        ("tool.execution_complete", given | end),
        ("assistant.usage", {"inputTokens": 7}),
        ("assistant.message", {"content": "Done."}),
    ]


def test_calls_of_registered_tools_are_the_gateways_to_show() -> None:
    assert told(progress(), report("", call("running", "mine"), call("completed", "mine"))) == []


def test_a_call_that_failed_has_its_reason() -> None:
    (_, (name, data)) = told(progress(), report("", call("error", error="no such file")))
    assert name == "tool.execution_complete"
    assert data["result"] == {"type": "error", "output": "no such file"}


@pytest.mark.parametrize(
    ("end", "events"),
    [
        ({"error": "quota"}, [("session.error", {"message": "quota"})]),
        ({"error": {"message": "quota"}}, [("session.error", {"message": "quota"})]),
        ({"error": {}}, [("session.error", {"message": "the turn failed"})]),
        (
            {"cancellationReason": "CancelledByUser"},
            [("abort", {"reason": "CancelledByUser"})],
        ),
    ],
)
def test_how_a_turn_ends(end: dict[str, Any], events: list[Any]) -> None:
    assert told(progress(), {"kind": "end", **end}, {"kind": "end"}) == events


@pytest.mark.parametrize(
    "value",
    [None, [], {"kind": 5}, {"kind": "report", "editAgentRounds": {"a": 1}},
     {"kind": "report", "editAgentRounds": [5, {"toolCalls": [5, {"id": 1}, {"id": "x" * 300}]}]},
     {"kind": "report", "editAgentRounds": [{"reply": 5, "toolCalls": "x"}], "tokenUsage": []}],
)  # fmt: skip
def test_nonsense_tells_nothing(value: Any) -> None:
    assert [name for name, _ in told(progress(), value)] in ([], ["assistant.usage"])


def test_a_turn_that_was_stopped_here_may_end_like_any_other() -> None:
    turn = progress()
    turn.stopped_for = "the person"
    assert told(turn, {"kind": "end"}) == [("abort", {"reason": "the person"})]
    assert (turn.is_stopped, turn.has_failed) == (True, False)


def test_what_is_known_here_of_a_call_is_told_at_its_end() -> None:
    turn = progress()
    told(turn, report("", call("running", "run_in_terminal")))
    turn.note("k1", exitCode=3)
    turn.note("k1", changes=[{"path": "a"}])
    ((_, data),) = told(turn, report("", call("completed", "run_in_terminal")))
    assert (data["exitCode"], data["changes"]) == (3, [{"path": "a"}])


def test_the_conversation_has_its_id_and_begins_once() -> None:
    turn = progress()
    begin = {"kind": "begin", "conversationId": "c-1"}
    assert told(turn, begin, begin) == [("assistant.turn_start", {})]
    assert turn.conversation_id == "c-1"
    told(turn, report("First.", call("running")), report("Last."), {"kind": "end"})
    assert turn.last_words == "Last."


def test_a_message_is_bounded() -> None:
    found = told(progress(), report("x" * (OUTPUT_LENGTH + 5)), report("y"), {"kind": "end"})
    assert len(found[0][1]["content"]) == OUTPUT_LENGTH
