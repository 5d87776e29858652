"""The core's share of MCP servers: which sessions have them, their tokens, and what is shown."""

from msgspec.structs import replace

from tapui.core.effects import McpSession
from tapui.wire import limits
from tapui.wire.mcp_servers import McpServer, McpTool
from tests.core.conftest import Scene
from tests.core.harness import Conversation

SERVER = McpServer(
    id="mcp-1",
    name="files",
    source="own",
    state="ready",
    program="npx",
    file="/mcp.json",
    line=3,
    tools=[McpTool("read", "files_read")],
    tool_count=1,
)


def begin(talk: Conversation) -> None:
    talk.tell(talk.gateway.mcp_servers.begin)
    talk.turn()


def told(talk: Conversation) -> dict[str, McpSession]:
    return {one.id: one for one in talk.mcp_sessions}


def test_the_shell_is_told_of_sessions_once_it_can_run_servers(scene: Scene) -> None:
    talk, host = scene.talk, scene.host
    host.open("s2", cwd="/repo", mcpServers=["github"])
    assert not talk.mcp_sessions
    begin(talk)
    assert told(talk) == {
        "s1": McpSession("s1", "/s1"),
        "s2": McpSession("s2", "/repo", frozenset({"github"})),
    }
    host.say(type="session.update", sessionId="s1", cwd="/other", mcpServers=[])
    assert told(talk)["s1"] == McpSession("s1", "/other", frozenset())
    host.open("s3", replaces="s2", cwd="/repo")
    assert set(told(talk)) == {"s1", "s3"}
    host.say(type="session.close", sessionId="s1")
    assert set(told(talk)) == {"s3"}
    host.drop()
    assert not told(talk)


def test_tapuis_own_session_has_them_while_it_is_alone(talk: Conversation) -> None:
    begin(talk)
    talk.local()
    talk.tool_host().open("mcp-door")
    assert set(told(talk)) == {"local"}
    host = talk.host()
    host.open("s1")
    assert set(told(talk)) == {"s1"}
    host.say(type="session.close", sessionId="s1")
    assert set(told(talk)) == {"local"}


def test_a_token_is_good_for_its_session_and_dies_with_it(scene: Scene) -> None:
    talk = scene.talk
    scene.host.open("s2")
    token = talk.tell(talk.gateway.mcp_servers.token, "s1")
    assert token is not None
    provider = talk.provider("s1", token=token.reveal(), name="files", tools=[])
    shown = next(one for one in talk.gateway.state.providers.values() if one.name == "files")
    assert shown.trust == "project"
    stranger = talk.connect(token.reveal())
    stranger.hello(session="s2", name="files", tools=[])
    assert stranger.hear_one("error")["code"] == "INVALID_SESSION"
    scene.host.open("s3", replaces="s1")
    assert provider.state == "Bound"
    other = talk.provider("s3", token=token.reveal(), name="more", tools=[])
    assert other.state == "Bound"
    scene.host.say(type="session.close", sessionId="s3")
    late = talk.connect()
    late.say(type="auth", token=token.reveal())
    assert late.state != "AwaitHello"
    assert talk.tell(talk.gateway.mcp_servers.token, "s1") is None


def test_a_revoked_token_lets_nobody_in(scene: Scene) -> None:
    talk = scene.talk
    token = talk.tell(talk.gateway.mcp_servers.token, "s1")
    assert token is not None
    talk.tell(talk.gateway.mcp_servers.revoke, token)
    late = talk.connect()
    late.say(type="auth", token=token.reveal())
    assert late.state != "AwaitHello"


def test_servers_are_shown_recorded_and_bounded(scene: Scene) -> None:
    talk, servers = scene.talk, scene.talk.gateway.mcp_servers
    talk.tell(servers.changed, SERVER)
    talk.tell(servers.changed, SERVER)  # nothing has changed
    talk.tell(servers.changed, replace(SERVER, state="lost", why="it died"))
    talk.turn()
    assert [one["server"]["state"] for one in talk.events("mcp.changed")] == ["ready", "lost"]
    (shown,) = talk.tower().ack["state"]["mcpServers"]
    assert shown["tools"] == [{"name": "read", "offeredAs": "files_read"}]
    talk.tell(servers.gone, "mcp-1", "not configured")
    talk.tell(servers.gone, "mcp-1", "again")
    talk.turn()
    assert [one["reason"] for one in talk.events("mcp.gone")] == ["not configured"]
    assert talk.tower().ack["state"]["mcpServers"] == []
    for number in range(limits.MAX_MCP_SERVERS + 3):
        talk.tell(servers.changed, replace(SERVER, id=f"mcp-{number}"))
    assert len(talk.gateway.state.mcp_servers) == limits.MAX_MCP_SERVERS
