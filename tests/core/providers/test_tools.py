"""Tools: what a definition must be, whose a name is, updates, and what hosts are told."""

import json
from typing import Any

import pytest

from tapui.settings.settings import Settings
from tests.core.conftest import Scene
from tests.core.harness import INTERNAL_TOKEN, PROVIDER_TOKEN, Conversation, Json, Peer, tool


def nested(depth: int) -> Json:
    """Return an object that nests `depth` levels."""
    schema: Json = {}
    for _ in range(depth - 1):
        schema = {"x": schema}
    return schema


BAD: list[tuple[Json, str]] = [
    (tool(""), "tools[0].name: must match ^[A-Za-z0-9_-]{1,64}$"),
    (tool("a" * 65), "tools[0].name: "),
    (tool("a b"), "tools[0].name: "),
    (tool("a.b"), "tools[0].name: "),
    (tool("ü"), "tools[0].name: "),
    (tool("a\n"), "tools[0].name: "),
    (tool("a", description=""), "tools[0].description: must not be empty"),
    (tool("a", description=" \t"), "tools[0].description: "),
    (tool("a", description=None), "tools[0].description: "),
    (tool("a", parameters=[]), "tools[0].parameters: expected an object"),
    (tool("a", parameters=None), "tools[0].parameters: "),
    (tool("a", parameters="{}"), "tools[0].parameters: "),
    (tool("a", parameters=7), "tools[0].parameters: "),
    (tool("a", parameters=nested(33)), "tools[0].parameters: nested deeper than 32 levels"),
    (tool("a", parameters={"$ref": "http://x/y"}), "tools[0].parameters: remote $ref"),
    (tool("a", parameters={"$ref": "other.json#/a"}), "tools[0].parameters: remote $ref"),
    (tool("a", parameters={"x": [{"$dynamicRef": "//x"}]}), "tools[0].parameters: remote $ref"),
    (tool("a", timeout=0), "tools[0].timeout: must be a finite number"),
    (tool("a", timeout=-5), "tools[0].timeout: "),
    (tool("a", timeout="5"), "tools[0].timeout: "),
    ({"name": "a", "description": "d"}, "tools[0].parameters: missing"),
    ({"name": "a", "parameters": {}}, "tools[0].description: missing"),
    ({"description": "d", "parameters": {}}, "tools[0].name: missing"),
]
GOOD: list[Json] = [
    tool("a"),
    tool("a" * 64),
    tool("A-z_09"),
    tool("a", parameters={}),
    tool("a", parameters=nested(32)),
    tool("a", parameters={"properties": {"x": {"$ref": "#/$defs/y"}}}),
    tool("a", parameters={"properties": {"$ref": {"type": "string"}}}),
    tool("a", timeout=0.5),
    tool("a", timeout=1e9),
    tool("a", description="\u202e hostile", title="unknown fields are ignored"),
]


@pytest.mark.parametrize(("definition", "text"), BAD)
def test_a_bad_definition_names_its_field(scene: Scene, definition: Json, text: str) -> None:
    for message in ({"type": "tools.update"}, {"type": "tools.update", "remove": []}):
        error = scene.provider.error(message, tools=[definition])
        assert (error["code"], error["replyTo"]) == ("INVALID_JSON", "tools.update")
        assert error["message"].startswith(text)
    peer = scene.talk.connect(PROVIDER_TOKEN).hello(session="s1", name="p", tools=[definition])
    error = peer.hear_one("error")
    assert error["message"].startswith(text)
    assert peer.state == "AwaitHello"
    assert scene.talk.gateway.state.providers["p-1"].tools == ["greet"]


def test_an_escaped_remote_ref_is_seen(scene: Scene) -> None:
    data = json.dumps({"type": "tools.update", "tools": [tool("a", parameters={"K": "http://x"})]})
    error = scene.provider.error(data.replace('"K"', r'"\u0024ref"'))
    assert "remote $ref" in error["message"]


@pytest.mark.parametrize("timeout", ["NaN", "Infinity", "1e999"])
def test_a_timeout_that_is_no_finite_number(scene: Scene, timeout: str) -> None:
    data = json.dumps({"type": "tools.update", "tools": [tool("a", timeout=4711)]})
    error = scene.provider.error(data.replace("4711", timeout))
    assert error["code"] == "INVALID_JSON"


@pytest.mark.parametrize("definition", GOOD)
def test_a_good_definition_is_taken_and_offered(scene: Scene, definition: Json) -> None:
    assert scene.provider.ask(type="tools.update", tools=[definition]) == []
    scene.talk.wait(0.2)
    offered = scene.host.hear_one("tools.changed")["tools"]
    fields = {key: definition[key] for key in ("name", "description", "parameters")}
    assert offered == [{**fields, "provider": "greeter"}]


def test_a_hundred_tools_and_no_more(scene: Scene) -> None:
    def tools(count: int) -> list[Json]:
        return [tool(f"t{i}") for i in range(count)]

    error = scene.provider.error(type="tools.update", tools=tools(101))
    assert error["code"] == "PAYLOAD_TOO_LARGE"
    assert scene.talk.gateway.state.providers["p-1"].tools == ["greet"]
    assert scene.provider.ask(type="tools.update", tools=tools(100)) == []
    error = scene.provider.error(type="tools.update", tools=[tool("more")], remove=[])
    assert error["code"] == "PAYLOAD_TOO_LARGE"
    assert len(scene.talk.gateway.state.providers["p-1"].tools) == 100
    more = {"type": "tools.update", "tools": [tool("more")], "remove": ["t0"]}
    assert scene.provider.ask(more) == []


def test_how_many_tools_a_provider_may_have_is_a_setting() -> None:
    talk = Conversation(Settings(provider_tools=2))
    talk.host().open("s1")
    peer = talk.connect(PROVIDER_TOKEN)
    hello = {"type": "hello", "name": "many", "protocolVersion": 2, "session": "s1"}
    three, two = ([tool(f"t{n}") for n in range(count)] for count in (3, 2))
    error = peer.error({**hello, "tools": three})
    assert error["message"] == "3 tools; a provider may have at most 2 (setting provider-tools)"
    assert peer.ask({**hello, "tools": two})[-1]["type"] != "error"
    more = peer.error(type="tools.update", tools=[tool("more")], remove=[])
    assert "(setting provider-tools)" in more["message"]


# Conflicts


def test_conflicts_name_the_owner(talk: Conversation) -> None:
    talk.tools()
    host = talk.host()
    host.open("s1", reservedTools=["bash"])
    talk.provider("s1", name="owner", tools=[tool("mine"), tool("list_other_tabs")])
    peer = talk.connect(PROVIDER_TOKEN)
    peer.hear()
    clashes = {
        "mine": "Tool 'mine' already registered by provider 'owner'",
        "tap_post": "Tool 'tap_post' already registered by provider 'tap'",
        "bash": "Tool 'bash' is the session's own",
        "list_owner_x": "Tool 'list_owner_x' is reserved for provider 'owner'",
        "list_tap_instances": "Tool 'list_tap_instances' is reserved for provider 'tap'",
    }
    for name, text in clashes.items():
        peer.hello(session="s1", name="p", tools=[tool("fine"), tool(name)])
        error = peer.hear_one("error")
        assert (error["code"], error["message"], error["sessionId"]) == (
            "TOOL_CONFLICT",
            text,
            "s1",
        )
    peer.hello(session="s1", name="p", tools=[tool("a"), tool("a")])
    assert peer.hear_one("error")["message"] == "Tool 'a' stands twice in the list"
    peer.hello(session="s1", name="p", tools=[tool("list_p_x"), tool("list_owner")])
    assert peer.hear()[0]["type"] == "hello.ack"


def test_a_name_is_free_in_another_session_and_when_its_owner_leaves(scene: Scene) -> None:
    scene.host.open("s2")
    other = scene.talk.provider("s2", name="other")
    assert other.state == "Bound"
    third = scene.talk.connect(PROVIDER_TOKEN).hello(session="s1", name="third")
    assert third.hear_of("error")[0]["code"] == "TOOL_CONFLICT"
    scene.provider.drop()
    third.hello(session="s1", name="third")
    assert third.hear()[0]["type"] == "hello.ack"


def test_an_update_that_clashes_changes_nothing(scene: Scene) -> None:
    scene.talk.provider("s1", name="other", tools=[tool("theirs")])
    scene.provider.hear()
    for remove in ({}, {"remove": ["greet"]}):
        error = scene.provider.error(
            {"type": "tools.update", "tools": [tool("new"), tool("theirs")], **remove}
        )
        assert error["code"] == "TOOL_CONFLICT"
    error = scene.provider.error(type="tools.update", tools=[tool("x"), tool("x")], remove=[])
    assert error["code"] == "TOOL_CONFLICT"
    assert scene.talk.gateway.state.providers["p-1"].tools == ["greet"]
    scene.host.invoke("s1")
    assert scene.provider.take_call()


# Updates


def names(scene: Scene) -> list[str]:
    return scene.talk.gateway.state.providers["p-1"].tools


@pytest.mark.parametrize(
    ("update", "after"),
    [
        ({"tools": [tool("a")]}, ["a"]),
        ({"tools": []}, []),
        ({"tools": [tool("a")], "remove": []}, ["greet", "a"]),
        ({"tools": [tool("a")], "remove": ["greet"]}, ["a"]),
        ({"remove": ["greet"]}, []),
        ({"remove": ["unknown"]}, ["greet"]),
        ({"remove": []}, ["greet"]),
        ({"tools": [tool("greet", description="new")], "remove": ["greet"]}, ["greet"]),
    ],
)
def test_an_update_replaces_or_changes(scene: Scene, update: Json, after: list[str]) -> None:
    assert scene.provider.ask({"type": "tools.update", **update}) == []
    assert names(scene) == after
    ack = scene.provider.ask({"type": "tools.update", **update}, requestId="r1")
    assert ack == [{"type": "ack", "requestId": "r1", "sessionId": "s1", "revision": 2}]


def test_calls_to_a_removed_tool_go_on(scene: Scene) -> None:
    scene.host.invoke("s1").hear()
    call = scene.provider.take_call()
    scene.provider.say(type="tools.update", tools=[])
    scene.provider.result(call, data="done")
    assert scene.host.hear_one("tool.outcome")["data"] == "done"
    heard = scene.host.ask(type="tool.invoke", id="i2", sessionId="s1", tool="greet")
    assert heard[0]["errorCode"] == "NOT_FOUND"


@pytest.mark.parametrize("session", ["s2", "s9", "all"])
def test_an_update_of_a_session_that_is_not_ones_own(scene: Scene, session: str) -> None:
    scene.host.open("s2")
    scene.provider.hear()
    error = scene.provider.error(type="tools.update", tools=[], sessionId=session, requestId="r9")
    assert (error["code"], error["sessionId"], error["requestId"]) == (
        "INVALID_SESSION",
        session,
        "r9",
    )


# What hosts are told


def test_changes_of_one_quiet_period_are_told_once(scene: Scene) -> None:
    for i in range(3):
        scene.provider.say(type="tools.update", tools=[tool(f"t{i}")])
        scene.talk.wait(0.15)
    assert scene.host.hear() == []
    scene.talk.wait(0.05)
    assert scene.host.hear() == [
        {
            "type": "tools.changed",
            "sessionId": "s1",
            "tools": [{**tool("t2"), "provider": "greeter"}],
            "revision": 3,
        }
    ]
    scene.talk.wait(60)
    assert scene.host.hear() == []


def test_a_steady_flow_of_changes_is_told_every_second(scene: Scene) -> None:
    for i in range(30):
        scene.provider.say(type="tools.update", tools=[tool(f"t{i}")])
        scene.talk.wait(0.1)
    assert 2 <= len(scene.host.hear_of("tools.changed")) <= 3


def test_a_provider_that_leaves_takes_its_tools_along(scene: Scene) -> None:
    scene.provider.drop()
    scene.talk.wait(0.2)
    changed = scene.host.hear_one("tools.changed")
    assert (changed["tools"], changed["revision"]) == ([], 3)


def test_a_session_that_ends_first_hears_nothing_more(scene: Scene) -> None:
    scene.provider.say(type="tools.update", tools=[])
    scene.host.say(type="session.close", sessionId="s1")
    scene.talk.wait(20)
    assert [one["type"] for one in scene.host.hear()] == ["session.closed"]


def test_read_only_tap_tools_are_marked(talk: Conversation) -> None:
    talk.tools()
    opened = talk.host().open("s1")
    marked = [one["name"] for one in opened["tools"] if one.get("readOnly")]
    assert marked == [
        "tap_list_streams",
        "tap_stream_history",
        "tap_get_session_state",
        "tap_list_emitters",
        "tap_list_goals",
        "tap_verify_goal_output",
        "tap_audit_claims",
        "tap_query_records",
    ]


def test_what_passes_through_is_not_touched(scene: Scene) -> None:
    spaced = '{ "b": 1e2,  "a": "\\u0041\\/", "b": 2 }'
    data = '{"type":"tool.invoke","id":"i1","sessionId":"s1","tool":"greet","args":' + spaced + "}"
    gateway, talk = scene.talk.gateway, scene.talk
    gateway.received(scene.host.number, data.encode(), talk.now)
    _, _, effects = gateway.take()
    message: Any = effects[0]
    assert bytes(message.message.args).decode() == spaced


def test_internal_clients_may_bring_tools_too(scene: Scene) -> None:
    peer: Peer = scene.talk.connect(INTERNAL_TOKEN).hello(session="s1", name="in", tools=[])
    assert peer.hear()[0]["type"] == "hello.ack"
    assert scene.talk.gateway.state.providers["p-2"].trust == "internal"


# What the session has taken


def taken(scene: Scene) -> bool | None:
    """Return what is known of it, after the tower's events were folded."""
    return scene.talk.gateway.state.sessions["s1"].tools_taken


def take(scene: Scene, revision: float) -> None:
    update = {"type": "session.update", "sessionId": "s1", "toolsRevision": revision}
    assert scene.host.ask(update) == []


def test_tools_are_taken_when_the_host_names_the_newest_list(scene: Scene) -> None:
    assert taken(scene) is None
    revision = 2  # the provider's tools came after the session
    take(scene, revision)
    assert taken(scene) is True
    told = scene.talk.events("session.updated")
    assert told[-1]["session"]["toolsTaken"] is True
    take(scene, float(revision))
    assert scene.talk.events("session.updated") == told
    take(scene, 0)
    assert taken(scene) is False


def test_tools_that_change_are_not_taken_until_their_own_list_is(scene: Scene) -> None:
    take(scene, 2)
    scene.provider.ask(type="tools.update", tools=[tool("another")])
    assert taken(scene) is False  # at once, before the host hears of it
    take(scene, 2)
    assert taken(scene) is False
    scene.talk.wait(0.2)
    assert scene.host.hear_one("tools.changed")["revision"] == 3
    take(scene, 2)
    assert taken(scene) is False
    take(scene, 3)
    assert taken(scene) is True
    take(scene, 4)  # there is no such list yet
    assert taken(scene) is False


def test_a_host_that_never_says_what_is_taken_is_not_asked(scene: Scene) -> None:
    before = scene.talk.events("session.updated")
    scene.provider.ask(type="tools.update", tools=[tool("another")])
    scene.talk.wait(0.2)
    assert taken(scene) is None
    assert scene.talk.events("session.updated") == before
