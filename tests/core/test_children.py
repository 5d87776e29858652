"""Subagents: a child's id stands for its parent, and its tools are those of its agent."""

import pytest

from tests.core.harness import Conversation, Json, Peer, tool

DENIED = "Tool '{}' is not supported by this client instance."
AGENTS = [
    {"name": "reviewer", "tools": ["save"]},
    {"name": "free", "tools": None},
    {"name": "bound", "tools": []},
    {"name": "plain"},
]


@pytest.fixture
def host(talk: Conversation) -> Peer:
    host = talk.host()
    host.open("s1", agents=AGENTS)
    return host


@pytest.fixture
def provider(talk: Conversation, host: Peer) -> Peer:
    return talk.provider("s1", tools=[tool("save"), tool("drop")])


def start(host: Peer, agent: str, child: str = "c1") -> None:
    host.event(
        "s1", "subagent.started", remoteSessionId=child, toolCallId="t1", agentName=agent
    ).hear()


def refusal(host: Peer, session: str, name: str = "save", **more: str) -> str | None:
    """Call a tool; return the words of a refusal, or None when it was dispatched."""
    host.hear()
    host.invoke(session, name, id_=f"{session}{name}{more}", **more)
    heard = host.hear_of("tool.outcome", "error")
    if not heard:
        return None
    assert (heard[0]["type"], heard[0]["errorCode"]) == ("tool.outcome", "NOT_FOUND")
    return str(heard[0]["error"])


@pytest.mark.parametrize(
    ("agent", "save", "drop"),
    [
        ("reviewer", True, False),
        ("free", True, True),
        ("plain", True, True),
        ("bound", False, False),
        ("unknown", True, True),
    ],
)
@pytest.mark.parametrize("by", ["child", "agentId of the child", "agentId by name"])
def test_a_child_may_call_what_its_agent_may(
    host: Peer, provider: Peer, agent: str, save: bool, drop: bool, by: str
) -> None:
    start(host, agent)
    session = "c1" if by == "child" else "s1"
    more = {"agentId of the child": {"agentId": "c1"}, "agentId by name": {"agentId": agent}}
    for name, is_allowed in (("save", save), ("drop", drop)):
        said = refusal(host, session, name, **more.get(by, {}))
        assert said == (None if is_allowed else DENIED.format(name))
    calls = provider.hear_of("tool.call")
    assert len(calls) == save + drop
    assert {one["sessionId"] for one in calls} <= {"s1"}


def test_an_unknown_tool_and_an_unknown_session_have_the_documents_words(
    host: Peer, provider: Peer
) -> None:
    assert refusal(host, "s1", "nothing") == DENIED.format("nothing")
    assert refusal(host, "s9") == "unknown session s9"
    assert refusal(host, "c1") == "unknown session c1"


@pytest.mark.parametrize("event", ["subagent.completed", "subagent.failed"])
def test_a_mapping_outlives_its_agent_and_goes_with_its_parent(
    host: Peer, provider: Peer, event: str
) -> None:
    start(host, "reviewer")
    host.event("s1", event, toolCallId="t1", agentName="reviewer")
    assert refusal(host, "c1") is None
    host.say(type="session.close", sessionId="s1")
    assert refusal(host, "c1", "drop") == "parent session s1 for child c1 not found"
    provider.say(type="shutdown.ready", sessionId="s1")
    assert refusal(host, "c1", "save", agentId="x") == "unknown session c1"


def test_children_follow_a_session_that_is_replaced(host: Peer, provider: Peer) -> None:
    start(host, "reviewer")
    host.open("s2", replaces="s1", agents=AGENTS)
    provider.hear()
    assert refusal(host, "c1") is None
    assert provider.hear_one("tool.call")["sessionId"] == "s2"
    assert refusal(host, "c1", "drop") == DENIED.format("drop")


ASKS: list[Json] = [
    {"type": "hook.preToolUse", "id": "k1", "tool": "bash", "args": {}},
    {"type": "prompt.submitted", "id": "k1", "prompt": "hi", "sections": {"a": "b"}},
    {"type": "approval.request", "id": "k1", "kind": "permission", "detail": {}},
    {"type": "approval.request", "id": "k1", "kind": "userInput", "detail": {}},
]


@pytest.mark.parametrize("ask", ASKS)
def test_hooks_permissions_and_questions_resolve_without_an_allowlist(
    talk: Conversation, host: Peer, ask: Json
) -> None:
    start(host, "bound")
    heard = host.ask(ask, sessionId="c1")
    if ask["type"] == "hook.preToolUse":
        assert heard == [{"type": "hook.decision", "id": "k1", "decision": "allow"}]
    elif ask["type"] == "prompt.submitted":
        answer = {"type": "prompt.prepared", "id": "k1", "context": [], "sections": {"a": "b"}}
        assert heard == [answer]
    else:
        assert heard == []
        assert talk.events("approval.requested")[0]["sessionId"] == "s1"


@pytest.mark.parametrize("ask", ASKS)
def test_what_nobody_knows_is_refused_in_the_documents_words(host: Peer, ask: Json) -> None:
    error = host.error(ask, sessionId="c9")
    assert (error["code"], error["message"], error["id"]) == (
        "INVALID_SESSION",
        "unknown session c9",
        "k1",
    )


@pytest.mark.parametrize("data", [{}, {"remoteSessionId": "c1"}, {"remoteSessionId": 7}])
def test_a_malformed_start_is_refused_whole(talk: Conversation, host: Peer, data: Json) -> None:
    talk.forget()
    error = host.error(type="session.event", sessionId="s1", event="subagent.started", data=data)
    assert error["code"] == "INVALID_JSON"
    assert talk.kinds() == ["error.sent"]
