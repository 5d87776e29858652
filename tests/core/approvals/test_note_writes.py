"""Notes that agents write: the person is asked before each where their setting has it so, in each
program that an agent runs in."""

from typing import Any

import pytest

from tapui.core.effects import SeenProcess
from tapui.settings.settings import Memory, Settings
from tapui.wire import limits
from tests.core.emitters.test_consent import asked, decide
from tests.core.harness import (
    AGENT_START,
    PERSON,
    SHELL,
    Conversation,
    Json,
    Peer,
    seen,
    tool,
)

OF_AGENT = seen(SeenProcess(3000, "node", AGENT_START), SHELL, pid=4710, terminal=None)
"""A command that an agent has started."""
SAVE = {"command": "save", "path": "a.md", "content": "text"}


def talk_with(*, ask_writes: bool = True) -> Conversation:
    return Conversation(settings=Settings(memory=Memory(ask_writes=ask_writes)))


def notes(talk: Conversation, session: str = "s1") -> Peer:
    """Return the provider of notes, in a session."""
    return talk.provider(session, name="memory", tools=[tool("memory")])


def call(caller: Peer, session: str = "s1", args: Json | None = None, **more: Any) -> None:
    caller.hear()
    caller.invoke(session, "memory", args=args or SAVE, **more)


@pytest.fixture
def talk() -> Conversation:
    return talk_with()


@pytest.mark.parametrize("verdict", ["approve", "deny"])
def test_a_write_of_a_session_waits_for_the_person(
    talk: Conversation, host: Peer, tower: Peer, verdict: str
) -> None:
    host.open("s1")
    provider = notes(talk)
    call(host, toolCallId="t1")
    approval = asked(talk)
    assert (approval["kind"], approval["sessionId"], approval["provider"]) == (
        "permission",
        "s1",
        "memory",
    )
    assert approval["detail"] == {
        "kind": "custom-tool",
        "toolName": "memory",
        "args": SAVE,
        "toolCallId": "t1",
    }
    assert approval["judged"]["unkeepable"]
    assert (provider.hear_of("tool.call"), host.hear_of("tool.outcome")) == ([], [])
    decide(tower, approval, verdict)
    if verdict == "approve":
        sent = provider.hear_one("tool.call")
        assert sent["args"] == SAVE
        provider.result(sent["id"], data="Saved memory 'a.md'.")
        assert host.hear_one("tool.outcome")["data"] == "Saved memory 'a.md'."
    else:
        assert provider.hear_of("tool.call") == []
        assert host.hear_one("tool.outcome")["errorCode"] == "UNAUTHORIZED"


def test_each_client_asks(talk: Conversation, host: Peer, tower: Peer) -> None:
    host.open("s1")
    client, other = talk.tool_host(), talk.tower(name="tapui call", role="client")
    client.open("mcp-1", cwd="/repo")
    providers = {one: notes(talk, one) for one in ("s1", "mcp-1")}
    for caller, session, sight in (
        (host, "s1", PERSON),
        (client, "mcp-1", PERSON),
        (other, "s1", OF_AGENT),
    ):
        talk.sight = sight
        call(caller, session, {"command": "delete", "path": "a.md"})
        talk.sight = PERSON
        approval = asked(talk)
        assert approval["sessionId"] == session
        decide(tower, approval)
        sent = providers[session].hear_one("tool.call")
        providers[session].result(sent["id"], data="Deleted memory 'a.md'.")
        assert caller.hear_one("tool.outcome")["data"] == "Deleted memory 'a.md'."


@pytest.mark.parametrize(
    ("is_on", "args", "is_person"),
    [
        (False, SAVE, False),
        (True, {"command": "list"}, False),
        (True, {"command": "read", "path": "a.md"}, False),
        (True, SAVE, True),
    ],
)
def test_without_the_setting_for_reads_and_for_the_person_nothing_is_asked(
    is_on: bool, args: Json, is_person: bool
) -> None:
    talk = talk_with(ask_writes=is_on)
    host = talk.host()
    host.open("s1")
    provider = notes(talk)
    call(talk.tower() if is_person else host, args=args)
    assert provider.hear_one("tool.call")["args"] == args
    assert talk.events("approval.requested") == []


def test_another_providers_tool_of_the_name_asks_nothing(talk: Conversation, host: Peer) -> None:
    host.open("s1")
    provider = talk.provider("s1", name="other", tools=[tool("memory")])
    call(host)
    assert provider.hear_one("tool.call")["args"] == SAVE


@pytest.mark.parametrize(
    ("answer", "is_asked_again"),
    [
        ({"decision": "approve", "by": "person"}, False),
        ({"decision": "approve", "by": "cli"}, False),
        ({"decision": "approve", "by": "cli-rule"}, True),
        ({"decision": "approve", "by": "person", "args": {"command": "save", "path": "b"}}, True),
        ({"decision": "approve", "by": "person", "toolCallId": "t0"}, True),
    ],
)
def test_what_the_person_answered_about_this_call_is_not_asked_twice(
    talk: Conversation, host: Peer, tower: Peer, answer: Json, is_asked_again: bool
) -> None:
    host.open("s1")
    provider = notes(talk)
    detail = {
        "kind": "custom-tool",
        "toolName": "memory",
        "args": answer.get("args", SAVE),
        "toolCallId": answer.get("toolCallId", "t1"),
    }
    host.say(type="approval.request", id="p1", sessionId="s1", kind="permission", detail=detail)
    if answer["by"] == "person":
        decide(tower, asked(talk))
    else:
        host.say(type="approval.withdraw", id="p1", decidedBy=answer["by"], decision="approve")
    call(host, toolCallId="t1")
    assert len(talk.events("approval.requested")) == 1 + is_asked_again
    assert bool(provider.hear_of("tool.call")) is not is_asked_again


def test_a_tool_host_answers_nothing_for_itself(talk: Conversation, tower: Peer) -> None:
    client = talk.tool_host()
    client.open("mcp-1")
    provider = notes(talk, "mcp-1")
    call(client, "mcp-1", toolCallId="t1")
    decide(tower, asked(talk))
    provider.result(provider.take_call(), data="ok")
    call(client, "mcp-1", toolCallId="t1", id_="i2")
    assert len(talk.events("approval.requested")) == 2
    assert provider.hear_of("tool.call") == []


def test_who_gives_up_takes_the_question_back(talk: Conversation, host: Peer) -> None:
    host.open("s1")
    provider = notes(talk)
    call(host)
    host.say(type="tool.abort", id="i1")
    assert host.hear_one("tool.outcome")["errorCode"] == "CANCELLED"
    (withdrawn,) = talk.events("approval.withdrawn")
    assert withdrawn["approval"]["kind"] == "permission"
    call(host)  # the id is free again
    assert provider.hear_of("tool.call") == []


def test_a_caller_that_is_gone_takes_the_question_back(talk: Conversation) -> None:
    client = talk.tool_host()
    client.open("mcp-1")
    notes(talk, "mcp-1")
    call(client, "mcp-1")
    client.drop()
    assert len(talk.events("approval.withdrawn")) == 1


def test_the_end_of_the_session_and_silence_are_a_no(talk: Conversation, host: Peer) -> None:
    host.open("s1")
    provider = notes(talk)
    call(host)
    talk.wait(limits.HOST_APPROVAL_TIMEOUT)
    refused = host.hear_one("tool.outcome")
    assert (refused["errorCode"], refused["error"]) == (
        "UNAUTHORIZED",
        "the person did not answer in time",
    )
    call(host)
    host.say(type="session.close", sessionId="s1")
    assert host.hear_one("tool.outcome")["errorCode"] == "UNAUTHORIZED"
    assert provider.hear_of("tool.call") == []


def test_where_nobody_is_asked_nothing_is_written(talk: Conversation, host: Peer) -> None:
    host.open("s1")
    provider = notes(talk)
    parts = talk.gateway.parts
    parts.sessions.update(parts.sessions.required("s1"), unattended=True)
    call(host)
    assert host.hear_one("tool.outcome")["errorCode"] == "UNAUTHORIZED"
    assert (provider.hear_of("tool.call"), talk.events("approval.requested")) == ([], [])


def test_questions_that_are_too_many_are_refused(
    talk: Conversation, host: Peer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "MAX_REQUESTS", 1)
    host.open("s1")
    notes(talk)
    call(host)
    call(host, id_="i2")
    assert host.hear_one("tool.outcome")["errorCode"] == "RATE_LIMITED"


def test_a_no_of_a_rule_is_asked_about_no_further(talk: Conversation, host: Peer) -> None:
    host.open("s1")
    provider = talk.provider(
        "s1",
        name="memory",
        tools=[tool("memory")],
        hooks={"onPreToolUse": [{"match": {"tool": "memory"}, "action": "deny"}]},
    )
    call(host)
    assert host.hear_one("tool.outcome")["errorCode"] == "UNAUTHORIZED"
    assert (provider.hear_of("tool.call"), talk.events("approval.requested")) == ([], [])
