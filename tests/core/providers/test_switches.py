"""Tools that are switched off for a session: not offered, not called, off after a restart."""

from typing import Any

import pytest

from tapui.core.proof import facts as fact
from tapui.settings.settings import Settings
from tapui.wire import limits
from tests.core.conftest import Scene
from tests.core.harness import Conversation, Json, Peer, tool
from tests.core.proof.test_watching import Agent


def switch(tower: Peer, *, on: bool = False, session: str = "s1", **what: Any) -> list[Json]:
    about = {"type": "tools.switch", "sessionId": session, "provider": "greeter", "on": on}
    return tower.ask({**about, **what})


def offered(scene: Scene) -> list[str]:
    """Let the quiet period go by; return what the host is offered then."""
    scene.host.hear()
    scene.talk.wait(1)
    return [one["name"] for one in scene.host.hear_one("tools.changed")["tools"]]


def three(scene: Scene) -> None:
    tools = [tool(name) for name in ("a", "b", "c")]
    scene.provider.say(type="tools.update", tools=tools)
    scene.talk.wait(1)
    scene.host.hear()
    scene.talk.forget()


def refused(scene: Scene, name: str) -> tuple[str, str]:
    scene.host.hear()
    scene.host.invoke("s1", name, f"call {name}")
    outcome = scene.host.hear_one("tool.outcome")
    return outcome["errorCode"], outcome["error"]


def test_a_tool_that_is_off_is_neither_offered_nor_called(scene: Scene) -> None:
    three(scene)
    assert switch(scene.tower, tool="b") == []
    (event,) = scene.talk.events("tools.switched")
    assert (event["off"], event["by"]) == ({"greeter": ["b"]}, "you")
    assert offered(scene) == ["a", "c"]
    text = "Tool 'b' is switched off for this session by the person."
    assert refused(scene, "b") == ("UNAUTHORIZED", text)
    assert scene.provider.hear() == []
    scene.host.invoke("s1", "a", "still")
    scene.provider.take_call()
    switch(scene.tower, tool="b", on=True)
    assert offered(scene) == ["a", "b", "c"]
    scene.host.invoke("s1", "b", "again")
    scene.provider.take_call()


def test_a_call_by_a_command_is_refused_too(scene: Scene) -> None:
    switch(scene.tower, tool="greet")
    client = scene.talk.tower(role="client")
    client.invoke("s1", "greet", "i1")
    assert client.hear_one("tool.outcome")["errorCode"] == "UNAUTHORIZED"


def test_all_of_a_provider_and_what_comes_to_it_later(scene: Scene) -> None:
    switch(scene.tower)
    assert offered(scene) == []
    scene.provider.say(type="tools.update", tools=[tool("greet"), tool("later")])
    assert offered(scene) == []
    assert refused(scene, "later")[0] == "UNAUTHORIZED"
    switch(scene.tower, tool="later", on=True)  # the others stay off, one by one
    assert offered(scene) == ["later"]
    assert scene.talk.gateway.state.tools_off["s1"] == {"greeter": ["greet"]}
    switch(scene.tower, on=True)
    assert offered(scene) == ["greet", "later"]
    assert scene.talk.gateway.state.tools_off == {}


def test_the_only_tool_of_a_provider_that_is_off_is_on_again(scene: Scene) -> None:
    switch(scene.tower)
    switch(scene.tower, tool="greet", on=True)
    assert offered(scene) == ["greet"]
    assert scene.talk.gateway.state.tools_off == {}


def test_what_changes_nothing_is_no_event(scene: Scene) -> None:
    switch(scene.tower, on=True)
    switch(scene.tower, tool="nothing", on=True)
    switch(scene.tower, tool="greet")
    switch(scene.tower, tool="greet")
    (event,) = scene.talk.events("tools.switched")
    assert event["off"] == {"greeter": ["greet"]}


@pytest.mark.parametrize(
    ("what", "code"),
    [
        ({"provider": "nobody"}, "NOT_FOUND"),
        ({"tool": "nothing"}, "NOT_FOUND"),
        ({"sessionId": "nowhere"}, "INVALID_SESSION"),
        ({"on": None}, "INVALID_JSON"),
        ({"on": "no"}, "INVALID_JSON"),
        ({"provider": "x" * 300}, "INVALID_JSON"),
        ({"tool": ["greet"]}, "INVALID_JSON"),
    ],
)
def test_what_is_not_there_is_refused(scene: Scene, what: Json, code: str) -> None:
    (error,) = switch(scene.tower, **what)
    assert (error["type"], error["code"], error["replyTo"]) == ("error", code, "tools.switch")
    assert scene.talk.gateway.state.tools_off == {}


@pytest.mark.parametrize("who", ["host", "provider"])
def test_no_other_may_switch(scene: Scene, who: str) -> None:
    (error,) = switch(getattr(scene, who), tool="greet")
    assert error["type"] == "error"
    assert scene.talk.gateway.state.tools_off == {}


def test_only_those_of_the_session(scene: Scene) -> None:
    scene.host.open("s9")
    other = scene.talk.provider("s9", name="greeter")
    switch(scene.tower, tool="greet")
    scene.host.hear()
    scene.host.invoke("s9", "greet", "i9")
    assert other.take_call()


def test_the_lists_of_towers_agents_and_tap(scene: Scene) -> None:
    three(scene)
    agents = [{"name": "reviewer", "tools": ["a", "b"]}]
    scene.host.say(type="session.update", sessionId="s1", agents=agents)
    scene.talk.tools()
    switch(scene.tower, tool="b")
    scene.host.hear()
    scene.talk.wait(1)
    changed = scene.host.hear_one("tools.changed")
    (agent,) = changed["agents"]
    assert [one["name"] for one in agent["toolDefinitions"]] == ["a"]
    scene.host.invoke("s1", "tap_get_session_state", "state")
    state = scene.host.hear_one("tool.outcome")["data"]
    known = [one["name"] for one in state["tools"]]
    assert ("a" in known, "b" in known) == (True, False)
    (listed,) = scene.tower.ask(type="tools.read", id="r", sessionId="s1")
    assert "b" not in [one["name"] for one in listed["tools"]]
    (listed,) = scene.tower.ask(type="tools.read", id="r", sessionId="s1", all=True)
    assert "b" in [one["name"] for one in listed["tools"]]


def test_the_session_s_own_tools_are_listed_and_not_switched(scene: Scene) -> None:
    scene.host.open("s5", reservedTools=["view", "bash"])
    (listed,) = scene.tower.ask(type="tools.read", id="r", sessionId="s5", all=True)
    assert listed["own"] == ["bash", "view"]
    (error,) = switch(scene.tower, session="s5", provider="copilot", tool="bash")
    assert error["code"] == "NOT_FOUND"


def test_a_call_that_waits_for_a_gate_is_refused(scene: Scene) -> None:
    rule = {"match": {"tool": "greet"}, "action": "gate", "gateId": "ci"}
    gate = scene.talk.provider("s1", name="gate", tools=[], hooks={"onPreToolUse": [rule]})
    scene.host.invoke("s1", "greet", "i1")
    check = gate.hear_one("gate.check")
    switch(scene.tower, tool="greet")
    gate.say(type="gate.result", gateId="ci", callId=check["callId"], decision="allow")
    assert scene.host.hear_one("tool.outcome")["errorCode"] == "UNAUTHORIZED"
    assert scene.provider.hear_of("tool.call") == []


def test_a_call_that_waits_for_a_place_is_refused_and_one_that_runs_ends(
    talk: Conversation,
) -> None:
    host = talk.host()
    host.open("s1")
    provider = talk.provider("s1", tools=[tool("a"), tool("b")], concurrency={"max": 1})
    tower = talk.tower()
    host.hear()
    for number, name in enumerate(("a", "a", "b", "a")):
        host.invoke("s1", name, f"i{number}")
    switch(tower, tool="a")
    refused = host.hear_of("tool.outcome")
    assert [(one["id"], one["errorCode"]) for one in refused] == [
        ("i1", "UNAUTHORIZED"),
        ("i3", "UNAUTHORIZED"),
    ]
    provider.result(provider.take_call(), data="done")
    assert host.hear_one("tool.outcome")["data"] == "done"
    call = provider.hear_one("tool.call")
    assert call["tool"] == "b"
    provider.result(call["id"], data="b")
    assert host.hear_one("tool.outcome")["id"] == "i2"
    assert talk.gateway.state.calls == {}


def test_a_call_is_not_tried_again_once_its_tool_is_off(talk: Conversation) -> None:
    host = talk.host()
    host.open("s1")
    one, two = (talk.provider("s1", instance=name) for name in ("a", "b"))
    tower = talk.tower()
    host.hear()
    host.invoke("s1", "greet", "i1")
    calls = {peer: peer.hear_of("tool.call") for peer in (one, two)}
    (asked,) = (peer for peer, heard in calls.items() if heard)
    switch(tower, tool="greet")
    asked.result(calls[asked][0]["id"], error="asleep", retryable=True)
    assert host.hear_one("tool.outcome")["error"] == "asleep"
    assert one.hear_of("tool.call") + two.hear_of("tool.call") == []


def test_two_towers_at_once(scene: Scene) -> None:
    three(scene)
    other = scene.talk.tower()
    for tower, name in ((scene.tower, "a"), (other, "b"), (scene.tower, "b"), (other, "a")):
        assert switch(tower, tool=name) == []
    assert scene.talk.gateway.state.tools_off["s1"] == {"greeter": ["a", "b"]}
    switch(scene.tower)
    switch(other, tool="c", on=True)
    assert offered(scene) == ["c"]
    switch(scene.tower, on=True)
    assert offered(scene) == ["a", "b", "c"]


def test_a_provider_that_comes_again_has_its_tools_off_still(scene: Scene) -> None:
    three(scene)
    switch(scene.tower, tool="b")
    scene.provider.say(type="goodbye")
    scene.talk.wait(1)
    scene.talk.provider("s1", name="greeter", tools=[tool("a"), tool("b")])
    assert offered(scene) == ["a"]
    assert refused(scene, "b")[0] == "UNAUTHORIZED"


def test_1000_tools_with_schemas_of_a_megabyte() -> None:
    talk = Conversation(Settings(provider_tools=1000))
    host = talk.host()
    host.open("s1")
    schema = {"type": "object", "description": "x" * 1_000_000}
    tools = [tool(f"t{number}") for number in range(999)]
    talk.provider("s1", tools=[*tools, tool("large", parameters=schema)])
    tower = talk.tower()
    switch(tower, provider="greeter")
    switch(tower, tool="large", on=True)
    talk.wait(1)
    changed = host.hear_of("tools.changed")[-1]
    assert [one["name"] for one in changed["tools"]] == ["large"]
    assert len(talk.gateway.state.tools_off["s1"]["greeter"]) == 999


def test_names_that_are_off_are_bounded(scene: Scene, monkeypatch: pytest.MonkeyPatch) -> None:
    three(scene)
    monkeypatch.setattr(limits, "MAX_TOOLS_OFF", 2)
    for name in ("a", "b"):
        switch(scene.tower, tool=name)
    (error,) = switch(scene.tower, tool="c")
    assert error["code"] == "PAYLOAD_TOO_LARGE"
    assert scene.talk.gateway.state.tools_off["s1"] == {"greeter": ["a", "b"]}


def test_a_tool_host_s_client_sees_the_same(talk: Conversation) -> None:
    door = talk.tool_host()
    door.open("mcp-1")
    talk.provider("mcp-1", name="greeter", tools=[tool("a"), tool("b")])
    tower = talk.tower()
    talk.wait(1)
    door.hear()
    switch(tower, session="mcp-1", tool="a")
    talk.wait(1)
    assert [one["name"] for one in door.hear_one("tools.changed")["tools"]] == ["b"]
    door.invoke("mcp-1", "a", "i1")
    assert door.hear_one("tool.outcome")["errorCode"] == "UNAUTHORIZED"


# Kept


@pytest.fixture
def agent(scene: Scene) -> Agent:
    agent = Agent(scene)
    scene.talk.provider("s2", name="greeter", tools=[tool("a"), tool("b")])
    return agent


def off(agent: Agent) -> Json:
    found: Json = agent.talk.gateway.state.tools_off.get(agent.session, {})
    return found


def test_what_is_off_stands_in_the_ledger_and_is_off_again(agent: Agent) -> None:
    switch(agent.tower, session="s2", tool="a")
    agent.host.say(type="session.close", sessionId="s2")
    agent.talk.wait(20)
    assert off(agent) == {}
    agent.talk.forget()
    agent.open()
    agent.begin()
    assert off(agent) == {"greeter": ["a"]}
    (event,) = agent.talk.events("tools.switched")
    assert event["by"] == "tapui"
    agent.talk.provider("s2", name="greeter", tools=[tool("a"), tool("b")])
    agent.talk.wait(1)
    changed = agent.host.hear_of("tools.changed")[-1]
    assert [one["name"] for one in changed["tools"]] == ["b"]


def test_on_again_is_on_after_a_restart(agent: Agent) -> None:
    switch(agent.tower, session="s2", tool="a")
    switch(agent.tower, session="s2", tool="a", on=True)
    agent.host.say(type="session.close", sessionId="s2")
    agent.talk.wait(20)
    agent.open()
    agent.begin()
    assert off(agent) == {}


def test_what_is_off_outlives_clear(agent: Agent) -> None:
    switch(agent.tower, session="s2")
    opened = agent.host.open("s4", shellTools=["bash"], cwd="/code", replaces="s2")
    assert opened["tools"] == []
    assert agent.talk.gateway.state.tools_off == {"s4": {"greeter": []}}
    agent.session = "s4"
    agent.begin()
    assert fact.ToolsStood in [type(one) for one in agent.facts]


def test_a_ledger_that_was_changed_is_written_anew_with_what_is_off(agent: Agent) -> None:
    switch(agent.tower, session="s2", tool="a")
    agent.begin()
    agent.shell.is_changed = True
    agent.edit("till.py")
    agent.end()
    assert off(agent) == {"greeter": ["a"]}
    (kept,) = [one for one in agent.facts if isinstance(one, fact.ToolsStood)]
    assert kept.off == {"greeter": ["a"]}
