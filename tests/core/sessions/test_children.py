"""Subagents: a child's id stands for its parent, and its tools are those of its agent."""

import pytest

from tapui.wire import limits
from tests.core.conftest import Scene
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


@pytest.mark.parametrize("agent", ["nobody", "c9", ""])
def test_an_agent_that_nobody_knows_is_refused_while_any_agent_has_an_allowlist(
    talk: Conversation, host: Peer, provider: Peer, agent: str
) -> None:
    assert refusal(host, "s1", "save", agentId=agent) == DENIED.format("save")
    assert provider.hear() == []
    free: list[Json] = [{"name": "free", "tools": None}, {"name": "plain"}]
    host.say(type="session.update", sessionId="s1", agents=free)
    assert refusal(host, "s1", "save", agentId=agent) is None
    assert provider.hear_one("tool.call")["tool"] == "save"


def shown(talk: Conversation, session: str = "s1") -> list[Json]:
    views = [one["session"] for one in talk.events() if one.get("session")]
    found: list[Json] = [one for one in views if one["id"] == session][-1].get("subagents", [])
    return found


def test_the_sessions_view_shows_its_subagents(talk: Conversation, host: Peer) -> None:
    talk.wait(1)
    start(host, "reviewer")
    running = {
        "id": "c1",
        "agent": "reviewer",
        "state": "running",
        "startedAt": "2026-01-01T00:00:01.000000Z",
        "toolCallId": "t1",
    }
    assert shown(talk) == [running]
    assert talk.tower().ack["state"]["sessions"][0]["subagents"] == [running]
    host.event("s1", "subagent.completed", toolCallId="t1", agentName="reviewer")
    assert shown(talk) == [running | {"state": "completed"}]
    more = {"remoteSessionId": "c2", "toolCallId": "t2", "agentName": "free"}
    host.event("s1", "subagent.started", **more)
    host.event("s1", "subagent.failed", toolCallId="t2", agentName="free", error="no")
    assert [(one["id"], one["state"]) for one in shown(talk)] == [
        ("c1", "completed"),
        ("c2", "failed"),
    ]


@pytest.mark.parametrize(
    ("said", "state"),
    [
        ({"type": "session.event", "event": "session.idle"}, "completed"),
        ({"type": "session.event", "event": "abort"}, "failed"),
        ({"type": "session.event", "event": "abort", "data": {"agentId": "c1"}}, "failed"),
        ({"type": "session.event", "event": "abort", "data": {"agentId": "c2"}}, "running"),
        ({"type": "session.close"}, "failed"),
    ],
)
def test_no_subagent_runs_longer_than_its_turn(
    talk: Conversation, host: Peer, said: Json, state: str
) -> None:
    start(host, "reviewer")
    host.say(said, sessionId="s1")
    assert [one["state"] for one in shown(talk)] == [state]


def test_a_subagent_that_was_stopped_has_not_completed(talk: Conversation, host: Peer) -> None:
    start(host, "reviewer")
    host.event("s1", "abort", agentId="c1")
    host.event("s1", "subagent.completed", toolCallId="t1", agentName="reviewer")
    assert [one["state"] for one in shown(talk)] == ["failed"]
    start(host, "reviewer")  # it goes on with another message
    assert [one["state"] for one in shown(talk)] == ["running"]


def test_a_subagents_context_is_its_own(talk: Conversation, host: Peer) -> None:
    start(host, "reviewer")
    host.event("s1", "session.context", tokens=90, limit=100)
    host.event("s1", "session.context", tokens=10, limit=100, agentId="c1")
    host.event("s1", "session.context", tokens=99, limit=100, agentId="unknown")
    session = talk.tower().ack["state"]["sessions"][0]
    assert session["context"] == {"tokens": 90, "limit": 100}
    assert [one["context"] for one in session["subagents"]] == [{"tokens": 10, "limit": 100}]


def test_subagents_go_along_when_their_session_is_replaced(talk: Conversation, host: Peer) -> None:
    start(host, "reviewer")
    host.open("s2", replaces="s1", agents=AGENTS)
    assert [one["id"] for one in shown(talk, "s2")] == ["c1"]
    host.event("s2", "subagent.completed", toolCallId="t1", agentName="reviewer")
    assert [one["state"] for one in shown(talk, "s2")] == ["completed"]


def test_fifty_subagents_are_shown_and_those_that_run_stay_longest(
    talk: Conversation, host: Peer
) -> None:
    for number in range(limits.MAX_SUBAGENTS + 1):
        more = {"remoteSessionId": f"c{number}", "toolCallId": f"t{number}", "agentName": "free"}
        host.event("s1", "subagent.started", **more)
        if number == 7:
            host.event("s1", "subagent.completed", toolCallId="t7", agentName="free")
    ids = [one["id"] for one in shown(talk)]
    assert len(ids) == limits.MAX_SUBAGENTS
    assert "c7" not in ids
    assert refusal(host, "c7", "nothing") == DENIED.format("nothing"), "its session stays known"


def test_a_thousand_children_are_known(host: Peer, provider: Peer) -> None:
    for number in range(limits.MAX_CHILDREN + 1):
        host.event("s1", "subagent.started", remoteSessionId=f"c{number}", agentName="free")
    assert refusal(host, "c0") == "unknown session c0"
    assert refusal(host, "c1") is None
    assert refusal(host, f"c{limits.MAX_CHILDREN}") is None


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


def test_a_subagents_name_for_people_and_its_error_are_kept(scene: Scene) -> None:
    told = {"remoteSessionId": "c1", "toolCallId": "t1", "agentName": "free"}
    scene.host.event("s1", "subagent.started", **told, agentDisplayName="Free hands" + "!" * 5_000)
    scene.host.event("s1", "subagent.failed", toolCallId="t1", error="no model" + "!" * 5_000)
    (shown,) = scene.talk.gateway.state.sessions["s1"].subagents
    assert shown.display_name is not None
    assert shown.error is not None
    assert shown.display_name.startswith("Free hands!")
    assert shown.error.startswith("no model!")
    assert len(shown.display_name) <= limits.MAX_NAME
    assert len(shown.error) == 300
