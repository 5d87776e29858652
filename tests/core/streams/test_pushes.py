"""Pushes: streams, budgets, injects while busy, and the brake on loops."""

from typing import Any

import pytest

from tests.core.conftest import Scene
from tests.core.harness import Conversation, Json, Peer


def sent(scene: Scene) -> list[str]:
    """Return the prompts that went into the session since the last hearing."""
    return [one["prompt"] for one in scene.host.hear_of("session.send")]


def lines(scene: Scene, **read: Any) -> list[Json]:
    scene.tower.hear()
    default = {"type": "stream.read", "id": "x1", "stream": "greeter@greeter", "sessionId": "s1"}
    answer = scene.tower.ask({**default, **read})
    assert [(one["type"], one["id"]) for one in answer] == [("stream.lines", "x1")]
    found: list[Json] = answer[0]["lines"]
    return found


@pytest.mark.parametrize("level", ["keep", "surface", "inject"])
def test_where_a_push_goes(scene: Scene, level: str) -> None:
    scene.talk.wait(1)
    scene.provider.push("CI failed", level, stream="ci", metadata={"run": 7})
    assert scene.provider.hear() == []
    assert scene.talk.events("stream.posted") == [
        {
            "kind": "stream.posted",
            "sessionId": "s1",
            "stream": "ci@greeter",
            "line": {
                "seq": 1,
                "ts": "2026-01-01T00:00:02.000000Z",
                "level": level,
                "event": "CI failed",
                "metadata": {"run": 7},
            },
            "providerId": "p-1",
        }
    ]
    heard = {
        "keep": [],
        "surface": [
            {
                "type": "session.log",
                "sessionId": "s1",
                "message": "ci@greeter: CI failed",
                "level": "info",
            }
        ],
        "inject": [
            {
                "type": "session.send",
                "sessionId": "s1",
                "prompt": "CI failed",
                "from": {"provider": "greeter", "stream": "ci"},
            }
        ],
    }
    assert scene.host.hear() == heard[level]


def test_a_stream_without_a_name_has_the_providers(scene: Scene) -> None:
    scene.provider.push("a").push("b", stream=None).push("c", stream="")
    assert [one["event"] for one in lines(scene)] == ["a", "b", "c"]


def test_a_push_to_a_session_that_is_not_ones_own(scene: Scene) -> None:
    scene.host.open("s2")
    scene.provider.hear()
    for id_ in ("s2", "s9", "all"):
        error = scene.provider.error(type="push", level="keep", event="e", sessionId=id_)
        assert (error["code"], error["sessionId"]) == ("INVALID_SESSION", id_)
    assert scene.talk.events("stream.posted") == []


def test_ten_pushes_a_second_and_what_is_refused_is_not_stored(scene: Scene) -> None:
    for i in range(10):
        assert scene.provider.ask(type="push", level="surface", event=str(i)) == []
    scene.talk.wait(0.999)
    error = scene.provider.error(type="push", level="surface", event="one too many", sessionId="s1")
    assert (error["code"], error["replyTo"], error["sessionId"]) == ("RATE_LIMITED", "push", "s1")
    assert len(lines(scene)) == 10
    scene.talk.wait(0.001)
    assert scene.provider.ask(type="push", level="surface", event="now") == []
    other = scene.talk.provider("s1", name="other", tools=[])
    for _ in range(10):
        assert other.ask(type="push", level="surface", event="own budget") == []


def test_a_stream_knows_how_long_its_newest_line_waited_at_its_provider(scene: Scene) -> None:
    assert scene.provider.ask(type="push", level="keep", event="late", waited=240_000) == []
    stream = scene.talk.gateway.state.streams["s1", "greeter@greeter"]
    assert stream.waited == 240_000
    scene.provider.push("at once")
    assert scene.talk.gateway.state.streams["s1", "greeter@greeter"].waited == 0


def test_the_budget_is_per_session(talk: Conversation) -> None:
    host = talk.host()
    host.open("s1")
    host.open("s2")
    peer = talk.connect("itk-internal").hello(session="all", tools=[])
    peer.hear()
    for id_ in ("s1", "s2"):
        for _ in range(10):
            assert peer.ask(type="push", level="surface", event="e", sessionId=id_) == []
        assert peer.push(level="surface", sessionId=id_).hear_one("error")["code"] == "RATE_LIMITED"


def test_streams_keep_200_lines_and_count_all(scene: Scene) -> None:
    for i in range(1, 251):
        scene.provider.push(str(i))
        scene.talk.wait(0.11)
    kept = lines(scene, last=1000)
    assert [one["seq"] for one in kept] == list(range(51, 251))
    assert scene.talk.gateway.state.streams["s1", "greeter@greeter"].count == 250


@pytest.mark.parametrize(
    ("read", "seqs"),
    [
        ({}, list(range(1, 11))),
        ({"last": 3}, [8, 9, 10]),
        ({"last": 3, "before": 5}, [2, 3, 4]),
        ({"last": 100, "before": 1}, []),
        ({"last": 2, "before": 4711}, [9, 10]),
        ({"last": 0}, []),
        ({"last": -5}, []),
        ({"stream": "none@greeter"}, []),
        ({"sessionId": "s9"}, []),
    ],
)
def test_lines_are_read_oldest_first(scene: Scene, read: Json, seqs: list[int]) -> None:
    for i in range(10):
        scene.provider.push(str(i))
    assert [one["seq"] for one in lines(scene, **read)] == seqs


def test_twenty_streams_a_provider(scene: Scene) -> None:
    for i in range(20):
        scene.provider.push(stream=f"s{i}")
        scene.talk.wait(0.1)
    scene.talk.wait(1)
    error = scene.provider.hear() or scene.provider.error(
        type="push", level="inject", event="e", stream="s20"
    )
    assert error["code"] == "PAYLOAD_TOO_LARGE"
    assert error["message"] == "a provider may have at most 20 streams"
    assert sent(scene) == []
    assert scene.provider.ask(type="push", level="keep", event="e", stream="s0") == []
    other = scene.talk.provider("s1", name="other", tools=[])
    assert other.ask(type="push", level="keep", event="e", stream="s20") == []


# Injects


def test_injects_wait_while_the_session_is_busy_and_come_one_per_idle(scene: Scene) -> None:
    scene.host.event("s1", "session.busy")
    for name in ("a", "b", "c"):
        scene.provider.push(name, "inject")
    assert sent(scene) == []
    assert len(lines(scene)) == 3
    for name in ("a", "b", "c"):
        scene.host.event("s1", "session.idle")
        assert sent(scene) == [name]
        scene.host.event("s1", "session.busy")
    scene.host.event("s1", "session.idle")
    assert sent(scene) == []


def test_an_inject_that_waits_is_in_the_timeline_once(scene: Scene) -> None:
    scene.host.event("s1", "session.busy")
    scene.provider.push("one", "inject")
    line = scene.host.hear_one("session.log")
    told = "※ tap: a prompt of provider 'greeter' waits until the session is idle"
    assert (line["sessionId"], line["message"], line["level"]) == ("s1", told, "info")
    scene.talk.wait(1)
    scene.provider.push("two", "inject")
    assert scene.host.hear_of("session.log") == []
    for text in ("one", "two"):
        scene.host.event("s1", "session.idle")
        assert sent(scene) == [text]
        scene.host.event("s1", "session.busy")
    scene.talk.wait(1)
    scene.provider.push("three", "inject")
    assert scene.host.hear_one("session.log")["message"] == told


def test_an_inject_waits_for_the_idle_after_the_one_before(scene: Scene) -> None:
    scene.provider.push("a", "inject").push("b", "inject")
    assert sent(scene) == ["a"]
    scene.host.event("s1", "session.busy")
    assert sent(scene) == []
    scene.host.event("s1", "session.idle")
    assert sent(scene) == ["b"]


def test_an_inject_that_starts_no_turn_holds_the_next_one_back_for_ten_seconds(
    scene: Scene,
) -> None:
    scene.provider.push("a", "inject").push("b", "inject").push("c", "inject")
    scene.talk.wait(9.9)
    assert sent(scene) == ["a"]
    scene.talk.wait(0.1)
    assert sent(scene) == ["b"]
    scene.host.event("s1", "session.busy")
    scene.talk.wait(60)
    assert sent(scene) == []
    scene.host.event("s1", "session.idle")
    assert sent(scene) == ["c"]


def test_an_inject_that_could_not_be_sent_gives_way_at_once(scene: Scene) -> None:
    scene.provider.push("a", "inject").push("b", "inject")
    assert sent(scene) == ["a"]
    scene.host.say(type="session.sent", sessionId="s1", ok=False, error="the CLI is gone")
    assert sent(scene) == ["b"]
    scene.host.say(type="session.close", sessionId="s1")
    scene.talk.wait(60)
    assert sent(scene) == []


def test_twenty_injects_are_held(scene: Scene) -> None:
    scene.host.event("s1", "session.busy")
    for i in range(20):
        assert scene.provider.ask(type="push", level="inject", event=str(i)) == []
        scene.talk.wait(0.1)
    scene.talk.wait(1)
    error = scene.provider.error(type="push", level="inject", event="20")
    assert error["code"] == "RATE_LIMITED"
    assert scene.provider.ask(type="push", level="keep", event="still kept") == []
    assert [one["event"] for one in lines(scene, last=1)] == ["still kept"]
    other = scene.talk.provider("s1", name="other", tools=[])
    assert other.ask(type="push", level="inject", event="mine") == []
    scene.host.event("s1", "session.idle")
    assert scene.provider.ask(type="push", level="inject", event="20") == []


def turn(scene: Scene) -> list[str]:
    """Let the session have its turn; return what it was sent at its end."""
    scene.host.event("s1", "session.busy").event("s1", "session.idle")
    return sent(scene)


def cycle(scene: Scene, count: int) -> None:
    for i in range(count):
        scene.talk.wait(1)
        scene.provider.push(f"cycle {i}", "inject")
        assert sent(scene) == [f"cycle {i}"]
        assert turn(scene) == []


def test_the_fourth_inject_without_a_word_of_the_person_is_held(scene: Scene) -> None:
    cycle(scene, 3)
    scene.talk.wait(1)
    assert scene.provider.ask(type="push", level="inject", event="fourth") == []
    log = scene.host.hear_one("session.log")
    assert (log["level"], log["sessionId"]) == ("warning", "s1")
    assert "'greeter'" in log["message"]
    paused = {"sessionId": "s1", "providerId": "p-1", "provider": "greeter"}
    assert scene.talk.events("inject.paused") == [{"kind": "inject.paused", **paused}]
    assert turn(scene) == []
    scene.provider.push("fifth", "inject")
    assert turn(scene) == []
    assert scene.host.hear_of("session.log") == []
    scene.tower.hear()
    assert scene.tower.ask(type="injects.resume", providerId="p-1", sessionId="s1") == []
    assert sent(scene) == ["fourth"]
    assert scene.talk.events("inject.resumed") == [{"kind": "inject.resumed", **paused}]
    assert turn(scene) == ["fifth"]


def test_the_persons_next_message_releases_the_brake(scene: Scene) -> None:
    cycle(scene, 3)
    scene.provider.push("fourth", "inject")
    scene.host.event("s1", "session.busy").event("s1", "user.message", content="go on")
    assert sent(scene) == []
    scene.host.event("s1", "session.idle")
    assert sent(scene) == ["fourth"]
    assert [one["providerId"] for one in scene.talk.events("inject.resumed")] == ["p-1"]


def test_a_message_between_begins_the_count_anew(scene: Scene) -> None:
    cycle(scene, 2)
    scene.host.event("s1", "user.message", content="hm")
    cycle(scene, 3)
    scene.provider.push("fourth", "inject")
    assert sent(scene) == []


def test_injects_that_were_held_while_busy_are_braked_too(scene: Scene) -> None:
    scene.host.event("s1", "session.busy")
    for i in range(5):
        scene.provider.push(str(i), "inject")
    scene.host.event("s1", "session.idle")
    got = sent(scene)
    for _ in range(5):
        got += turn(scene)
    assert got == ["0", "1", "2"]
    assert len(scene.talk.events("inject.paused")) == 1
    scene.tower.say(type="injects.resume", providerId="p-1", sessionId="s1")
    assert sent(scene) == ["3"]


def test_an_inject_that_led_to_no_turn_is_no_cycle(talk: Conversation) -> None:
    talk.local()
    provider = talk.provider("local")
    for i in range(8):
        provider.push(str(i), "inject")
    prompts = [one for one in talk.events("session.event") if one["event"] == "prompt.injected"]
    assert len(prompts) == 8
    assert talk.events("inject.paused") == []


def test_a_turn_counts_once_however_often_it_is_reported(scene: Scene) -> None:
    scene.provider.push("one", "inject")
    for _ in range(5):
        scene.host.event("s1", "assistant.turn_start")
    scene.host.event("s1", "session.idle")
    scene.host.event("s1", "session.busy").event("s1", "session.idle")
    assert sent(scene) == ["one"]
    cycle(scene, 2)
    scene.provider.push("fourth", "inject")
    assert sent(scene) == []


def test_one_providers_brake_holds_nobody_else(scene: Scene) -> None:
    other = scene.talk.provider("s1", name="other", tools=[])
    cycle(scene, 3)
    scene.provider.push("held", "inject")
    other.push("free", "inject")
    assert sent(scene) == ["free"]


@pytest.mark.parametrize(
    ("fields", "code"),
    [
        ({"providerId": "p-9", "sessionId": "s1"}, "NOT_FOUND"),
        ({"providerId": "p-1", "sessionId": "s9"}, "INVALID_SESSION"),
    ],
)
def test_resuming_nothing_is_refused(scene: Scene, fields: Json, code: str) -> None:
    assert scene.tower.error({"type": "injects.resume", **fields})["code"] == code


def test_what_a_provider_holds_goes_with_it(scene: Scene) -> None:
    scene.host.event("s1", "session.busy")
    scene.provider.push("from the grave", "inject").drop()
    scene.host.event("s1", "session.idle")
    assert sent(scene) == []


# The built-in tools


def built_in(talk: Conversation) -> tuple[Peer, Any]:
    host = talk.host()
    host.open("s1")

    def call(name: str, **args: Any) -> Json:
        host.hear()
        host.invoke("s1", name, args=args)
        outcome = host.hear_one("tool.outcome")
        return {key: outcome[key] for key in outcome if key not in ("type", "id")}

    return host, call


def test_tap_post_has_no_budget_and_streams_of_its_own(talk: Conversation) -> None:
    talk.tools()
    _, call = built_in(talk)
    for seq in range(1, 31):
        answer = call("tap_post", stream="notes", message=f"n{seq}")
        assert answer == {"data": {"stream": "notes@tap", "seq": seq}}
    history = call("tap_stream_history", stream="notes", last=2)["data"]
    assert [(one["seq"], one["event"], one["level"]) for one in history] == [
        (29, "n29", "keep"),
        (30, "n30", "keep"),
    ]
    assert len(call("tap_stream_history", stream="notes@tap")["data"]) == 20
    listed = call("tap_list_streams")["data"]
    assert [(one["stream"], one["count"], one["last"]["event"]) for one in listed] == [
        ("notes@tap", 30, "n30")
    ]


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("tap_post", {}),
        ("tap_post", {"stream": "s"}),
        ("tap_post", {"stream": "", "message": "m"}),
        ("tap_post", {"stream": "a@b", "message": "m"}),
        ("tap_post", {"stream": "s" * 65, "message": "m"}),
        ("tap_post", {"stream": "s", "message": " "}),
        ("tap_post", {"stream": "s", "message": "m", "level": "loud"}),
        ("tap_post", {"stream": "s", "message": "m", "metadata": []}),
        ("tap_stream_history", {"stream": "s", "last": 0}),
        ("tap_stream_history", {"stream": "s", "last": 101}),
        ("tap_stream_history", {}),
        ("tap_set_session_mode", {"mode": "party"}),
    ],
)
def test_wrong_arguments_are_said_and_leave_nothing_pending(
    talk: Conversation, name: str, args: Json
) -> None:
    talk.tools()
    _, call = built_in(talk)
    answer = call(name, **args)
    assert answer["errorCode"] == "INVALID_JSON"
    assert answer["error"]
    assert talk.gateway.state.calls == {}


def test_tap_post_surfaces_and_injects(talk: Conversation) -> None:
    talk.tools()
    host = talk.host()
    host.open("s1")
    host.invoke("s1", "tap_post", args={"stream": "n", "message": "look", "level": "surface"})
    assert host.hear_one("session.log")["message"] == "n@tap: look"
    host.invoke("s1", "tap_post", args={"stream": "n", "message": "wake", "level": "inject"})
    prompt = host.hear_one("session.send")
    assert (prompt["prompt"], prompt["from"]) == ("wake", {"provider": "tap", "stream": "n"})


def test_the_state_of_a_session(talk: Conversation) -> None:
    talk.tools()
    _, call = built_in(talk)
    talk.provider("s1", instance="one")
    state = call("tap_get_session_state")["data"]
    assert state["state"] == "idle"
    assert state["providers"] == [{"name": "greeter/one", "trust": "project"}]
    assert {"name": "greet", "provider": "greeter"} in state["tools"]
    assert (state["approvalsWaiting"], state["emitters"]) == (0, [])
    assert state["host"] == {"name": "copilot", "kind": "copilot", "hooks": False, "modes": False}


def test_an_inject_into_local_is_kept_as_an_event(talk: Conversation) -> None:
    talk.local()
    provider = talk.provider("local")
    provider.push("one", "inject").push("two", "inject")
    prompts = [
        one["data"] for one in talk.events("session.event") if one["event"] == "prompt.injected"
    ]
    assert [one["content"] for one in prompts] == ["one", "two"]
    assert talk.gateway.state.sessions["local"].state == "idle"
