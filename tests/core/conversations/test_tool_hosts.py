"""Tool hosts: the token for tools alone, the session that it opens, and what it cannot do."""

from typing import Any

import pytest

from tapui.core.conversations.legal import LEGAL
from tapui.core.effects import SeenProcess
from tapui.core.model import Standing
from tapui.wire import limits
from tests.core.harness import (
    AGENT_START,
    INIT,
    INTERNAL_TOKEN,
    ORIGIN,
    PERSON,
    PROVIDER_TOKEN,
    SHELL,
    TOOLS_TOKEN,
    Conversation,
    Peer,
    seen,
    tool,
)

CLI = 3000
NODE = SeenProcess(CLI, "node", AGENT_START)
DOOR = seen(NODE, SHELL, pid=4710, terminal=None)
ELSEWHERE = seen(SeenProcess(3001, "code", AGENT_START), pid=4712, terminal=None)


@pytest.fixture
def talk() -> Conversation:
    return Conversation()


def opened(talk: Conversation, session_id: str = "mcp-1") -> Peer:
    """Return a tool host whose session is open."""
    peer = talk.tool_host()
    assert peer.open(session_id)["tools"] == []
    return peer


def names(listing: dict[str, Any]) -> list[str]:
    return [one["name"] for one in listing["tools"]]


# The token


def test_the_token_opens_one_session_lists_its_tools_and_calls_them(talk: Conversation) -> None:
    host = opened(talk)
    provider = talk.provider("mcp-1")
    talk.wait(1)
    assert names(host.hear_one("tools.changed")) == ["greet"]
    host.invoke("mcp-1", args={"name": "you"})
    call = provider.hear_one("tool.call")
    assert (call["sessionId"], call["args"]) == ("mcp-1", {"name": "you"})
    provider.result(call["id"], data="hello")
    assert host.hear_one("tool.outcome") == {"type": "tool.outcome", "id": "i1", "data": "hello"}
    host.invoke("mcp-1", id_="i2")
    provider.hear()
    host.say(type="tool.abort", id="i2")
    assert host.hear_one("tool.outcome")["errorCode"] == "CANCELLED"
    assert provider.hear_one("tool.cancel")["sessionId"] == "mcp-1"
    host.say(type="session.update", sessionId="mcp-1", label="a client")
    assert talk.gateway.state.sessions["mcp-1"].label == "a client"
    host.say(type="session.close", sessionId="mcp-1")
    provider.say(type="shutdown.ready", sessionId="mcp-1")
    assert host.hear_one("session.closed") == {"type": "session.closed", "sessionId": "mcp-1"}
    assert host.open("mcp-2")["sessionId"] == "mcp-2"


@pytest.mark.parametrize(
    "hello",
    [
        {"type": "tower.hello", "protocolVersion": 2},
        {"type": "hello", "name": "p", "protocolVersion": 2, "session": "s1"},
        {"type": "hello", "name": "p", "protocolVersion": 2, "session": "mcp-1"},
        {"type": "hello", "name": "p", "protocolVersion": 2, "session": "all"},
        {"type": "hello", "name": "p", "protocolVersion": 2},
    ],
)
def test_who_shows_the_token_is_no_tower_and_no_provider(
    talk: Conversation, hello: dict[str, Any]
) -> None:
    opened(talk)
    talk.host().open("s1")
    peer = talk.connect(TOOLS_TOKEN)
    assert peer.error(hello)["code"] == "UNAUTHORIZED"
    assert peer.state == "AwaitHello"
    assert talk.events("approval.requested") == []


def test_it_is_told_of_no_session(talk: Conversation) -> None:
    talk.host().open("s1")
    talk.tools_token(TOOLS_TOKEN)
    peer = talk.connect()
    peer.say(type="auth", token=TOOLS_TOKEN)
    assert peer.hear_one("sessions")["active"] == []
    talk.host().open("s2")
    talk.wait(2)
    assert peer.hear() == [{"type": "sessions.updated", "active": []}]


def test_a_page_cannot_use_it(talk: Conversation) -> None:
    talk.tools_token(TOOLS_TOKEN)
    page = talk.connect(origin=ORIGIN)
    assert page.error(type="auth", token=TOOLS_TOKEN)["code"] == "AUTH_FAILED"


def test_without_the_file_nobody_has_it(talk: Conversation) -> None:
    peer = talk.connect()
    assert peer.error(type="auth", token=TOOLS_TOKEN)["code"] == "AUTH_FAILED"


@pytest.mark.parametrize("later", [None, "ttk-another"])
def test_revoking_it_ends_what_it_opened_at_once(talk: Conversation, later: str | None) -> None:
    host, waiting = opened(talk), talk.connect(TOOLS_TOKEN)
    provider, tower = talk.provider("mcp-1"), talk.tower()
    host.hear()
    host.invoke("mcp-1")
    talk.hush([provider])
    talk.tools_token(later)
    for peer in (host, waiting):
        (error,) = peer.hear_of("error")
        assert (error["code"], error["message"]) == ("AUTH_FAILED", "the token was revoked")
        assert peer.closed == (1008, "AUTH_FAILED")
    assert provider.hear_one("tool.cancel")["id"]
    assert "mcp-1" not in talk.gateway.parts.sessions.open
    assert tower.state == "Tower"
    assert talk.connect().error(type="auth", token=TOOLS_TOKEN)["code"] == "AUTH_FAILED"
    if later is not None:
        assert talk.connect(later).state == "AwaitHello"


def test_the_same_token_read_again_disturbs_nobody(talk: Conversation) -> None:
    host = opened(talk)
    talk.tools_token(TOOLS_TOKEN)
    assert (host.closed, host.hear()) == (None, [])


# What it cannot do


def test_its_state_knows_five_messages(talk: Conversation) -> None:
    assert set(LEGAL[Standing.TOOL_HOST]) == {
        "session.open",
        "session.update",
        "session.close",
        "tool.invoke",
        "tool.abort",
    }
    assert opened(talk).state == "ToolHost"


@pytest.mark.parametrize(
    "field",
    [
        {"workspace": "/elsewhere"},
        {"foreground": True},
        {"mode": "autopilot"},
        {"model": "m"},
        {"agents": []},
        {"reservedTools": ["greet"]},
        {"replaces": "s1"},
        {"can": ["tell"]},
        {"cannot": {"tell": "no"}},
        {"ports": [80]},
        {"pid": 1},
        {"headless": True},
        {"start": "x"},
        {"sections": True},
    ],
)
def test_its_session_has_an_id_a_label_and_a_folder_alone(
    talk: Conversation, field: dict[str, Any]
) -> None:
    talk.host().open("s1")
    peer = talk.tool_host()
    session = {"id": "mcp-1", "label": "l", "cwd": "/", **field}
    error = peer.error(type="session.open", session=session)
    assert (error["code"], error["sessionId"]) == ("UNAUTHORIZED", "mcp-1")
    assert list(talk.gateway.parts.sessions.open) == ["s1"]


@pytest.mark.parametrize("id_", ["s1", "s2", "local", "mcp", "all", ""])
def test_it_takes_no_id_that_another_host_may_want(talk: Conversation, id_: str) -> None:
    talk.host().open("s1")
    peer = talk.tool_host()
    session = {"id": id_, "label": "l", "cwd": "/"}
    assert peer.error(type="session.open", session=session)["code"] == "UNAUTHORIZED"


def test_it_has_one_session_at_a_time_and_none_of_anothers(talk: Conversation) -> None:
    first, second = opened(talk), opened(talk, "mcp-2")
    for session_id in ("mcp-1", "mcp-3"):
        session = {"id": session_id, "label": "l", "cwd": "/"}
        error = second.error(type="session.open", session=session)
        assert error["code"] == "INVALID_SESSION"
    third = talk.tool_host()
    session = {"id": "mcp-1", "label": "l", "cwd": "/"}
    assert third.error(type="session.open", session=session)["code"] == "INVALID_SESSION"
    for message in (
        {"type": "session.close", "sessionId": "mcp-1"},
        {"type": "session.update", "sessionId": "mcp-1", "label": "mine"},
    ):
        assert second.error(message)["code"] == "INVALID_SESSION"
    assert first.hear() == []


@pytest.mark.parametrize(
    "field",
    [
        {"cwd": "/"},
        {"foreground": True},
        {"mode": "plan"},
        {"model": "m"},
        {"agents": []},
        {"toolsRevision": 1},
        {"can": ["tell"]},
        {"cannot": {}},
        {"silent": True},
        {},
    ],
)
def test_it_changes_the_label_alone(talk: Conversation, field: dict[str, Any]) -> None:
    host = opened(talk)
    before = talk.gateway.state.sessions["mcp-1"]
    error = host.error({"type": "session.update", "sessionId": "mcp-1", **field})
    assert error["code"] == "UNAUTHORIZED"
    assert talk.gateway.state.sessions["mcp-1"] == before


def test_what_it_says_of_its_session_is_bounded(talk: Conversation) -> None:
    host = talk.tool_host()
    session = {"id": "mcp-1", "label": "l", "cwd": "/"}
    for field in ({"label": "l" * 257}, {"cwd": "/" * 4_097}):
        error = host.error(type="session.open", session={**session, **field})
        assert error["code"] == "INVALID_JSON"
    host.open("mcp-1")
    error = host.error(type="session.update", sessionId="mcp-1", label="l" * 257)
    assert error["code"] == "INVALID_JSON"


def test_so_many_sessions_are_opened_in_a_minute(talk: Conversation) -> None:
    first, second = talk.tool_host(), talk.tool_host()
    for number in range(limits.TOOL_SESSIONS_PER_MINUTE):
        host = (first, second)[number % 2]
        host.open(f"mcp-{number}")
        host.say(type="session.close", sessionId=f"mcp-{number}").hear()
    session = {"id": "mcp-more", "label": "l", "cwd": "/"}
    assert second.error(type="session.open", session=session)["code"] == "RATE_LIMITED"
    talk.wait(60)
    second.hear()
    assert second.open("mcp-more")["sessionId"] == "mcp-more"


def test_nothing_below_its_client_answers_for_the_person(talk: Conversation) -> None:
    talk.sight = DOOR
    talk.host().open("s1")
    host = opened(talk)
    order = {"type": "session.stop", "id": "x", "sessionId": "s1"}
    talk.sight = seen(SeenProcess(4899, "bash", 150.0), NODE, SHELL, pid=4900)
    for role in ({"role": "client"}, {}):
        error = talk.tower(**role).error(order)
        assert error["code"] == "UNAUTHORIZED"
        assert "was started by MCP client 'mcp-1' (process 3000)" in error["message"]
    host.drop()
    assert talk.tower(role="client").error(order)["code"] == "UNAUTHORIZED"
    del talk.agents[CLI]  # it has ended
    talk.sight = PERSON
    assert talk.tower(role="client").error(order)["code"] == "NOT_FOUND"


def test_the_first_process_is_not_a_client(talk: Conversation) -> None:
    talk.sight = seen(INIT, pid=4710, leader=None, terminal=None)
    talk.host().open("s1")
    opened(talk)
    assert list(talk.agents) == [4710]
    talk.sight = seen(pid=4900)
    command = talk.tower(role="client", name="tapui stop-turn")
    order = {"type": "session.stop", "id": "x", "sessionId": "s1"}
    assert command.error(order)["code"] == "NOT_FOUND"


def test_its_session_has_no_successor(talk: Conversation) -> None:
    host = opened(talk)
    talk.host().open("s1")
    error = host.error(type="session.close", sessionId="mcp-1", replacedBy="s1")
    assert error["code"] == "UNAUTHORIZED"


def test_it_calls_in_its_own_session_alone(talk: Conversation) -> None:
    other = talk.host()
    other.open("s1")
    other.event("s1", "subagent.started", remoteSessionId="child", agentName="a")
    provider = talk.provider("s1")
    opened(talk, "mcp-2")
    in_second = talk.provider("mcp-2", name="second")
    host = opened(talk)
    talk.hush([provider, in_second])
    for session_id in ("s1", "child", "mcp-2", "nowhere"):
        host.invoke(session_id, id_=f"i-{session_id}")
        outcome = host.hear_one("tool.outcome")
        assert outcome["errorCode"] == "NOT_FOUND"
        assert outcome["error"] == f"unknown session {session_id}"
    assert provider.hear() == in_second.hear() == []
    assert talk.events("call.started") == []


def test_gates_and_rules_hold_whatever_its_hello_says(talk: Conversation) -> None:
    talk.tools_token(TOOLS_TOKEN)
    host = talk.connect(TOOLS_TOKEN)
    hello = {"name": "copilot", "kind": "local", "protocolVersion": 2}
    host.say({"type": "host.hello", **hello, "hooks": True, "sections": True, "starts": True})
    host.hear_one("host.ack")
    host.open("mcp-1")
    rule = {"action": "deny", "match": {"tool": "greet"}, "reason": "not today"}
    provider = talk.provider("mcp-1", hooks={"onPreToolUse": [rule]})
    host.hear()
    host.invoke("mcp-1")
    outcome = host.hear_one("tool.outcome")
    assert (outcome["errorCode"], outcome["error"]) == ("UNAUTHORIZED", "not today")
    assert provider.hear_of("tool.call") == []
    assert talk.gateway.state.sessions["mcp-1"].host == "mcp"
    tower = talk.tower()
    # It starts no sessions, though its hello says so.
    assert tower.error(type="session.start", id="x", folder="/")["code"] == "NOT_FOUND"
    assert host.hear() == []


# Its session is apart


def test_only_who_names_it_comes_to_it(talk: Conversation) -> None:
    talk.local()
    talk.tools()
    host = opened(talk)
    peer = talk.connect()
    peer.say(type="auth", token=PROVIDER_TOKEN)
    listed = peer.hear_one("sessions")["active"]
    assert [one["id"] for one in listed] == ["local", "mcp-1"]  # clients take the first
    assert not listed[-1]["foreground"]
    peer.hello(session="local", tools=[tool("waits")])
    internal = talk.connect(INTERNAL_TOKEN)
    internal.hello(name="inside", tools=[tool("inside")])
    assert internal.hear_one("hello.ack")["sessionId"] == "local"
    talk.wait(2)
    assert host.hear() == []  # no tool, none of the built-in ones either
    copilot = talk.host()
    assert "tap_post" in names(copilot.open("s1", foreground=True))
    assert peer.hear_of("session.lifecycle")  # it was gathered from local to the first real one
    named = talk.connect(PROVIDER_TOKEN)
    named.hello(name="named", session="mcp-1", tools=[tool("named")])
    talk.wait(2)
    assert names(host.hear_one("tools.changed")) == ["named"]
    sessions = talk.gateway.state.sessions.values()
    assert [one.id for one in sessions if one.foreground] == ["s1"]


def test_a_provider_is_not_gathered_into_it(talk: Conversation) -> None:
    talk.local()
    provider = talk.provider("local")
    host = opened(talk)
    talk.wait(2)
    assert host.hear() == []
    talk.host().open("s1")
    assert provider.hear_of("sessions.updated")
    assert talk.gateway.state.sessions["s1"].providers == [provider.ack["providerId"]]


def test_the_person_moves_a_provider_there(talk: Conversation) -> None:
    talk.host().open("s1")
    provider, tower, host = talk.provider("s1"), talk.tower(), opened(talk)
    moved = provider.ack["providerId"]
    tower.say(type="provider.move", providerId=moved, sessionId="mcp-1")
    talk.wait(1)
    assert names(host.hear_one("tools.changed")) == ["greet"]


def test_who_is_in_every_session_is_in_it_too_and_may_still_prompt_the_others(
    talk: Conversation,
) -> None:
    copilot = talk.host()
    copilot.open("s1")
    everywhere = talk.connect(INTERNAL_TOKEN)
    everywhere.hello(session="all")
    host = talk.tool_host()
    host.say(type="session.open", session={"id": "mcp-1", "label": "l", "cwd": "/"})
    everywhere.say(type="session.ready", sessionId="mcp-1")
    talk.wait(1)
    assert names(host.hear_one("tools.changed")) == ["greet"]
    talk.hush([copilot, everywhere])
    everywhere.push("look", "inject", broadcast=True)
    assert everywhere.hear() == []
    assert copilot.hear_one("session.send")["prompt"] == "look"
    assert host.hear() == []
    (line,) = [one for one in talk.events("stream.posted") if one["sessionId"] == "mcp-1"]
    assert line["line"]["level"] == "keep"


def test_a_provider_of_all_sessions_is_in_it_once_the_person_agreed(talk: Conversation) -> None:
    talk.host().open("s1", foreground=True)
    host, tower = opened(talk), talk.tower()
    provider = talk.connect(PROVIDER_TOKEN)
    provider.hello(session="all")
    assert provider.hear_one("error")["code"] == "UNAUTHORIZED"
    provider.say(type="session.ready", sessionId="mcp-1")
    talk.wait(2)
    assert host.hear() == []
    (asked,) = talk.events("approval.requested")
    tower.say(type="approval.decide", approvalId=asked["approval"]["id"], decision="approve")
    provider.hello(session="all")
    talk.wait(2)
    assert names(host.hear_one("tools.changed")) == ["greet"]


def test_what_sits_in_the_foreground_session_is_not_in_it(talk: Conversation) -> None:
    copilot = talk.host()
    copilot.open("s1", foreground=True)
    talk.provider("s1")
    host = opened(talk)
    copilot.say(type="session.update", sessionId="s1", foreground=False)
    copilot.say(type="session.close", sessionId="s1")
    talk.wait(20)
    assert host.hear() == []
    host.invoke("mcp-1")
    assert host.hear_one("tool.outcome")["errorCode"] == "NOT_FOUND"


def test_it_takes_no_order_and_no_mode(talk: Conversation) -> None:
    host, tower = opened(talk), talk.tower()
    for message in (
        {"type": "session.tell", "id": "x", "sessionId": "mcp-1", "text": "t"},
        {"type": "session.stop", "id": "x", "sessionId": "mcp-1"},
        {"type": "session.end", "id": "x", "sessionId": "mcp-1"},
        {"type": "session.mode", "sessionId": "mcp-1", "mode": "plan"},
    ):
        assert tower.error(message)["code"] == "NOT_FOUND"
    assert host.hear() == []


def test_a_pairing_code_never_goes_to_it(talk: Conversation) -> None:
    host = opened(talk)
    talk.connect().say(type="auth", mode="pair")
    talk.wait(60)
    assert host.hear() == []


# Whose program has tapui otherwise


def test_a_program_that_has_tapui_otherwise_has_no_second_session(talk: Conversation) -> None:
    talk.sight = DOOR
    copilot = talk.host()
    copilot.open("s1", pid=CLI)
    host = talk.tool_host()
    session = {"id": "mcp-1", "label": "l", "cwd": "/"}
    assert host.ask(type="session.open", session=session) == []
    host.say(type="session.update", sessionId="mcp-1", label="renamed")
    host.invoke("mcp-1")
    assert host.hear_one("tool.outcome")["errorCode"] == "NOT_FOUND"
    copilot.say(type="session.close", sessionId="s1")
    talk.wait(0)
    assert host.hear_one("session.opened")["sessionId"] == "mcp-1"
    assert talk.gateway.state.sessions["mcp-1"].label == "renamed"


def test_its_session_closes_when_the_program_is_attached_and_opens_again_after(
    talk: Conversation,
) -> None:
    talk.sight = DOOR
    host = opened(talk)
    provider = talk.provider("mcp-1")
    talk.wait(1)
    host.hear()
    copilot = talk.host()
    copilot.open("s1", pid=CLI)
    copilot.say(type="session.update", sessionId="s1", toolsRevision=1)
    talk.wait(0)
    assert host.hear_one("tools.changed")["tools"] == []  # at once
    assert provider.hear_of("session.lifecycle")[-1]["state"] == "shutdown.pending"
    copilot.say(type="session.close", sessionId="s1")
    talk.wait(1)
    assert host.hear() == []  # its provider has its time first
    provider.say(type="shutdown.ready", sessionId="mcp-1")
    talk.wait(0)
    assert [one["type"] for one in host.hear()] == ["session.closed", "session.opened"]


def test_its_session_stays_while_its_program_only_is_watched(talk: Conversation) -> None:
    talk.sight = DOOR
    host = opened(talk)
    talk.provider("mcp-1")
    talk.wait(1)
    assert names(host.hear_one("tools.changed")) == ["greet"]
    copilot = talk.host()
    copilot.open("s1", pid=CLI)
    copilot.say(type="session.update", sessionId="s1", toolsRevision=0)
    talk.wait(1)
    assert host.hear() == []
    # The person allows it after all; a newer list that is on its way changes nothing.
    copilot.say(type="session.update", sessionId="s1", toolsRevision=1)
    talk.wait(0)
    assert host.hear_one("tools.changed")["tools"] == []
    talk.provider("s1", name="second", tools=[tool("more")])
    talk.wait(20)
    assert host.hear_one("session.closed")["sessionId"] == "mcp-1"
    assert "mcp-1" not in talk.gateway.parts.sessions.open


def test_a_session_that_waited_opens_once_its_program_has_none_of_the_tools(
    talk: Conversation,
) -> None:
    talk.sight = DOOR
    copilot = talk.host()
    copilot.open("s1", pid=CLI)
    copilot.say(type="session.update", sessionId="s1", toolsRevision=1)
    host = talk.tool_host()
    session = {"id": "mcp-1", "label": "l", "cwd": "/"}
    assert host.ask(type="session.open", session=session) == []
    copilot.say(type="session.update", sessionId="s1", toolsRevision=0)
    talk.wait(0)
    assert host.hear_one("session.opened")["sessionId"] == "mcp-1"


def test_another_program_is_not_meant(talk: Conversation) -> None:
    talk.sight = ELSEWHERE
    talk.host().open("s1", pid=CLI)
    opened(talk)


def test_who_cannot_be_found_has_its_session(talk: Conversation) -> None:
    talk.sight = None
    talk.host().open("s1", pid=CLI)
    opened(talk)


def test_a_tool_host_that_goes_while_it_is_looked_for_leaves_nothing(talk: Conversation) -> None:
    talk.finds_askers = False
    host = talk.tool_host()
    host.say(type="session.open", session={"id": "mcp-1", "label": "l", "cwd": "/"})
    host.drop()
    talk.found(talk.asked_for[-1])
    assert talk.events("session.opened") == []


def test_it_closes_its_session_while_it_waits(talk: Conversation) -> None:
    talk.sight = DOOR
    talk.host().open("s1", pid=CLI)
    host = talk.tool_host()
    host.say(type="session.open", session={"id": "mcp-1", "label": "l", "cwd": "/"})
    host.say(type="session.close", sessionId="mcp-1")
    assert host.hear_one("session.closed")["sessionId"] == "mcp-1"
    assert host.error(type="session.close", sessionId="mcp-1")["code"] == "INVALID_SESSION"


def test_nothing_is_opened_again_while_the_gateway_ends(talk: Conversation) -> None:
    talk.sight = DOOR
    talk.host().open("s1", pid=CLI)
    host = talk.tool_host()
    host.say(type="session.open", session={"id": "mcp-1", "label": "l", "cwd": "/"})
    talk.tell(talk.gateway.shut_down)
    talk.turn()
    talk.wait(1)
    assert host.hear() == []


def test_a_tool_host_that_is_gone_leaves_nothing(talk: Conversation) -> None:
    before = talk.deadlines
    host = opened(talk)
    host.drop()
    talk.wait(11)
    assert talk.events("session.closed")[-1]["session"]["reason"] == "its client is gone"
    assert talk.deadlines == before
    assert talk.gateway.parts.tool_hosts._hosts == {}
