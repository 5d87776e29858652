"""How a connection begins: tokens, Origins, the first messages, versions, limits of strangers."""

from typing import Any

import pytest

from tapui.core.model import Way
from tapui.core.trust.places import places_for
from tapui.wire import limits
from tests.core.conftest import Scene
from tests.core.harness import INTERNAL_TOKEN, ORIGIN, PROVIDER_TOKEN, Conversation, Peer

TOKENS = [PROVIDER_TOKEN, INTERNAL_TOKEN]


def paired(talk: Conversation, origin: str | None = ORIGIN) -> tuple[Peer, str]:
    """Return a client that has paired for session `s1`, and its token."""
    tower = talk.tower()
    client = talk.connect(origin=origin)
    client.say(type="auth", mode="pair")
    approval = talk.events("approval.requested")[-1]["approval"]["id"]
    tower.say(type="approval.reveal", approvalId=approval)
    client.hear()
    client.say(type="auth.confirm", code=tower.hear_one("approval.revealed")["code"])
    tower.drop()
    return client, client.hear_one("sessions")["token"]


@pytest.mark.parametrize("token", TOKENS)
def test_a_token_opens_the_conversation_with_the_sessions(talk: Conversation, token: str) -> None:
    talk.host().open("s1", label="PR #42", mode="plan", model="gpt-5", foreground=True)
    client = talk.connect()
    assert client.ask(type="auth", token=token) == [
        {
            "type": "sessions",
            "active": [
                {
                    "id": "s1",
                    "label": "PR #42",
                    "cwd": "/s1",
                    "foreground": True,
                    "mode": "plan",
                    "model": "gpt-5",
                    "state": "idle",
                }
            ],
        }
    ]
    assert client.is_authenticated
    assert client.state == "AwaitHello"


@pytest.mark.parametrize("token", ["", "nonsense", PROVIDER_TOKEN + "x", PROVIDER_TOKEN[:-1], "ü"])
def test_a_wrong_token_closes(talk: Conversation, token: str) -> None:
    client = talk.connect()
    assert client.error(type="auth", token=token) == {
        "type": "error",
        "code": "AUTH_FAILED",
        "message": "unknown token",
        "replyTo": "auth",
    }
    assert client.closed == (1008, "AUTH_FAILED")
    assert client.ask(type="auth", token=PROVIDER_TOKEN) == []


@pytest.mark.parametrize("token", TOKENS)
@pytest.mark.parametrize("origin", [ORIGIN, "http://localhost:9400", "null"])
def test_an_origin_may_not_use_a_native_token(talk: Conversation, token: str, origin: str) -> None:
    client = talk.connect(origin=origin)
    assert client.error(type="auth", token=token)["code"] == "AUTH_FAILED"
    assert client.closed


@pytest.mark.parametrize(
    ("origin", "is_taken"),
    [
        (ORIGIN, True),
        (ORIGIN + ":443", False),
        (ORIGIN.upper(), False),
        (ORIGIN + "/", False),
        ("https://other.example.com", False),
        (None, False),
    ],
)
def test_a_paired_token_is_good_for_its_origin_only(
    talk: Conversation, origin: str | None, is_taken: bool
) -> None:
    talk.host().open("s1")
    _, token = paired(talk)
    assert token.startswith("ext-")
    client = talk.connect(origin=origin)
    heard = client.ask(type="auth", token=token)[0]
    assert heard["type"] == ("sessions" if is_taken else "error")
    assert bool(client.closed) != is_taken


def test_a_paired_token_without_origin_is_no_token_for_a_page(talk: Conversation) -> None:
    talk.host().open("s1")
    _, token = paired(talk, origin=None)
    assert talk.connect(origin=ORIGIN).error(type="auth", token=token)["code"] == "AUTH_FAILED"
    assert talk.connect().ask(type="auth", token=token)[0]["type"] == "sessions"


def test_a_paired_token_shows_and_binds_only_what_was_allowed(talk: Conversation) -> None:
    host = talk.host()
    host.open("s1")
    client, token = paired(talk)
    host.open("s2")
    updated = client.hear_of("sessions.updated")
    assert [one["id"] for one in updated[-1]["active"]] == ["s1"]
    client.hello(session="s2")
    assert client.hear_one("error")["code"] == "INVALID_SESSION"
    client.hello(session="s1")
    assert client.hear_one("hello.ack")["sessionId"] == "s1"
    again = talk.connect(origin=ORIGIN).ask(type="auth", token=token)[0]
    assert [one["id"] for one in again["active"]] == ["s1"]
    assert "token" not in again


def test_a_paired_token_dies_with_its_last_session(talk: Conversation) -> None:
    host = talk.host()
    host.open("s1")
    _, token = paired(talk)
    host.say(type="session.close", sessionId="s1")
    host.open("s1")
    client = talk.connect(origin=ORIGIN)
    assert client.error(type="auth", token=token)["code"] == "AUTH_FAILED"


def test_a_paired_token_follows_the_session_that_replaces(talk: Conversation) -> None:
    host = talk.host()
    host.open("s1")
    _, token = paired(talk)
    host.open("s2", replaces="s1")
    client = talk.connect(origin=ORIGIN)
    heard = client.ask(type="auth", token=token)[0]
    assert [one["id"] for one in heard["active"]] == ["s2"]


@pytest.mark.parametrize(
    ("auth", "text"),
    [
        ({}, "token: missing"),
        ({"token": None}, "token: missing"),
        ({"mode": "other"}, "token: missing"),
        ({"token": 1}, "token: Expected `str | null`, got `int`"),
    ],
)
def test_auth_without_a_token_may_be_tried_again(
    talk: Conversation, auth: dict[str, Any], text: str
) -> None:
    client = talk.connect()
    error = client.error({"type": "auth", **auth})
    assert (error["code"], error["message"]) == ("INVALID_JSON", text)
    assert client.state == "AwaitAuth"
    assert client.ask(type="auth", token=PROVIDER_TOKEN)[0]["type"] == "sessions"


def test_the_first_message_after_auth_says_who_it_is(talk: Conversation) -> None:
    host = talk.connect(INTERNAL_TOKEN)
    host.say(type="host.hello", name="copilot", kind="copilot", protocolVersion=2, hooks=True)
    assert host.hear() == [{"type": "host.ack", "hostId": "h-1", "protocolVersion": 2}]
    assert host.state == "Host"
    host.open("s1")
    tower = talk.connect(INTERNAL_TOKEN)
    tower.say(type="tower.hello", protocolVersion=2)
    assert [one["type"] for one in tower.hear()] == ["tower.snapshot", "tower.judged"]
    assert tower.state == "Tower"
    provider = talk.connect(PROVIDER_TOKEN)
    provider.hello(session="s1", tools=[])
    assert provider.hear() == [
        {
            "type": "hello.ack",
            "protocolVersion": 2,
            "providerId": "p-1",
            "sessionId": "s1",
            "reconnectToken": "tok-1",
            "persistDir": "/providers/greeter/",
        },
        {"type": "session.lifecycle", "sessionId": "s1", "state": "started"},
        {"type": "session.lifecycle", "sessionId": "s1", "state": "idle"},
    ]
    assert provider.state == "Bound"
    assert talk.folders == ["greeter"]


def test_a_client_with_an_origin_gets_no_folder(talk: Conversation) -> None:
    talk.host().open("s1")
    client, _ = paired(talk)
    client.hello(session="s1")
    assert "persistDir" not in client.hear_one("hello.ack")
    assert talk.folders == []


@pytest.mark.parametrize(
    "hello",
    [
        {"type": "host.hello", "name": "h", "kind": "k", "protocolVersion": 2},
        {"type": "tower.hello", "protocolVersion": 2},
    ],
)
def test_hosts_and_towers_need_the_internal_token(
    talk: Conversation, hello: dict[str, Any]
) -> None:
    talk.host().open("s1")
    client = talk.connect(PROVIDER_TOKEN)
    error = client.error(hello)
    assert (error["code"], error["replyTo"]) == ("UNAUTHORIZED", hello["type"])
    assert client.state == "AwaitHello"
    client.hello(session="s1")
    assert client.hear()[0]["type"] == "hello.ack"


HELLOS = [
    {"type": "hello", "name": "greeter", "session": "s1"},
    {"type": "host.hello", "name": "h", "kind": "k"},
    {"type": "tower.hello"},
]


@pytest.mark.parametrize("hello", HELLOS)
@pytest.mark.parametrize("version", [1, 3, 0, -2, 2.5, 1e300, 2**62])
def test_another_version_closes(talk: Conversation, hello: dict[str, Any], version: float) -> None:
    talk.host().open("s1")
    client = talk.connect(INTERNAL_TOKEN)
    error = client.error({**hello, "protocolVersion": version})
    assert (error["code"], error["replyTo"]) == ("UNSUPPORTED_VERSION", hello["type"])
    assert client.closed == (1008, "UNSUPPORTED_VERSION")


@pytest.mark.parametrize("hello", HELLOS)
def test_two_point_zero_is_two(talk: Conversation, hello: dict[str, Any]) -> None:
    talk.host().open("s1")
    client = talk.connect(INTERNAL_TOKEN)
    client.say({**hello, "protocolVersion": 2.0})
    assert client.state in ("Bound", "Host", "Tower")


@pytest.mark.parametrize("hello", HELLOS)
@pytest.mark.parametrize("version", ["2", None, True, [2]])
def test_a_version_that_is_no_number_is_a_malformed_field(
    talk: Conversation, hello: dict[str, Any], version: Any
) -> None:
    client = talk.connect(INTERNAL_TOKEN)
    error = client.error({**hello, "protocolVersion": version})
    assert error["code"] == "INVALID_JSON"
    assert error["message"].startswith("protocolVersion: ")
    assert client.state == "AwaitHello"


def test_a_stranger_has_ten_seconds(talk: Conversation) -> None:
    client = talk.connect()
    talk.wait(9.999)
    assert client.closed is None
    talk.wait(0.001)
    assert client.hear() == [
        {"type": "error", "code": "AUTH_FAILED", "message": "no auth within 10 s"}
    ]
    assert client.closed == (1008, "AUTH_FAILED")
    assert talk.deadlines == 0


def test_who_has_authenticated_has_no_deadline(talk: Conversation) -> None:
    client = talk.connect(PROVIDER_TOKEN)
    assert talk.deadlines == 0
    talk.wait(1000)
    assert client.closed is None


def test_the_eleventh_stranger_of_another_user_takes_the_place_of_the_first(
    talk: Conversation,
) -> None:
    strangers = [talk.connect() for _ in range(10)]
    assert all(one.closed is None for one in strangers)
    strangers[1].say(type="auth", token=PROVIDER_TOKEN)
    talk.connect()
    assert strangers[0].closed is None
    late = talk.connect()
    assert strangers[0].closed == (1013, "closed for a newer connection: it had not authenticated")
    assert strangers[1].state == "AwaitHello"
    assert late.closed is None
    assert talk.gateway.refusal() is None


@pytest.mark.parametrize("way", [Way.SOCKET, Way.OWN])
def test_silent_programs_of_this_user_have_places_of_their_own(
    talk: Conversation, way: Way
) -> None:
    mine = [talk.connect(way=way) for _ in range(limits.MAX_OWN_UNAUTHENTICATED)]
    other = Way.OWN if way is Way.SOCKET else Way.SOCKET
    for _ in range(100):
        talk.connect(way=Way.OTHER)
        talk.connect(way=other)
        talk.connect(origin=f"https://{talk.now}.example")
    assert all(one.closed is None for one in mine)
    talk.connect(way=way)
    assert [one.closed is None for one in mine] == [False] + [True] * (len(mine) - 1)


def test_pages_of_one_origin_are_closed_for_each_other(talk: Conversation) -> None:
    quiet = talk.connect(origin="https://quiet.example")
    loud = [talk.connect(origin="https://loud.example") for _ in range(50)]
    assert [one.closed is None for one in loud] == [False] * 46 + [True] * 4
    assert quiet.closed is None


def test_of_many_pages_one_of_the_origin_with_most_goes(talk: Conversation) -> None:
    loud = [talk.connect(origin="https://loud.example") for _ in range(4)]
    others = [talk.connect(origin=f"https://{n}.example") for n in range(16)]
    assert all(one.closed is None for one in loud + others)
    talk.connect(origin="https://one-more.example")
    assert [one.closed is None for one in loud] == [False, True, True, True]
    assert all(one.closed is None for one in others)


def test_who_waits_for_pairing_is_no_stranger(talk: Conversation) -> None:
    talk.tower()
    pairing = [talk.connect(origin=ORIGIN).say(type="auth", mode="pair") for _ in range(3)]
    for _ in range(30):
        talk.connect(origin=ORIGIN)
    assert all(one.closed is None for one in pairing)


def test_one_token_does_not_get_every_place(talk: Conversation) -> None:
    clients = [talk.connect(PROVIDER_TOKEN) for _ in range(limits.MAX_TOKEN_CONNECTIONS)]
    refused = talk.connect().say(type="auth", token=PROVIDER_TOKEN)
    text = (
        "this token has all 100 connections that a token may have: "
        "a program that said no hello has 100"
    )
    assert refused.hear() == [
        {"type": "error", "code": "RATE_LIMITED", "message": text, "replyTo": "auth"}
    ]
    assert refused.closed == (1013, text)
    assert talk.connect(INTERNAL_TOKEN).state == "AwaitHello"
    clients[0].drop()
    assert talk.connect(PROVIDER_TOKEN).state == "AwaitHello"


def minted(tower: Peer, session: str) -> str:
    """Return a token for a session."""
    tower.say(type="token.mint", id="t", sessionId=session)
    return str(tower.hear_one("token.minted")["token"])


def test_places_are_kept_for_the_persons_towers_and_commands(talk: Conversation) -> None:
    talk.host().open("s1")
    tower = talk.tower()
    for token in (minted(tower, "s1"), minted(tower, "s1")):
        for _ in range(79):
            talk.connect(token)
    refused = talk.connect().say(type="auth", token=PROVIDER_TOKEN)
    assert refused.hear_one("error")["message"].startswith(
        "all 160 connections of providers and clients are taken: "
        "a program that said no hello has 158, a host of sessions has 1"
    )
    assert talk.gateway.refusal() is None
    assert talk.gateway.refusal(ORIGIN) == "160 connections are open already"
    for _ in range(40):
        talk.host()
    last = talk.connect().say(type="auth", token=INTERNAL_TOKEN)
    assert last.hear_one("error")["message"].startswith("all 200 connections are taken")
    assert last.closed is not None


@pytest.mark.parametrize("token", [None, *TOKENS])
def test_a_process_that_says_no_hello_has_few_places(talk: Conversation, token: str | None) -> None:
    talk.host().open("s1")
    other = talk.connect(token, way=Way.SOCKET, pid=2)
    bound = talk.connect(PROVIDER_TOKEN, way=Way.SOCKET, pid=1).hello(session="s1")
    silent = [
        talk.connect(token, way=Way.SOCKET, pid=1) for _ in range(limits.MAX_SILENT_OF_PROCESS)
    ]
    assert all(one.closed is None for one in silent)
    newest = talk.connect(token, way=Way.SOCKET, pid=1)
    assert silent[0].closed == (1013, "closed for a newer connection: it said no hello")
    assert all(one.closed is None for one in (*silent[1:], newest, other, bound))


def test_with_the_internal_token_who_says_no_hello_gives_way(talk: Conversation) -> None:
    hosts = [talk.host() for _ in range(limits.MAX_CONNECTIONS - 3)]
    silent = [talk.connect(INTERNAL_TOKEN, way=Way.OWN) for _ in range(3)]
    hosts += [talk.host(), talk.host()]
    closed = (1013, "closed for a newer connection: it said no hello")
    assert [one.closed for one in silent] == [closed, closed, None]
    for _ in range(100):
        hosts.pop().drop()
    silent += [talk.connect(INTERNAL_TOKEN, way=Way.OWN) for _ in range(99)]
    kept = [one for one in silent if one.closed is None]
    assert kept == silent[-limits.MAX_OWN_UNAUTHENTICATED :]
    assert all(one.closed is None for one in hosts)


def test_a_refusal_names_the_process_that_said_no_hello(talk: Conversation) -> None:
    for pid in range(2, 7):
        for _ in range(limits.MAX_SILENT_OF_PROCESS):
            talk.connect(PROVIDER_TOKEN, way=Way.SOCKET, pid=pid)
    refused = talk.connect().say(type="auth", token=PROVIDER_TOKEN).hear_one("error")["message"]
    assert "a program that said no hello (pid 2) has 20, " in refused


def test_bridges_of_mcp_servers_take_no_place_of_others(talk: Conversation) -> None:
    talk.host().open("s1")
    tower = talk.tower()
    for _ in range(200):
        token = talk.tell(talk.gateway.mcp_servers.token, "s1")
        assert token is not None
        talk.connect(token.reveal())
    one_more = talk.tell(talk.gateway.mcp_servers.token, "s1")
    assert one_more is not None
    refused = talk.connect().say(type="auth", token=one_more.reveal())
    assert refused.hear_one("error")["code"] == "RATE_LIMITED"
    places = tower_snapshot(talk)["places"]
    assert (places["open"], places["bridges"], places["refused"]) == (3, 200, 1)
    assert tower.closed is None
    talk.connect(PROVIDER_TOKEN)


def tower_snapshot(talk: Conversation) -> dict[str, Any]:
    """Return what a new tower is sent first."""
    tower = talk.connect(INTERNAL_TOKEN)
    tower.say(type="tower.hello", protocolVersion=2)
    return tower.hear_one("tower.snapshot")


def test_towers_are_told_of_a_refusal_once_in_a_while(talk: Conversation) -> None:
    tower = talk.tower()
    for _ in range(100):
        talk.connect(PROVIDER_TOKEN)
    tower.hear()
    for _ in range(5):
        talk.connect().say(type="auth", token=PROVIDER_TOKEN)
    notice = tower.hear_one("tower.notice")
    assert notice["level"] == "warning"
    assert notice["message"].startswith("A connection was refused: this token has all 100")
    assert len(talk.events("error.sent")) == 1
    talk.wait(limits.REFUSALS_TOLD)
    talk.connect().say(type="auth", token=PROVIDER_TOKEN)
    assert tower.hear_of("tower.notice")
    assert tower_snapshot(talk)["places"]["refused"] == 6


def test_a_page_is_not_told_who_has_the_places(talk: Conversation) -> None:
    talk.host().open("s1")
    _, token = paired(talk)
    for _ in range(99):  # who has paired has one
        talk.connect(token, ORIGIN)
    refused = talk.connect(origin=ORIGIN).say(type="auth", token=token)
    text = "this token has all 100 connections that a token may have"
    assert refused.hear_one("error")["message"] == text


@pytest.mark.parametrize(
    ("descriptors", "places"), [(1, 20), (256, 34), (512, 91), (1000, 200), (10**6, 200)]
)
def test_a_process_with_few_descriptors_has_fewer_places(descriptors: int, places: int) -> None:
    assert places_for(descriptors) == places


def test_strangers_are_told_nothing_about_sessions(talk: Conversation) -> None:
    host = talk.host()
    host.open("s1")
    client = talk.connect()
    client.say(type="hello", name="x", protocolVersion=2, session="s1")
    host.open("s2")
    host.say(type="session.close", sessionId="s1")
    assert "s1" not in str(client.hear())
    assert talk.events("error.sent") == []


def test_an_event_that_no_session_sends_is_named_in_the_ack(scene: Scene) -> None:
    provider = scene.talk.connect(INTERNAL_TOKEN)
    subscribed = ["tool.execution_complete", "tool.finished", "user.message"]
    provider.hello(session="s1", name="one", tools=[], subscribe=subscribed)
    (warning,) = provider.hear_one("hello.ack")["warnings"]
    assert warning == ("subscribe: sessions are not known to send 'tool.finished'; names are exact")
    provider.hello(session="s1", name="one", tools=[], subscribe=["user.message"])
    assert "warnings" not in provider.hear_one("hello.ack")
