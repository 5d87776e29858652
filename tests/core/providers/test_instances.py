"""Several instances of one provider: targets, the lister, routing and the one retry."""

import pytest

from tests.core.harness import PROVIDER_TOKEN, Conversation, Json, Peer, tool


def tab(talk: Conversation, instance: str, **hello: object) -> Peer:
    return talk.provider(
        "s1", name="browser", instance=instance, **{"tools": [tool("shot")], **hello}
    )


def tools_of(talk: Conversation, host: Peer) -> dict[str, Json]:
    host.hear()
    talk.wait(0.3)
    changed = host.hear_of("tools.changed")
    return {one["name"]: one for one in changed[-1]["tools"]} if changed else {}


@pytest.fixture
def host(talk: Conversation) -> Peer:
    peer = talk.host()
    peer.open("s1")
    return peer


def test_an_instance_brings_target_and_lister(talk: Conversation, host: Peer) -> None:
    tab(talk, "a", metadata={"title": "Dashboard"})
    tab(talk, "b")
    tools = tools_of(talk, host)
    assert list(tools) == ["shot", "list_browser_instances"]
    target = tools["shot"]["parameters"]["properties"]["target"]
    assert target["type"] == "string"
    assert "a (Dashboard), b" in target["description"]
    assert tools["list_browser_instances"]["readOnly"] is True


def test_lister_answers_with_metadata(talk: Conversation, host: Peer) -> None:
    tab(talk, "a", metadata={"title": "Dashboard"})
    tab(talk, "b")
    host.hear()
    host.invoke("s1", "list_browser_instances")
    assert host.hear_one("tool.outcome")["data"] == [
        {"instance": "a", "metadata": {"title": "Dashboard"}},
        {"instance": "b", "metadata": {}},
    ]


def test_target_chooses_and_is_taken_out_of_the_arguments(talk: Conversation, host: Peer) -> None:
    one, two = tab(talk, "a"), tab(talk, "b")
    host.invoke("s1", "shot", args={"target": "a", "full": True})
    assert one.hear_one("tool.call")["args"] == {"full": True}
    host.invoke("s1", "shot", id_="i2", args={"target": "b"})
    assert two.hear_one("tool.call")["args"] == {}


OWN_TARGET = {"type": "object", "properties": {"target": {"type": "string"}}}


def test_a_tool_with_a_target_of_its_own_is_addressed_by_target_instance(
    talk: Conversation, host: Peer
) -> None:
    shot = tool("shot", parameters=OWN_TARGET)
    one = tab(talk, "a", tools=[shot])
    talk.wait(1)
    two = tab(talk, "b", tools=[shot])
    properties = tools_of(talk, host)["shot"]["parameters"]["properties"]
    assert properties["target"] == {"type": "string"}
    assert "Available: a, b" in properties["targetInstance"]["description"]
    host.invoke("s1", "shot", args={"target": "#login", "targetInstance": "a"})
    assert one.hear_one("tool.call")["args"] == {"target": "#login"}
    assert two.hear() == []
    host.invoke("s1", "shot", id_="i2", args={"targetInstance": "z"})
    outcome = host.hear_one("tool.outcome")
    assert (outcome["errorCode"], outcome["error"]) == (
        "NOT_FOUND",
        "no instance 'z'; there are: a, b",
    )


def test_a_tool_with_a_target_of_its_own_goes_to_the_most_recently_active(
    talk: Conversation, host: Peer
) -> None:
    one = tab(talk, "a", tools=[tool("shot", parameters=OWN_TARGET)])
    talk.wait(1)
    two = tab(talk, "b", tools=[tool("shot", parameters=OWN_TARGET)])
    host.invoke("s1", "shot", args={"target": "a"})
    assert two.hear_one("tool.call")["args"] == {"target": "a"}
    talk.wait(1)
    one.push("I am alive")
    host.invoke("s1", "shot", id_="i2", args={"target": "b"})
    assert one.hear_one("tool.call")["args"] == {"target": "b"}


def test_a_tool_that_has_both_names_itself_keeps_both(talk: Conversation, host: Peer) -> None:
    own = {"type": "object", "properties": {"target": {}, "targetInstance": {}}}
    one = tab(talk, "a", tools=[tool("shot", parameters=own)])
    assert tools_of(talk, host)["shot"]["parameters"] == own
    host.invoke("s1", "shot", args={"target": "x", "targetInstance": "y"})
    assert one.hear_one("tool.call")["args"] == {"target": "x", "targetInstance": "y"}


def test_unknown_target_is_not_found(talk: Conversation, host: Peer) -> None:
    tab(talk, "a")
    host.hear()
    host.invoke("s1", "shot", args={"target": "z"})
    outcome = host.hear_one("tool.outcome")
    assert (outcome["errorCode"], outcome["error"]) == (
        "NOT_FOUND",
        "no instance 'z'; there are: a",
    )


def test_without_target_the_most_recently_active_is_called(talk: Conversation, host: Peer) -> None:
    one = tab(talk, "a")
    talk.wait(1)
    two = tab(talk, "b")
    host.invoke("s1", "shot")
    assert two.hear_one("tool.call")
    talk.wait(1)
    one.push("I am alive")
    host.invoke("s1", "shot", id_="i2")
    assert one.hear_one("tool.call")


def test_retryable_error_goes_to_another_instance_once(talk: Conversation, host: Peer) -> None:
    one = tab(talk, "a")
    talk.wait(1)
    two = tab(talk, "b")
    host.hear()
    host.invoke("s1", "shot")
    two.result(two.take_call(), error="tab is asleep", errorCode="INTERNAL", retryable=True)
    assert not host.hear()
    one.result(one.take_call(), error="asleep, too", errorCode="INTERNAL", retryable=True)
    assert host.hear_one("tool.outcome")["error"] == "asleep, too"
    assert len(talk.events("call.started")) == len(talk.events("call.finished")) == 2


def test_with_an_explicit_target_nothing_is_retried(talk: Conversation, host: Peer) -> None:
    tab(talk, "a")
    two = tab(talk, "b")
    host.hear()
    host.invoke("s1", "shot", args={"target": "b"})
    two.result(two.take_call(), error="asleep", errorCode="INTERNAL", retryable=True)
    assert host.hear_one("tool.outcome")["error"] == "asleep"


def test_tools_stay_while_one_instance_is_left(talk: Conversation, host: Peer) -> None:
    one, two = tab(talk, "a"), tab(talk, "b")
    one.drop()
    assert "b" in tools_of(talk, host)["shot"]["parameters"]["properties"]["target"]["description"]
    two.drop()
    assert tools_of(talk, host) == {}


def test_another_provider_cannot_take_the_listers_name(talk: Conversation, host: Peer) -> None:
    tab(talk, "a")
    peer = talk.connect(PROVIDER_TOKEN)
    error = peer.error(
        type="hello", name="other", protocolVersion=2, session="s1",
        tools=[tool("list_browser_instances")],
    )  # fmt: skip
    assert error["code"] == "TOOL_CONFLICT"


@pytest.mark.parametrize(
    ("name", "taken"),
    [("browser", "list_browser_x"), ("my tabs!", "list_my_tabs__x"), ("é", "list___instances")],
)
def test_names_that_begin_like_the_lister_of_another_are_reserved(
    talk: Conversation, host: Peer, name: str, taken: str
) -> None:
    talk.provider("s1", name=name)
    peer = talk.connect(PROVIDER_TOKEN)
    hello = {"type": "hello", "name": "other", "protocolVersion": 2, "session": "s1"}
    error = peer.error(hello, tools=[tool(taken)])
    assert error["code"] == "TOOL_CONFLICT"
    assert f"reserved for provider '{name}'" in error["message"]


def test_same_tool_of_another_provider_still_conflicts(talk: Conversation, host: Peer) -> None:
    tab(talk, "a")
    peer = talk.connect(PROVIDER_TOKEN)
    error = peer.error(
        type="hello", name="other", protocolVersion=2, session="s1", tools=[tool("shot")]
    )
    assert (error["code"], "browser" in error["message"]) == ("TOOL_CONFLICT", True)


# Metadata in the list of tools


ABOUT = {"title": "Dashboard", "url": "https://app.example.com"}


@pytest.mark.parametrize("instance", [None, "a"])
def test_metadata_is_in_the_list_of_tools(
    talk: Conversation, host: Peer, instance: str | None
) -> None:
    provider = talk.provider("s1", name="tab", instance=instance, metadata=ABOUT)
    tools = tools_of(talk, host)
    assert tools["greet"]["metadata"] == ABOUT
    if instance:
        listed = tools["list_tab_instances"]["instances"]
        assert listed == [{"instance": "a", "metadata": ABOUT}]
    provider.hello(session="s1", name="tab", instance=instance)
    tools = tools_of(talk, host)
    assert "metadata" not in tools["greet"]


def test_metadata_of_each_instance_is_with_the_lister(talk: Conversation, host: Peer) -> None:
    tab(talk, "a", metadata=ABOUT)
    other = tab(talk, "b", metadata={"title": "Settings"}, tools=[])
    tools = tools_of(talk, host)
    assert tools["shot"]["metadata"] == ABOUT
    assert tools["list_browser_instances"]["instances"] == [
        {"instance": "a", "metadata": ABOUT},
        {"instance": "b", "metadata": {"title": "Settings"}},
    ]
    other.hello(session="s1", name="browser", instance="b", tools=[tool("shot")])
    tools = tools_of(talk, host)
    assert "metadata" not in tools["shot"]
    assert tools["list_browser_instances"]["instances"][1] == {"instance": "b"}
    other.drop()
    listed = tools_of(talk, host)["list_browser_instances"]["instances"]
    assert [one["instance"] for one in listed] == ["a"]


def test_long_metadata_is_not_repeated_with_each_tool(talk: Conversation, host: Peer) -> None:
    talk.provider("s1", metadata={"text": "x" * 4096})
    assert "metadata" not in tools_of(talk, host)["greet"]


@pytest.mark.parametrize("instance", [None, "a"])
def test_metadata_is_in_the_sessions_state(
    talk: Conversation, host: Peer, instance: str | None
) -> None:
    talk.tools()
    talk.provider("s1", name="tab", instance=instance, metadata=ABOUT)
    talk.provider("s1", name="plain", tools=[])
    host.hear()
    host.invoke("s1", "tap_get_session_state")
    providers = host.hear_one("tool.outcome")["data"]["providers"]
    assert [one.get("metadata") for one in providers] == [ABOUT, None]
