"""`tool.execution_complete`: what providers that subscribe are told, and when."""

import json
from typing import Any

import pytest

from tapui.core.effects import Copied
from tests.core.harness import Conversation, Json, Peer, tool


@pytest.fixture
def host(talk: Conversation) -> Peer:
    peer = talk.host()
    peer.open("s1")
    return peer


@pytest.fixture
def listener(talk: Conversation, host: Peer) -> Peer:
    return talk.provider("s1", name="ear", tools=[], subscribe=["tool.execution_complete"])


def told(listener: Peer) -> Json:
    data: Json = listener.hear_one("session.event")["data"]
    return data


@pytest.mark.parametrize(
    ("data", "output"),
    [
        ("hello", "hello"),
        ("", ""),
        (None, "null"),
        (7, "7"),
        ({"a": [1, "é"]}, '{"a":[1,"é"]}'),
        (False, "false"),
    ],
)
def test_output_is_text(
    talk: Conversation, host: Peer, listener: Peer, data: Any, output: str
) -> None:
    provider = talk.provider("s1")
    host.invoke("s1", args={"x": 1})
    listener.hear()
    provider.say(json.dumps({"type": "tool.result", "id": provider.take_call(), "data": data},
                            ensure_ascii=False, separators=(",", ":")))  # fmt: skip
    assert told(listener) == {
        "tool": "greet",
        "provider": "greeter",
        "args": {"x": 1},
        "result": {"type": "success", "output": output},
        "durationMs": 0.0,
    }


@pytest.mark.parametrize("letter", ["x", "é", "\U0001f600"])
@pytest.mark.parametrize("is_native", [False, True])
def test_long_output_is_cut_at_64_kib(
    talk: Conversation, host: Peer, listener: Peer, letter: str, is_native: bool
) -> None:
    text = letter * 100_000
    if is_native:
        result = {"type": "success", "output": text}
        host.event("s1", "tool.execution_complete", tool="bash", toolCallId="t", result=result)
    else:
        provider = talk.provider("s1")
        host.invoke("s1")
        listener.hear()
        provider.result(provider.take_call(), data=text)
    output = told(listener)["result"]["output"]
    assert output.endswith(f"{letter}…")
    assert 64 * 1024 - 4 < len(output.encode()) <= 64 * 1024


def test_a_file_and_an_error_are_output_too(talk: Conversation, host: Peer, listener: Peer) -> None:
    provider = talk.provider("s1")
    talk.files["/providers/greeter/x"] = Copied("/work/results/x", 3)
    host.invoke("s1")
    listener.hear()
    file = {"path": "/providers/greeter/x", "mimeType": "text/plain", "size": 3}
    provider.result(provider.take_call(), file=file)
    assert json.loads(told(listener)["result"]["output"])["mimeType"] == "text/plain"
    host.invoke("s1", id_="i2")
    provider.result(provider.take_call(), error="no")
    assert told(listener)["result"] == {"type": "failure", "output": "no"}


@pytest.mark.parametrize("how", ["timeout", "abort"])
def test_it_is_sent_with_the_outcome_and_the_callers_duration(
    talk: Conversation, host: Peer, listener: Peer, how: str
) -> None:
    provider = talk.provider("s1", tools=[tool("greet", timeout=2000)])
    talk.wait(1)
    host.invoke("s1")
    listener.hear()
    talk.wait(1.5)
    if how == "abort":
        host.say(type="tool.abort", id="i1")
    else:
        talk.wait(0.5)
    assert host.hear_of("tool.outcome")
    event = told(listener)
    assert event["durationMs"] == (1500.0 if how == "abort" else 2000.0)
    assert event["result"]["type"] == "failure"
    talk.wait(2)
    provider.result(provider.take_call() if how == "abort" else "call-1", error="late")
    assert listener.hear() == []


def test_a_call_that_is_tried_again_is_told_once(
    talk: Conversation, host: Peer, listener: Peer
) -> None:
    one = talk.provider("s1", instance="a")
    talk.wait(1)
    two = talk.provider("s1", instance="b")
    host.invoke("s1", args={"x": 1})
    listener.hear()
    talk.wait(1)
    two.result(two.take_call(), error="asleep", retryable=True)
    assert listener.hear() == []
    talk.wait(1)
    one.result(one.take_call(), data="awake")
    event = told(listener)
    assert (event["result"]["output"], event["durationMs"]) == ("awake", 2000.0)


def test_the_lister_of_instances_is_told_as_well(
    talk: Conversation, host: Peer, listener: Peer
) -> None:
    talk.provider("s1", instance="a")
    listener.hear()
    host.invoke("s1", "list_greeter_instances")
    event = told(listener)
    assert (event["tool"], event["provider"]) == ("list_greeter_instances", "greeter")
    assert json.loads(event["result"]["output"]) == [{"instance": "a", "metadata": {}}]


@pytest.mark.parametrize(
    ("output", "text"), [("a b", "a b"), ({"n": 1}, '{"n": 1}'), (None, None), (0, "0")]
)
def test_native_calls_are_told_in_the_same_shape(
    talk: Conversation, host: Peer, listener: Peer, output: Any, text: str | None
) -> None:
    args = {"command": "ls"}
    host.event("s1", "tool.execution_start", toolCallId="t1", tool="bash", args=args)
    talk.wait(2)
    listener.hear()
    result = {"type": "success", "output": output}
    host.event("s1", "tool.execution_complete", toolCallId="t1", tool="bash", result=result)
    assert told(listener) == {
        "tool": "bash",
        "args": args,
        "result": {"type": "success"} if text is None else {"type": "success", "output": text},
        "durationMs": 2000.0,
    }


def test_a_native_call_that_began_before_is_told_with_what_is_known(
    host: Peer, listener: Peer
) -> None:
    host.event("s1", "tool.execution_complete", toolCallId="t9", tool="bash")
    assert told(listener) == {
        "tool": "bash",
        "args": {},
        "result": {"type": "success"},
        "durationMs": 0.0,
    }
