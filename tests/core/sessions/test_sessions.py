"""Sessions: what clients see of them, how they open, change, are replaced and end."""

import pytest

from tests.core.conftest import Scene
from tests.core.harness import INTERNAL_TOKEN, PROVIDER_TOKEN, Conversation, Peer, tool


def seen(talk: Conversation) -> list[str]:
    """Return the ids of the sessions as a new client sees them."""
    client = talk.connect().say(type="auth", token=PROVIDER_TOKEN)
    ids = [one["id"] for one in client.hear_one("sessions")["active"]]
    client.drop()
    return ids


def test_opening_answers_with_the_tools_and_tells_clients(talk: Conversation) -> None:
    talk.tools()
    client = talk.connect(PROVIDER_TOKEN)
    host = talk.host()
    opened = host.open("s1", label="PR #42", workspace="/w/s1")
    assert opened["revision"] == 1
    assert [one["name"] for one in opened["tools"]] == [
        "tap_post",
        "tap_list_streams",
        "tap_stream_history",
        "tap_get_session_state",
        "tap_set_session_mode",
        "tap_start_emitter",
        "tap_stop_emitter",
        "tap_list_emitters",
        "tap_set_event_filter",
        "tap_schedule_prompt",
        "tap_enable_injector",
        "tap_disable_injector",
        "tap_create_goal",
        "tap_update_goal",
        "tap_list_goals",
        "tap_verify_goal_output",
        "tap_audit_claims",
        "tap_record_review",
        "tap_query_records",
    ]
    assert {one["provider"] for one in opened["tools"]} == {"tap"}
    assert set(opened["tools"][0]) == {"name", "description", "parameters", "provider"}
    assert client.hear() == [
        {
            "type": "sessions.updated",
            "active": [
                {"id": "s1", "label": "PR #42", "cwd": "/s1", "foreground": False, "state": "idle"}
            ],
        }
    ]
    assert talk.events("session.opened")[0]["session"] == {
        "id": "s1",
        "label": "PR #42",
        "cwd": "/s1",
        "state": "idle",
        "host": "copilot",
        "providers": [],
        "openedAt": "2026-01-01T00:00:00.000000Z",
        "workspace": "/w/s1",
    }


def test_the_order_is_foreground_then_last_activity_then_local(talk: Conversation) -> None:
    talk.local()
    host = talk.host()
    for id_ in ("s1", "s2", "s3"):
        talk.wait(1)
        host.open(id_)
    assert seen(talk) == ["s3", "s2", "s1", "local"]
    talk.wait(1)
    host.event("s1", "assistant.message")
    assert seen(talk) == ["s1", "s3", "s2", "local"]
    host.say(type="session.update", sessionId="s2", foreground=True)
    assert seen(talk) == ["s2", "s1", "s3", "local"]
    host.say(type="session.update", sessionId="s3", foreground=True)
    assert seen(talk) == ["s3", "s1", "s2", "local"]
    states = talk.gateway.state.sessions
    assert [id_ for id_, one in states.items() if one.foreground] == ["s3"]


def test_a_second_open_of_an_open_id_is_refused(scene: Scene) -> None:
    session = {"id": "s1", "label": "other", "cwd": "/"}
    assert scene.host.error(type="session.open", session=session, id="o1") == {
        "type": "error",
        "code": "INVALID_SESSION",
        "message": "Session s1 is open already",
        "replyTo": "session.open",
        "id": "o1",
        "sessionId": "s1",
    }
    assert scene.talk.gateway.state.sessions["s1"].label == "s1"


@pytest.mark.parametrize("id_", ["", "all"])
def test_an_id_that_hello_could_not_name_is_refused(talk: Conversation, id_: str) -> None:
    session = {"id": id_, "label": "x", "cwd": "/"}
    assert talk.host().error(type="session.open", session=session)["code"] == "INVALID_JSON"


def test_another_hosts_session_is_none_of_ours(scene: Scene) -> None:
    other = scene.talk.host("other")
    for message in (
        {"type": "session.update", "label": "mine"},
        {"type": "session.close"},
        {"type": "session.event", "event": "session.idle"},
    ):
        error = other.error(message, sessionId="s1")
        assert (error["code"], error["sessionId"]) == ("INVALID_SESSION", "s1")
    session = {"id": "s2", "label": "x", "cwd": "/", "replaces": "s1"}
    assert other.error(type="session.open", session=session)["code"] == "INVALID_SESSION"
    assert list(scene.talk.gateway.state.sessions) == ["s1"]


def test_an_update_changes_what_it_names(scene: Scene) -> None:
    scene.host.say(type="session.update", sessionId="s1", label="new", model="gpt-6")
    event = scene.talk.events()[-1]
    assert event["kind"] == "session.updated"
    assert (event["session"]["label"], event["session"]["model"]) == ("new", "gpt-6")
    assert event["session"]["cwd"] == "/s1"
    scene.talk.forget()
    scene.host.say(type="session.update", sessionId="s1", label="new")
    assert scene.talk.events() == []


@pytest.mark.parametrize("event", ["session.busy", "assistant.turn_start"])
def test_a_session_is_busy_from_its_turn_to_its_idle(scene: Scene, event: str) -> None:
    scene.host.event("s1", event)
    assert scene.talk.gateway.state.sessions["s1"].state == "busy"
    late = scene.talk.provider("s1", name="late", tools=[])
    assert late.hear_of("session.lifecycle") == []
    scene.host.event("s1", "session.idle")
    assert scene.talk.gateway.state.sessions["s1"].state == "idle"
    idle = {"type": "session.lifecycle", "sessionId": "s1", "state": "idle"}
    assert scene.provider.hear() == [idle]
    assert late.hear() == [idle]
    scene.host.event("s1", "session.idle")
    assert scene.provider.hear() == [idle]


def test_events_of_a_session_are_recorded_by_their_names(scene: Scene) -> None:
    scene.host.event("s1", "assistant.intent", text="look\u202e")
    assert scene.talk.events() == [
        {
            "kind": "session.event",
            "sessionId": "s1",
            "event": "assistant.intent",
            "data": {"text": "look\u202e"},
        }
    ]
    error = scene.host.error(type="session.event", sessionId="s1", event="e", data=[])
    assert (error["code"], error["message"]) == ("INVALID_JSON", "data: expected an object")


def close(scene: Scene) -> None:
    scene.host.say(type="session.close", sessionId="s1", reason="the end")


def test_a_closing_session_is_gone_at_once_and_providers_have_ten_seconds(scene: Scene) -> None:
    close(scene)
    assert scene.provider.hear() == [
        {"type": "sessions.updated", "active": []},
        {
            "type": "session.lifecycle",
            "sessionId": "s1",
            "state": "shutdown.pending",
            "deadline": 10_000,
        },
    ]
    assert scene.host.hear() == []
    newcomer = scene.talk.connect(PROVIDER_TOKEN)
    newcomer.hello(session="s1")
    assert newcomer.hear_one("error")["code"] == "INVALID_SESSION"
    ended = scene.talk.events("session.closed")[0]["session"]
    assert (ended["state"], ended["reason"], ended["providers"]) == ("ended", "the end", [])
    scene.talk.wait(9.999)
    assert (scene.host.hear(), scene.provider.state) == ([], "Bound")
    scene.talk.wait(0.001)
    assert scene.host.hear() == [{"type": "session.closed", "sessionId": "s1"}]
    assert scene.provider.state == "Unbound"
    assert scene.provider.closed is None
    assert scene.talk.deadlines == 0


def test_shutdown_ready_ends_the_session_and_keeps_the_connection(scene: Scene) -> None:
    close(scene)
    scene.provider.hear()
    assert scene.provider.ask(type="shutdown.ready", sessionId="s1") == []
    assert scene.host.hear() == [{"type": "session.closed", "sessionId": "s1"}]
    assert scene.provider.state == "Unbound"
    scene.host.open("s2")
    scene.provider.hello(session="s2")
    ack = scene.provider.hear_one("hello.ack")
    assert (ack["providerId"], ack["sessionId"]) == ("p-1", "s2")
    assert scene.provider.state == "Bound"


def test_goodbye_ends_the_session_and_the_connection(scene: Scene) -> None:
    close(scene)
    scene.provider.say(type="goodbye", reason="bye")
    assert scene.provider.closed == (1000, "goodbye")
    assert scene.host.hear() == [{"type": "session.closed", "sessionId": "s1"}]
    assert scene.talk.events()[-1]["provider"]["reason"] == "bye"


def test_a_session_ends_when_the_last_of_its_providers_has_answered(scene: Scene) -> None:
    second = scene.talk.provider("s1", name="second", tools=[])
    third = scene.talk.provider("s1", name="third", tools=[])
    scene.host.hear()
    close(scene)
    scene.provider.say(type="shutdown.ready", sessionId="s1")
    assert scene.host.hear() == []
    second.drop()
    assert scene.host.hear() == []
    third.say(type="shutdown.ready", sessionId="s1")
    assert scene.host.hear() == [{"type": "session.closed", "sessionId": "s1"}]


def test_a_session_without_providers_ends_at_once(talk: Conversation) -> None:
    talk.tools()
    host = talk.host()
    host.open("s1")
    assert host.ask(type="session.close", sessionId="s1") == [
        {"type": "session.closed", "sessionId": "s1"}
    ]
    assert talk.deadlines == 0


def test_hello_to_another_session_answers_the_shutdown(scene: Scene) -> None:
    scene.host.open("s2")
    close(scene)
    scene.provider.hello(session="s2")
    assert scene.host.hear_of("session.closed") == [{"type": "session.closed", "sessionId": "s1"}]
    assert scene.provider.state == "Bound"


def test_shutdown_ready_of_a_session_that_goes_on_changes_nothing(scene: Scene) -> None:
    assert scene.provider.ask(type="shutdown.ready", sessionId="s1") == []
    assert scene.provider.state == "Bound"
    error = scene.provider.error(type="shutdown.ready", sessionId="s7")
    assert (error["code"], error["sessionId"]) == ("INVALID_SESSION", "s7")


def test_a_provider_of_an_ending_session_may_still_push_and_query(scene: Scene) -> None:
    scene.provider.push("before")
    close(scene)
    scene.host.hear()
    scene.provider.hear()
    for session in ("s1", None):
        assert scene.provider.push("kept", sessionId=session).hear() == []
        assert scene.provider.push("shown", "surface", sessionId=session).hear() == []
    assert [one["message"] for one in scene.host.hear_of("session.log")] == [
        "greeter@greeter: shown"
    ] * 2
    query = {"type": "stream.query", "queryId": "q", "streams": ["greeter"]}
    lines = scene.provider.ask(query)[0]["streams"]["greeter@greeter"]
    assert [line["event"] for line in lines] == ["shown", "kept", "shown", "kept", "before"]
    posted = scene.talk.events("stream.posted")
    assert [(one["sessionId"], one["line"]["seq"]) for one in posted] == [
        ("s1", seq) for seq in range(1, 6)
    ]
    assert scene.talk.gateway.state.streams == {}


@pytest.mark.parametrize("push", [{"level": "inject", "event": "e"}, {"prompt": "p"}])
def test_nothing_is_injected_into_an_ending_session(scene: Scene, push: dict[str, str]) -> None:
    rules = [{"match": "raised", "outcome": "inject"}]
    scene.provider.say(type="filter.set", stream="log", rules=rules)
    close(scene)
    scene.provider.hear()
    message = {"type": "push", "level": "keep", **push}
    for more in ({}, {"sessionId": "s1"}):
        error = scene.provider.error(message, **more)
        assert (error["code"], error["replyTo"]) == ("INVALID_SESSION", "push")
    error = scene.provider.error(type="push", level="keep", event="raised", stream="log")
    assert error["code"] == "INVALID_SESSION"
    assert scene.talk.events("stream.posted") == []


def test_updates_of_an_ending_session_are_refused(scene: Scene) -> None:
    close(scene)
    scene.provider.hear()
    for update in ({"type": "tools.update", "tools": []}, {"type": "context.update"}):
        assert scene.provider.error(update)["code"] == "INVALID_SESSION"


def test_results_are_absorbed_while_a_session_ends(scene: Scene) -> None:
    scene.host.invoke("s1")
    call = scene.provider.take_call()
    close(scene)
    scene.provider.hear()
    assert scene.provider.result(call, data=1).hear() == []
    assert scene.talk.gateway.state.calls == {}


def test_streams_of_an_ended_session_are_gone_with_its_last_provider(scene: Scene) -> None:
    close(scene)
    scene.provider.push("kept")
    streams = scene.talk.gateway.parts.streams
    assert set(streams.of("s1")) == {"greeter@greeter"}
    scene.provider.say(type="shutdown.ready", sessionId="s1")
    assert streams.of("s1") == {}
    scene.provider.hear()
    assert scene.talk.deadlines == 0


def test_a_session_of_the_same_id_has_streams_of_its_own(scene: Scene) -> None:
    scene.provider.push("old")
    close(scene)
    scene.host.open("s1")
    scene.provider.hear()
    assert scene.provider.push("late").hear_one("error")["code"] == "INVALID_SESSION"
    fresh = scene.talk.provider("s1", name="fresh", tools=[])
    fresh.push("new")
    scene.provider.say(type="shutdown.ready", sessionId="s1")
    streams = scene.talk.gateway.parts.streams
    assert set(streams.of("s1")) == {"fresh@fresh"}
    assert set(scene.talk.gateway.state.streams) == {("s1", "fresh@fresh")}


def test_a_host_that_disconnects_takes_its_sessions_along(scene: Scene) -> None:
    other = scene.talk.host("other")
    other.open("s2")
    scene.host.drop()
    closed = scene.talk.events("session.closed")
    assert [(one["sessionId"], one["session"]["reason"]) for one in closed] == [
        ("s1", "host disconnected")
    ]
    heard = scene.provider.hear_of("session.lifecycle")
    assert [one["state"] for one in heard] == ["shutdown.pending"]
    assert seen(scene.talk) == ["s2"]


# Replaced


def test_providers_move_along_with_a_session_that_is_replaced(scene: Scene) -> None:
    opened = scene.host.open("s2", replaces="s1")
    assert [one["name"] for one in opened["tools"]] == ["greet"]
    heard = scene.provider.hear()
    assert [one["type"] for one in heard] == ["sessions.updated"]
    assert [one["id"] for one in heard[0]["active"]] == ["s2"]
    assert scene.provider.state == "Bound"
    kinds = [kind for kind in scene.talk.kinds() if kind != "session.updated"]
    assert kinds == ["session.replaced", "provider.moved"]
    assert list(scene.talk.gateway.state.sessions) == ["s2"]
    moved = scene.talk.events("provider.moved")[0]
    assert (moved["provider"]["id"], moved["source"], moved["sessionId"]) == ("p-1", "s1", "s2")


def test_a_replaced_foreground_session_is_not_seen_again(scene: Scene) -> None:
    scene.host.say(type="session.update", sessionId="s1", foreground=True)
    scene.host.open("s2", replaces="s1", foreground=True)
    assert list(scene.talk.gateway.state.sessions) == ["s2"]


def test_the_former_id_stays_an_alias_for_providers(scene: Scene) -> None:
    scene.host.open("s2", replaces="s1")
    scene.host.open("s3", replaces="s2")
    scene.provider.hear()
    for id_ in ("s1", "s2", "s3"):
        assert scene.provider.ask(type="push", level="keep", event=id_, sessionId=id_) == []
        ack = scene.provider.ask(
            type="tools.update", tools=[tool("a")], sessionId=id_, requestId=id_
        )[0]
        assert (ack["type"], ack["sessionId"]) == ("ack", "s3")
    posted = scene.talk.events("stream.posted")
    assert {one["sessionId"] for one in posted} == {"s3"}
    assert [one["line"]["seq"] for one in posted] == [1, 2, 3]


@pytest.mark.parametrize("id_", ["s1", "s2"])
def test_shutdown_ready_may_name_the_former_id(scene: Scene, id_: str) -> None:
    scene.host.open("s2", replaces="s1")
    scene.host.say(type="session.close", sessionId="s2").hear()
    scene.provider.hear()
    assert scene.provider.ask(type="shutdown.ready", sessionId=id_) == []
    assert scene.host.hear() == [{"type": "session.closed", "sessionId": "s2"}]


def test_streams_and_calls_go_on_in_the_session_that_replaces(scene: Scene) -> None:
    scene.provider.push("before")
    scene.host.invoke("s1")
    call = scene.provider.take_call()
    scene.host.open("s2", replaces="s1")
    scene.tower.hear()
    read = {"type": "stream.read", "id": "x", "stream": "greeter@greeter", "sessionId": "s2"}
    assert [one["event"] for one in scene.tower.ask(read)[0]["lines"]] == ["before"]
    assert scene.provider.result(call, data=1).state == "Bound"
    assert scene.host.hear_of("tool.outcome") == [{"type": "tool.outcome", "id": "i1", "data": 1}]


def test_calls_of_a_replaced_session_end_with_the_one_that_replaced_it(scene: Scene) -> None:
    scene.host.invoke("s1")
    scene.host.open("s2", replaces="s1")
    scene.host.say(type="session.close", sessionId="s2")
    assert scene.host.hear_of("tool.outcome")[0]["errorCode"] == "DISCONNECTED"


def test_held_injects_are_delivered_in_the_session_that_replaces(scene: Scene) -> None:
    scene.host.event("s1", "session.busy")
    scene.provider.push("wake up", "inject")
    scene.host.hear()
    scene.host.say(
        type="session.open", session={"id": "s2", "label": "", "cwd": "/", "replaces": "s1"}
    )
    heard = scene.host.hear_of("session.opened", "session.send")
    assert [one["type"] for one in heard] == ["session.opened", "session.send"]
    assert (heard[1]["sessionId"], heard[1]["prompt"]) == ("s2", "wake up")


def late(scene: Scene, former: str = "s1", current: str = "s2") -> None:
    """The host learns that `current`, which is open, took the place of `former`."""
    scene.host.say(type="session.close", sessionId=former, replacedBy=current)


def test_providers_move_along_with_a_session_that_was_replaced_a_while_ago(scene: Scene) -> None:
    opened = scene.host.open("s2")
    assert opened["tools"] == []
    scene.host.hear()
    scene.provider.push("before")
    scene.provider.hear()
    late(scene)
    assert scene.host.hear_of("session.closed") == [{"type": "session.closed", "sessionId": "s1"}]
    scene.talk.wait(1)
    (changed,) = scene.host.hear_of("tools.changed")
    assert (changed["sessionId"], [one["name"] for one in changed["tools"]]) == ("s2", ["greet"])
    assert seen(scene.talk) == ["s2"]
    assert scene.provider.state == "Bound"
    assert [one["type"] for one in scene.provider.hear()] == ["sessions.updated"]
    read = {"type": "stream.read", "id": "x", "stream": "greeter@greeter", "sessionId": "s2"}
    assert [one["event"] for one in scene.tower.ask(read)[-1]["lines"]] == ["before"]
    scene.host.invoke("s2")
    scene.provider.result(scene.provider.take_call(), data=1)
    assert scene.host.hear_of("tool.outcome")[0]["data"] == 1


def test_calls_of_a_session_that_was_replaced_a_while_ago_end(scene: Scene) -> None:
    scene.host.open("s2")
    scene.host.invoke("s1")
    scene.provider.take_call()
    late(scene)
    assert scene.host.hear_of("tool.outcome")[0]["errorCode"] == "DISCONNECTED"


def test_turns_and_streams_of_the_session_that_stays_are_kept(scene: Scene) -> None:
    everywhere = scene.talk.connect(INTERNAL_TOKEN).hello(session="all", name="e", tools=[])
    scene.host.open("s2")
    everywhere.say(type="session.ready", sessionId="s2")
    everywhere.push("in the first", sessionId="s1")
    everywhere.push("in the second", sessionId="s2")
    scene.host.event("s2", "user.message", content="go")
    late(scene)
    state = scene.talk.gateway.state
    assert state.turns["s2"].current() is not None
    assert "s1" not in state.turns
    read = {"type": "stream.read", "id": "x", "stream": "e@e", "sessionId": "s2"}
    for _ in range(2):
        (answer,) = scene.tower.ask(read)
        assert [one["event"] for one in answer["lines"]] == ["in the second"]
        scene.talk.wait(3600)


def test_lines_of_before_are_read_from_the_records_of_the_sessions_before(scene: Scene) -> None:
    for number in range(1, 261):
        if number in (101, 181):
            former = {101: "s1", 181: "s2"}[number]
            scene.host.open(f"s{number}" if number == 181 else "s2", replaces=former)
        scene.provider.push(f"line {number}")
        scene.talk.wait(0.2)
    read = {"type": "stream.read", "id": "x", "stream": "greeter@greeter", "sessionId": "s181"}

    def lines(last: int, before: int) -> list[str]:
        (answer,) = scene.tower.ask({**read, "last": last, "before": before})
        return [one["event"] for one in answer["lines"]]

    assert lines(40, 61) == [f"line {number}" for number in range(21, 61)]
    assert lines(200, 61) == [f"line {number}" for number in range(1, 61)]
    assert lines(130, 151) == [f"line {number}" for number in range(21, 151)]
    assert lines(10, 1) == []


def test_of_two_with_one_identity_the_one_that_is_there_stays(scene: Scene) -> None:
    scene.host.open("s2")
    other = scene.talk.provider("s2")
    scene.provider.hear()
    late(scene)
    assert scene.provider.hear_of("error")[0]["code"] == "DUPLICATE_INSTANCE"
    assert (scene.provider.state, other.state) == ("Unbound", "Bound")


@pytest.mark.parametrize("current", ["s9", "of-another-host", "s1"])
def test_only_an_open_session_of_the_same_host_takes_a_place(scene: Scene, current: str) -> None:
    scene.talk.host("elsewhere").open("of-another-host")
    late(scene, current=current)
    assert ("s1" in scene.talk.gateway.state.sessions) is True
    ended = scene.talk.gateway.state.sessions["s1"].state == "ended"
    assert ended is (current != "s1")


def test_a_late_replacement_that_is_told_twice_ends_nothing_else(scene: Scene) -> None:
    scene.host.open("s2")
    late(scene)
    late(scene)
    assert scene.talk.gateway.state.sessions["s2"].state != "ended"


def test_who_clashes_with_the_session_that_replaces_is_left_behind(scene: Scene) -> None:
    session = {
        "id": "s2",
        "label": "",
        "cwd": "/",
        "replaces": "s1",
        "reservedTools": ["greet"],
    }
    scene.host.say(type="session.open", session=session)
    assert scene.host.hear_one("session.opened")["tools"] == []
    error = scene.provider.hear_of("error")[0]
    assert (error["code"], error["sessionId"]) == ("TOOL_CONFLICT", "s2")
    assert scene.provider.state == "Unbound"
    scene.provider.hello(session="s2", tools=[tool("other")])
    assert scene.provider.hear_one("hello.ack")["providerId"] == "p-1"


def test_a_former_id_can_be_opened_anew(scene: Scene) -> None:
    scene.host.open("s2", replaces="s1")
    scene.host.open("s1")
    scene.provider.hear()
    assert scene.provider.push(sessionId="s1").hear_one("error")["code"] == "INVALID_SESSION"
    assert scene.provider.push(sessionId="s2").hear() == []


def test_an_open_that_is_refused_leaves_the_alias_alone(scene: Scene) -> None:
    scene.host.open("s2", replaces="s1")
    other = scene.talk.host("other")
    session = {"id": "s1", "label": "", "cwd": "/", "replaces": "s2"}
    other.error(type="session.open", session=session)
    scene.provider.hear()
    assert scene.provider.push(sessionId="s1").hear() == []


def test_what_waits_in_a_replaced_session_is_withdrawn(scene: Scene) -> None:
    request = {"type": "approval.request", "id": "r1", "kind": "permission", "detail": {}}
    scene.host.say(request, sessionId="s1")
    scene.host.open("s2", replaces="s1")
    assert scene.talk.events("approval.withdrawn")[0]["approval"]["state"] == "withdrawn"
    assert scene.host.ask(request, sessionId="s2") == []
    assert len(scene.talk.events("approval.requested")) == 2


# Moved, gathered


def two_sessions(scene: Scene) -> Peer:
    scene.host.open("s2")
    scene.talk.wait(1)
    scene.talk.forget()
    return scene.tower


def test_the_person_moves_a_provider(scene: Scene) -> None:
    tower = two_sessions(scene)
    scene.host.invoke("s1").hear()
    scene.provider.hear()
    assert tower.ask(type="provider.move", providerId="p-1", sessionId="s2") == []
    assert scene.host.hear() == [
        {
            "type": "tool.outcome",
            "id": "i1",
            "error": "the provider moved to another session",
            "errorCode": "CANCELLED",
        }
    ]
    assert scene.provider.hear() == [
        {"type": "tool.cancel", "id": "call-1", "sessionId": "s1", "reason": "moved"}
    ]
    scene.talk.wait(0.2)
    changed = scene.host.hear_of("tools.changed")
    names = {one["sessionId"]: [tool["name"] for tool in one["tools"]] for one in changed}
    assert names == {"s1": [], "s2": ["greet"]}
    moved = scene.talk.events("provider.moved")[0]
    assert (moved["source"], moved["sessionId"], moved["reason"]) == ("s1", "s2", "moved by you")
    scene.host.invoke("s2", id_="i2")
    assert scene.provider.hear_one("tool.call")["sessionId"] == "s2"


def test_a_move_that_clashes_is_told_to_the_tower_and_moves_nothing(scene: Scene) -> None:
    tower = two_sessions(scene)
    scene.talk.provider("s2", name="other")
    error = tower.error(type="provider.move", providerId="p-1", sessionId="s2")
    assert (error["code"], error["replyTo"], error["sessionId"]) == (
        "TOOL_CONFLICT",
        "provider.move",
        "s2",
    )
    assert error["message"] == "Tool 'greet' already registered by provider 'other'"
    assert scene.talk.events("provider.moved") == []
    scene.host.invoke("s1").hear()
    assert scene.provider.take_call()


def test_a_move_onto_the_same_identity_is_refused(scene: Scene) -> None:
    tower = two_sessions(scene)
    scene.talk.provider("s2", tools=[])
    error = tower.error(type="provider.move", providerId="p-1", sessionId="s2")
    assert error["code"] == "TOOL_CONFLICT"


def test_a_move_that_is_refused_widens_no_token(scene: Scene) -> None:
    from tests.core.conversations.test_opening import paired

    tower = two_sessions(scene)
    scene.host.say(type="session.update", sessionId="s1", foreground=True)
    scene.talk.provider("s2", name="owner", tools=[tool("mine")])
    client, _ = paired(scene.talk)
    client.hello(session="s1", name="page", tools=[tool("mine")])
    page = client.hear_one("hello.ack")["providerId"]
    assert tower.error(type="provider.move", providerId=page, sessionId="s2")
    client.hello(session="s2", name="page", tools=[])
    assert client.hear_one("error")["code"] == "INVALID_SESSION"


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"providerId": "p-9", "sessionId": "s2"}, "NOT_FOUND"),
        ({"providerId": "p-1", "sessionId": "s9"}, "INVALID_SESSION"),
    ],
)
def test_a_move_of_or_to_nothing_is_refused(
    scene: Scene, fields: dict[str, str], code: str
) -> None:
    tower = two_sessions(scene)
    assert tower.error({"type": "provider.move", **fields})["code"] == code


def test_a_move_to_where_it_is_does_nothing(scene: Scene) -> None:
    scene.host.invoke("s1").hear()
    assert scene.tower.ask(type="provider.move", providerId="p-1", sessionId="s1") == []
    assert scene.talk.events("provider.moved", "call.cancelling") == []


def test_the_person_disconnects_a_provider(scene: Scene) -> None:
    scene.tower.say(type="provider.disconnect", providerId="p-1")
    assert scene.provider.closed == (1000, "disconnected by the person")
    assert scene.tower.error(type="provider.disconnect", providerId="p-1")["code"] == "NOT_FOUND"
    again = scene.talk.connect(PROVIDER_TOKEN)
    again.hello(session="s1", reconnectToken="tok-1")
    assert again.hear_one("hello.ack")["providerId"] != "p-1"


def test_who_sat_on_local_for_want_of_another_moves_to_the_first_session(
    talk: Conversation,
) -> None:
    talk.local()
    provider = talk.provider("local")
    host = talk.host()
    provider.hear()
    opened = host.open("s1")
    assert [one["name"] for one in opened["tools"]] == ["greet"]
    assert [one["type"] for one in provider.hear()] == ["sessions.updated"]
    moved = talk.events("provider.moved")[0]
    assert (moved["source"], moved["sessionId"]) == ("local", "s1")
    tower = talk.tower()
    assert tower.ask(type="provider.move", providerId="p-1", sessionId="local") == []
    host.open("s2")
    assert len(talk.events("provider.moved")) == 2


def test_who_chose_local_stays_there(talk: Conversation) -> None:
    talk.local()
    host = talk.host()
    host.open("s1")
    talk.provider("local")
    host.say(type="session.close", sessionId="s1")
    host.open("s2")
    assert talk.events("provider.moved") == []


def test_who_would_clash_with_the_first_session_stays_on_local(talk: Conversation) -> None:
    talk.local()
    provider = talk.provider("local")
    provider.hear()
    talk.host().open("s1", reservedTools=["greet"])
    assert [one["type"] for one in provider.hear()] == ["error", "sessions.updated"]
    assert talk.gateway.state.providers["p-1"].session_id == "local"


# What clients are told when a session changes


def test_a_change_of_label_or_foreground_is_told_after_a_quiet_period(scene: Scene) -> None:
    scene.host.open("s2")
    scene.provider.hear()
    for number in range(3):
        scene.host.say(type="session.update", sessionId="s1", label=f"n{number}")
        scene.talk.wait(0.1)
    assert scene.provider.hear() == []
    scene.host.say(type="session.update", sessionId="s2", foreground=True)
    scene.talk.wait(0.199)
    assert scene.provider.hear() == []
    scene.talk.wait(0.001)
    told = scene.provider.hear_one("sessions.updated")["active"]
    assert [(one["id"], one["label"], one["foreground"]) for one in told] == [
        ("s2", "s2", True),
        ("s1", "n2", False),
    ]
    scene.talk.wait(10)
    assert (scene.provider.hear(), scene.talk.deadlines) == ([], 0)


def test_a_steady_flow_of_labels_is_told_once_a_second(scene: Scene) -> None:
    for number in range(25):
        scene.host.say(type="session.update", sessionId="s1", label=f"n{number}")
        scene.talk.wait(0.1)
    assert len(scene.provider.hear_of("sessions.updated")) == 2


def test_what_a_list_does_not_change_is_not_told(scene: Scene) -> None:
    for same in ({"label": "s1"}, {"foreground": False}, {"model": "gpt-6"}):
        scene.host.say(type="session.update", sessionId="s1", **same)
    scene.talk.wait(10)
    assert scene.provider.hear() == []


def test_a_session_that_opens_tells_what_changed_before(scene: Scene) -> None:
    scene.host.say(type="session.update", sessionId="s1", label="new")
    scene.host.open("s2")
    told = scene.provider.hear_one("sessions.updated")["active"]
    assert {one["label"] for one in told} == {"new", "s2"}
    scene.talk.wait(10)
    assert scene.provider.hear() == []


def test_a_session_whose_program_is_silent_says_so_and_stays_open(scene: Scene) -> None:
    for is_silent in (True, False):
        scene.host.say(type="session.update", sessionId="s1", silent=is_silent)
        told = scene.talk.events("session.updated")[-1]["session"]
        assert told.get("silent", False) is is_silent
        assert told["state"] == "idle"
