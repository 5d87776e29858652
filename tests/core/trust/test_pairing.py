"""Pairing: a code that travels through the person."""

import pytest

from tests.core.conftest import Scene
from tests.core.harness import ORIGIN, Conversation, Json, Peer


def ask(talk: Conversation, origin: str | None = ORIGIN) -> Peer:
    return talk.connect(origin=origin).say(type="auth", mode="pair")


def waiting(talk: Conversation) -> list[Json]:
    return [one["approval"] for one in talk.events("approval.requested")]


def reveal(scene: Scene, **more: object) -> str:
    """Open the latest request; return its code."""
    approval = waiting(scene.talk)[-1]["id"]
    scene.tower.hear()
    scene.tower.say(type="approval.reveal", approvalId=approval, **more)
    return str(scene.tower.hear_one("approval.revealed")["code"])


def test_the_whole_way(scene: Scene) -> None:
    client = ask(scene.talk)
    assert [one["type"] for one in client.hear()] == ["auth.pairing"]
    assert client.state == "AwaitPairing"
    approval = waiting(scene.talk)[0]
    assert approval == {
        "id": "a-1",
        "kind": "pairing",
        "state": "waiting",
        "detail": {"origin": ORIGIN, "transport": "websocket"},
        "createdAt": "2026-01-01T00:00:01.000000Z",
        "expiresAt": "2026-01-01T00:02:01.000000Z",
    }
    scene.talk.wait(10)
    scene.tower.hear()
    revealed = scene.tower.ask(type="approval.reveal", approvalId="a-1")
    assert revealed == [
        {
            "type": "approval.revealed",
            "approvalId": "a-1",
            "code": "000001",
            "expiresAt": "2026-01-01T00:02:11.000000Z",
        }
    ]
    assert client.hear() == []
    heard = client.ask(type="auth.confirm", code="000001")
    assert heard[0]["type"] == "sessions"
    assert heard[0]["token"] == "ext-1"
    assert [one["id"] for one in heard[0]["active"]] == ["s1"]
    assert client.state == "AwaitHello"
    assert client.is_authenticated
    decided = scene.talk.events("approval.decided")[0]["approval"]
    assert (decided["state"], decided["decidedBy"]) == ("approved", "you")
    assert "000001" not in str(scene.talk.events())
    assert "ext-1" not in str(scene.talk.events())
    assert scene.talk.deadlines == 0


def test_the_token_is_good_for_the_sessions_that_the_person_named(scene: Scene) -> None:
    for id_ in ("s2", "s3"):
        scene.host.open(id_)
    client = ask(scene.talk)
    client.hear()
    code = reveal(scene, sessions=["s3", "s1"])
    heard = client.ask(type="auth.confirm", code=code)
    assert {one["id"] for one in heard[0]["active"]} == {"s1", "s3"}


def test_without_names_it_is_the_foreground_session(scene: Scene) -> None:
    scene.host.open("s2")
    scene.host.say(type="session.update", sessionId="s1", foreground=True)
    client = ask(scene.talk)
    client.hear()
    heard = client.ask(type="auth.confirm", code=reveal(scene))
    assert [one["id"] for one in heard[0]["active"]] == ["s1"]


def test_an_allowed_session_may_be_replaced_meanwhile(scene: Scene) -> None:
    client = ask(scene.talk)
    code = reveal(scene)
    scene.host.open("s2", replaces="s1")
    client.hear()
    heard = client.ask(type="auth.confirm", code=code)
    assert [one["id"] for one in heard[0]["active"]] == ["s2"]


def test_an_allowed_session_may_end_meanwhile(scene: Scene) -> None:
    client = ask(scene.talk)
    code = reveal(scene)
    scene.host.say(type="session.close", sessionId="s1")
    client.hear()
    assert client.error(type="auth.confirm", code=code)["code"] == "AUTH_FAILED"


@pytest.mark.parametrize("sessions", [["s9"], ["s1", "s9"]])
def test_a_session_that_is_not_there_cannot_be_allowed(scene: Scene, sessions: list[str]) -> None:
    ask(scene.talk)
    scene.tower.hear()
    error = scene.tower.error(type="approval.reveal", approvalId="a-1", sessions=sessions)
    assert (error["code"], error["sessionId"]) == ("INVALID_SESSION", "s9")
    assert reveal(scene) == "000001"


def test_approving_is_revealing(scene: Scene) -> None:
    ask(scene.talk)
    scene.tower.hear()
    heard = scene.tower.ask(type="approval.decide", approvalId="a-1", decision="approve")
    assert heard[0]["type"] == "approval.revealed"


def test_a_request_is_opened_once(scene: Scene) -> None:
    ask(scene.talk)
    reveal(scene)
    error = scene.tower.error(type="approval.reveal", approvalId="a-1")
    assert (error["code"], error["replyTo"]) == ("UNKNOWN_APPROVAL", "approval.reveal")


@pytest.mark.parametrize("code", ["", "000002", "00000", "1", "0000011", "ü", "\u0660" * 6])
@pytest.mark.parametrize("is_open", [True, False])
def test_a_wrong_code_closes_and_burns(scene: Scene, code: str, is_open: bool) -> None:
    client = ask(scene.talk)
    if is_open:
        reveal(scene)
    client.hear()
    error = client.error(type="auth.confirm", code=code)
    assert (error["code"], error["replyTo"]) == ("AUTH_FAILED", "auth.confirm")
    assert client.closed == (1008, "AUTH_FAILED")
    withdrawn = scene.talk.events("approval.withdrawn")[0]["approval"]
    assert withdrawn["reason"] == "wrong code"
    again = ask(scene.talk)
    again.hear()
    assert again.error(type="auth.confirm", code="000001")["code"] == "AUTH_FAILED"


def test_while_unopened_there_is_no_code_to_guess(scene: Scene) -> None:
    client = ask(scene.talk)
    client.hear()
    assert scene.talk.ids.numbers.get("code") is None
    assert client.error(type="auth.confirm", code="000000")["code"] == "AUTH_FAILED"
    assert scene.talk.ids.numbers.get("code") is None


def test_a_code_is_one_connections(scene: Scene) -> None:
    first, second = ask(scene.talk), ask(scene.talk)
    code = reveal(scene)
    first.hear()
    assert first.error(type="auth.confirm", code=code)["code"] == "AUTH_FAILED"
    second.hear()
    assert second.ask(type="auth.confirm", code=code)[0]["type"] == "sessions"


def test_five_tries_a_minute_over_the_whole_gateway(scene: Scene) -> None:
    for i in range(5):
        client = ask(scene.talk, f"https://{i}.example.com")
        client.say(type="auth.confirm", code="x")
        assert client.closed
    client = ask(scene.talk)
    code = reveal(scene)
    client.hear()
    error = client.error(type="auth.confirm", code=code)
    assert (error["code"], error["replyTo"]) == ("RATE_LIMITED", "auth.confirm")
    assert client.state == "AwaitPairing"
    scene.talk.wait(60)
    assert client.ask(type="auth.confirm", code=code)[0]["type"] == "sessions"


def test_three_requests_wait_at_most(scene: Scene) -> None:
    clients = [ask(scene.talk) for _ in range(3)]
    fourth = scene.talk.connect(origin=ORIGIN)
    error = fourth.error(type="auth", mode="pair")
    assert (error["code"], error["replyTo"]) == ("RATE_LIMITED", "auth")
    assert fourth.state == "AwaitAuth"
    clients[0].drop()
    assert fourth.ask(type="auth", mode="pair")[0]["type"] == "auth.pairing"


def test_a_request_expires(scene: Scene) -> None:
    client = ask(scene.talk)
    client.hear()
    scene.talk.wait(119.9)
    assert client.closed is None
    scene.talk.wait(0.1)
    error = client.hear()[0]
    assert (error["code"], error["message"]) == ("AUTH_FAILED", "the pairing request expired")
    assert client.closed
    assert scene.talk.gateway.state.approvals["a-1"].state == "expired"
    error = scene.tower.hear() and scene.tower.error(type="approval.reveal", approvalId="a-1")
    assert not error or error["code"] == "UNKNOWN_APPROVAL"


def test_an_opened_request_has_120_seconds_more(scene: Scene) -> None:
    client = ask(scene.talk)
    scene.talk.wait(100)
    code = reveal(scene)
    client.hear()
    scene.talk.wait(119.9)
    assert client.ask(type="auth.confirm", code=code)[0]["type"] == "sessions"
    late = ask(scene.talk)
    reveal(scene)
    scene.talk.wait(120)
    assert late.closed


@pytest.mark.parametrize("is_open", [True, False])
def test_the_person_denies(scene: Scene, is_open: bool) -> None:
    client = ask(scene.talk)
    if is_open:
        reveal(scene)
    client.hear()
    scene.tower.say(type="approval.decide", approvalId="a-1", decision="deny", reason="no idea")
    error = client.hear()[0]
    assert (error["code"], error["message"]) == ("AUTH_FAILED", "no idea")
    assert client.closed
    assert scene.talk.deadlines == 0


def test_a_client_that_leaves_withdraws_its_request(scene: Scene) -> None:
    client = ask(scene.talk)
    client.drop()
    assert scene.talk.events("approval.withdrawn")[0]["approval"]["state"] == "withdrawn"
    scene.tower.hear()
    assert scene.tower.error(type="approval.reveal", approvalId="a-1")["code"] == "UNKNOWN_APPROVAL"


@pytest.mark.parametrize("role", [None, "client"])
def test_without_a_tower_the_code_is_in_the_timeline(talk: Conversation, role: str | None) -> None:
    host = talk.host()
    host.open("s1")
    if role:
        talk.tower(role=role)
    host.hear()
    client = ask(talk)
    log = host.hear_one("session.log")
    assert (log["sessionId"], log["level"], log["ephemeral"]) == ("s1", "warning", True)
    assert log["message"].startswith("※ tap: ")
    assert "000001" in log["message"]
    assert ORIGIN in log["message"]
    asked = client.hear_one("auth.pairing")
    assert asked["prompt"] == "Enter the pairing code shown in tapui or in your Copilot session"
    assert client.ask(type="auth.confirm", code="000001")[0]["type"] == "sessions"


def test_without_tower_and_session_a_request_waits_for_a_tower(talk: Conversation) -> None:
    client = ask(talk)
    assert [one["type"] for one in client.hear()] == ["auth.pairing"]
    assert client.state == "AwaitPairing"
    tower = talk.tower()
    error = tower.error(type="approval.reveal", approvalId="a-1")
    assert error["code"] == "INVALID_SESSION"
    talk.host().open("s1")
    tower.hear()
    tower.say(type="approval.reveal", approvalId="a-1")
    code = tower.hear_one("approval.revealed")["code"]
    assert client.ask(type="auth.confirm", code=code)[0]["type"] == "sessions"


def ask_unseen(talk: Conversation, has_local: bool) -> Peer:
    """Ask where there is neither a tower nor a session."""
    if has_local:
        talk.local()
    client = ask(talk)
    client.hear()
    return client


@pytest.mark.parametrize("has_local", [True, False])
def test_a_request_without_tower_and_session_is_on_the_first_towers_screen(
    talk: Conversation, has_local: bool
) -> None:
    client = ask_unseen(talk, has_local)
    (shown,) = talk.tower(role="client").ack["state"]["approvals"]
    assert (shown["kind"], shown["state"]) == ("pairing", "waiting")
    tower = talk.tower()
    assert tower.ack["state"]["approvals"] == [shown]
    assert not [one for one in talk.events("session.event") if one["event"] == "log"]
    if not has_local:
        talk.host().open("s1")
        tower.hear()
    tower.say(type="approval.reveal", approvalId=shown["id"])
    code = tower.hear_one("approval.revealed")["code"]
    assert client.ask(type="auth.confirm", code=code)[0]["type"] == "sessions"


@pytest.mark.parametrize("has_local", [True, False])
def test_a_session_that_opens_later_gets_the_code_while_there_is_no_tower(
    talk: Conversation, has_local: bool
) -> None:
    client = ask_unseen(talk, has_local)
    host = talk.host()
    host.say(type="session.open", session={"id": "s1", "label": "", "cwd": "/"})
    log = host.hear_one("session.log")
    assert log["sessionId"] == "s1"
    active = client.ask(type="auth.confirm", code=log["message"][-6:])[0]["active"]
    assert [one["id"] for one in active] == ["s1"]


def test_a_request_that_nobody_sees_expires(talk: Conversation) -> None:
    client = ask_unseen(talk, has_local=False)
    talk.wait(120)
    assert client.hear_one("error")["code"] == "AUTH_FAILED"
    talk.host().open("s1")
    assert talk.events("approval.deciding") == []
    assert talk.deadlines == 0


def test_only_who_opened_it_is_told_the_code(scene: Scene) -> None:
    other = scene.talk.tower(name="second")
    ask(scene.talk)
    reveal(scene)
    assert other.hear_of("approval.revealed") == []


def test_the_code_exists_once_the_opening_is_recorded(scene: Scene) -> None:
    client = ask(scene.talk)
    scene.talk.records = "held"
    scene.tower.hear()
    assert scene.tower.ask(type="approval.reveal", approvalId="a-1") == []
    client.hear()
    assert client.error(type="auth.confirm", code="000001")["code"] == "RATE_LIMITED"
    scene.talk.recorded()
    assert scene.tower.hear_one("approval.revealed")["code"] == "000001"
    assert client.ask(type="auth.confirm", code="000001") == []
    scene.talk.recorded()
    assert client.hear()[0]["type"] == "sessions"


def test_an_opening_is_shown_once_it_is_recorded(scene: Scene) -> None:
    ask(scene.talk)
    scene.talk.records = "held"
    scene.tower.say(type="approval.reveal", approvalId="a-1")
    assert scene.talk.gateway.state.approvals["a-1"].state == "deciding"
    assert scene.talk.events("approval.revealed") == []
    scene.talk.wait(100)
    scene.talk.recorded()
    revealed = scene.talk.gateway.state.approvals["a-1"]
    assert (revealed.state, revealed.expires_at) == ("revealed", "2026-01-01T00:03:41.000000Z")


@pytest.mark.parametrize("is_ok", [True, False])
@pytest.mark.parametrize("end", ["leaves", "is late"])
def test_a_client_that_ends_while_its_opening_is_recorded_gets_no_code(
    scene: Scene, end: str, is_ok: bool
) -> None:
    client = ask(scene.talk)
    scene.talk.records = "held"
    scene.tower.say(type="approval.reveal", approvalId="a-1")
    if end == "leaves":
        client.drop()
    else:
        scene.talk.wait(120)
    settled = scene.talk.gateway.state.approvals["a-1"].state
    assert settled == ("withdrawn" if end == "leaves" else "expired")
    scene.talk.recorded(is_ok=is_ok)
    assert scene.tower.hear_of("approval.revealed") == []
    assert scene.talk.gateway.state.approvals["a-1"].state == settled
    assert scene.talk.ids.numbers.get("code") is None
    assert scene.talk.deadlines == 0


def test_an_opening_that_cannot_be_recorded_refuses_the_client(scene: Scene) -> None:
    client = ask(scene.talk)
    client.hear()
    scene.talk.records = "refused"
    scene.tower.hear()
    error = scene.tower.error(type="approval.reveal", approvalId="a-1")
    assert error["code"] == "INTERNAL"
    assert client.hear()[0]["code"] == "AUTH_FAILED"
    assert client.closed
    assert scene.talk.ids.numbers.get("code") is None
    (shown,) = scene.talk.tower().ack["state"]["approvals"]
    assert (shown["state"], shown["reason"]) == ("failed", "the decision could not be recorded")
    scene.talk.wait(200)
    assert scene.talk.events("approval.decided", "approval.expired")[-1]["approval"] == shown


def test_a_right_code_whose_approval_cannot_be_recorded_earns_nothing(scene: Scene) -> None:
    client = ask(scene.talk)
    code = reveal(scene)
    client.hear()
    scene.talk.records = "refused"
    assert client.error(type="auth.confirm", code=code)["code"] == "AUTH_FAILED"
    assert client.closed
    assert scene.talk.ids.numbers.get("ext-") is None


# How many may ask


def asked(talk: Conversation, number: int, origin: str | None) -> list[str]:
    """Return what `number` requests, one after the other, were answered with."""
    answers = []
    for _ in range(number):
        client = ask(talk, origin)
        first = client.hear()[0]
        answers.append(first.get("code") or first["type"])
        client.drop()
    return answers


def test_five_requests_a_minute_of_one_origin(scene: Scene) -> None:
    assert asked(scene.talk, 6, ORIGIN) == ["auth.pairing"] * 5 + ["RATE_LIMITED"]
    assert asked(scene.talk, 1, "https://other.example.com") == ["auth.pairing"]
    scene.talk.wait(59.9)
    assert asked(scene.talk, 1, ORIGIN) == ["RATE_LIMITED"]
    scene.talk.wait(0.1)
    assert asked(scene.talk, 5, ORIGIN) == ["auth.pairing"] * 5


def test_local_programs_count_as_one_origin(scene: Scene) -> None:
    assert asked(scene.talk, 6, None) == ["auth.pairing"] * 5 + ["RATE_LIMITED"]


def test_ten_requests_a_minute_over_the_gateway(scene: Scene) -> None:
    for number in range(10):
        assert asked(scene.talk, 1, f"https://{number}.example.com") == ["auth.pairing"]
    client = ask(scene.talk, "https://ten.example.com")
    error = client.hear_one("error")
    assert (error["code"], error["replyTo"]) == ("RATE_LIMITED", "auth")
    assert client.state == "AwaitAuth"
    scene.talk.wait(60)
    assert asked(scene.talk, 1, ORIGIN) == ["auth.pairing"]


def test_a_refused_request_is_not_counted(scene: Scene) -> None:
    asked(scene.talk, 5, ORIGIN)
    scene.talk.wait(50)
    assert asked(scene.talk, 20, ORIGIN) == ["RATE_LIMITED"] * 20
    scene.talk.wait(10)
    assert asked(scene.talk, 1, ORIGIN) == ["auth.pairing"]


def test_without_a_tower_one_code_in_thirty_seconds_is_in_the_timeline(
    talk: Conversation,
) -> None:
    host = talk.host()
    host.open("s1")
    clients = [ask(talk) for _ in range(3)]
    codes = []
    for _ in range(3):
        codes.append(host.hear_one("session.log")["message"][-6:])
        talk.wait(29.9)
        assert host.hear() == []
        talk.wait(0.1)
    assert host.hear() == []
    assert codes == ["000001", "000002", "000003"]
    for client, code in zip(clients, codes, strict=True):
        client.hear()
        assert client.ask(type="auth.confirm", code=code)[0]["type"] == "sessions"
    assert talk.deadlines == 0


def test_a_tower_that_came_meanwhile_opens_the_others(talk: Conversation) -> None:
    host = talk.host()
    host.open("s1")
    ask(talk)
    ask(talk)
    host.hear()
    tower = talk.tower()
    talk.wait(40)
    assert host.hear() == []
    tower.drop()
    assert "Pairing code" in host.hear_one("session.log")["message"]


def test_a_request_that_is_gone_takes_no_code(talk: Conversation) -> None:
    host = talk.host()
    host.open("s1")
    ask(talk)
    ask(talk).drop()
    host.hear()
    talk.wait(60)
    assert host.hear() == []
    ask(talk)
    assert host.hear_one("session.log")
