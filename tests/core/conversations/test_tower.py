"""Towers: the snapshot, what follows it, and what else only they are told."""

import json
from typing import Any

from tapui.projection.fold import fold
from tapui.projection.state import State
from tapui.wire.codec import encode
from tapui.wire.tower import GatewayStopping, Notice
from tests.core.conftest import Scene
from tests.core.harness import Conversation, Json


def test_the_snapshot_has_everything(scene: Scene) -> None:
    scene.provider.push("line")
    scene.host.invoke("s1")
    scene.provider.hear()
    scene.host.say(
        type="approval.request", id="r", sessionId="s1", kind="permission", detail={"x": 1}
    )
    scene.provider.say(type="hooks.update", onPreToolUse=[{"action": "deny"}])
    scene.host.say(type="hook.preToolUse", id="k", sessionId="s1", tool="bash", args={})
    scene.host.say(
        type="sessions.unattached",
        unattached=[{"id": "u", "cwd": "/u", "pid": 7, "hint": "copilot --resume u"}],
    )
    ack = scene.talk.tower().ack
    assert ack["seq"] == scene.talk.gateway.seq
    assert (ack["run"], ack["towers"]) == ("run-1", 2)
    state: dict[str, list[Json]] = ack["state"]
    assert state.pop("orders") == []
    assert state.pop("alarms") == []
    assert state.pop("emitters") == []
    assert state.pop("mcpServers") == []
    assert state.pop("folderProblems") == []
    only: Any = {kind: found[0] for kind, found in state.items()}
    assert {kind: len(found) for kind, found in state.items()} == dict.fromkeys(state, 1)
    assert set(only["sessions"]) >= {"id", "label", "cwd", "state", "host", "providers"}
    assert only["sessions"]["providers"] == ["p-1"]
    assert set(only["providers"]) >= {"id", "name", "trust", "state", "sessionId", "tools"}
    assert set(only["calls"]) >= {
        "id",
        "sessionId",
        "provider",
        "tool",
        "state",
        "startedAt",
        "timeout",
    }
    assert only["streams"] == {
        "name": "greeter@greeter",
        "provider": "greeter",
        "sessionId": "s1",
        "count": 1,
        "last": {
            "seq": 1,
            "ts": "2026-01-01T00:00:01.000000Z",
            "level": "keep",
            "event": "line",
        },
    }
    assert set(only["approvals"]) >= {"id", "kind", "sessionId", "detail", "createdAt", "expiresAt"}
    assert only["unattached"]["hint"] == "copilot --resume u"


def test_events_follow_the_snapshot_without_a_gap(scene: Scene) -> None:
    tower = scene.talk.tower()
    seq = tower.ack["seq"]
    state = State.of(scene.talk.gateway.state.snapshot())
    scene.provider.push("a").push("b")
    scene.host.invoke("s1")
    scene.provider.result(scene.provider.take_call(), data=1)
    later = [entry for entry in scene.talk.entries if entry.seq > seq]
    assert [entry.seq for entry in later] == list(range(seq + 1, seq + 1 + len(later)))
    seen = {scene.tower.number: scene.tower.ack["seq"], tower.number: seq}
    assert scene.talk.gateway.watchers == seen
    for entry in later:
        fold(state, entry.event, entry.ts)
    assert state == scene.talk.gateway.state


def test_a_tower_that_fell_behind_gets_a_new_snapshot(scene: Scene) -> None:
    scene.provider.push("while it slept")
    scene.tower.hear()
    scene.talk.tell(scene.talk.gateway.resend, scene.tower.number)
    scene.talk.turn()
    again = scene.tower.hear_one("tower.snapshot")
    assert again["seq"] == scene.talk.gateway.seq
    assert scene.talk.gateway.watchers[scene.tower.number] == again["seq"]


def test_towers_are_told_how_many_they_are(scene: Scene) -> None:
    second = scene.talk.tower()
    assert scene.tower.hear() == [{"type": "towers.changed", "towers": 2, "isFirst": True}]
    command = scene.talk.tower(role="client")
    assert command.ack["towers"] == 2
    assert scene.tower.hear() == []
    command.drop()
    assert scene.tower.hear() == []
    second.drop()
    assert scene.tower.hear() == [{"type": "towers.changed", "towers": 1, "isFirst": True}]
    assert scene.talk.gateway.watchers.keys() == {scene.tower.number}
    assert scene.talk.gateway.busy_with() == (1, 0, 1)


def test_the_tower_that_has_watched_longest_is_told_so(scene: Scene) -> None:
    assert scene.tower.ack["isFirst"] is True
    second = scene.talk.tower()
    assert "isFirst" not in second.ack
    scene.tower.drop()
    assert second.hear() == [{"type": "towers.changed", "towers": 1, "isFirst": True}]


def test_notices_go_to_towers_only(scene: Scene) -> None:
    scene.talk.gateway.tell(
        scene.talk.now, scene.talk.gateway.notify, Notice("the disk is full", "warning")
    )
    scene.talk.turn()
    assert scene.tower.hear() == [
        {"type": "tower.notice", "message": "the disk is full", "level": "warning"}
    ]
    assert scene.host.hear() == scene.provider.hear() == []


def test_a_tower_may_stop_the_gateway(scene: Scene) -> None:
    assert scene.tower.ask(type="gateway.stop") == []
    assert scene.talk.is_stopped


def test_the_gateway_ends_in_order(scene: Scene) -> None:
    gateway = scene.talk.gateway
    scene.host.invoke("s1")
    gateway.tell(scene.talk.now, gateway.shut_down)
    scene.talk.turn()
    assert scene.tower.hear_of("gateway.stopping") == [
        {"type": "gateway.stopping", "deadline": 10_000}
    ]
    heard = scene.provider.hear_of("session.lifecycle")
    assert [one["state"] for one in heard] == ["shutdown.pending"]
    assert scene.host.hear_one("tool.outcome")["errorCode"] == "DISCONNECTED"
    assert not gateway.is_quiet
    scene.provider.say(type="shutdown.ready", sessionId="s1")
    assert gateway.is_quiet
    assert isinstance(json.loads(encode(GatewayStopping(1))), dict)


def test_refusals_are_recorded_with_who_was_refused(scene: Scene) -> None:
    scene.provider.error(type="push", level="keep", event="e", sessionId="s9")
    assert scene.talk.events("error.sent") == [
        {
            "kind": "error.sent",
            "code": "INVALID_SESSION",
            "message": "Session s9 does not exist",
            "replyTo": "push",
            "provider": "greeter",
            "providerId": "p-1",
            "sessionId": "s9",
        }
    ]


def test_unattached_sessions_come_and_go_with_their_host(scene: Scene) -> None:
    found = [{"id": "u", "cwd": "/u", "pid": 7, "hint": "h"}]
    scene.host.say(type="sessions.unattached", unattached=found)
    assert list(scene.talk.gateway.state.unattached) == ["copilot"]
    scene.host.drop()
    assert scene.talk.gateway.state.unattached == {}


def test_a_provider_is_shown_from_hello_to_gone(talk: Conversation) -> None:
    host = talk.host()
    host.open("s1")
    provider = talk.provider("s1", instance="one", metadata={"url": "x"})
    provider.say(type="tools.update", tools=[])
    host.say(type="session.close", sessionId="s1")
    provider.say(type="shutdown.ready", sessionId="s1").drop()
    kinds = [kind for kind in talk.kinds() if kind.startswith("provider.")]
    assert kinds == [
        "provider.connected",
        "provider.bound",
        "provider.updated",
        "provider.unbound",
        "provider.disconnected",
    ]
    assert talk.events("provider.bound")[0]["provider"] == {
        "id": "p-1",
        "name": "greeter",
        "trust": "project",
        "state": "bound",
        "tools": ["greet"],
        "connectedAt": "2026-01-01T00:00:00.000000Z",
        "sessionId": "s1",
        "instance": "one",
        "metadata": {"url": "x"},
    }


def test_a_tower_reads_the_tools_of_a_session_with_their_schemas(scene: Scene) -> None:
    scene.tower.say(type="tools.read", id="x", sessionId="s1")
    answer = scene.tower.hear_one("tools.list")
    assert answer["id"] == "x"
    greet = next(tool for tool in answer["tools"] if tool["name"] == "greet")
    assert (greet["provider"], greet["parameters"]["type"]) == ("greeter", "object")
    scene.host.say(
        type="session.event",
        sessionId="s1",
        event="subagent.started",
        data={"remoteSessionId": "c1", "toolCallId": "t1", "agentName": "a"},
    )
    scene.tower.hear()
    scene.tower.say(type="tools.read", id="y", sessionId="c1")
    assert scene.tower.hear_one("tools.list")["tools"] == answer["tools"]
    scene.tower.say(type="tools.read", id="z", sessionId="nowhere")
    error = scene.tower.hear_one("error")
    assert (error["code"], error["replyTo"]) == ("INVALID_SESSION", "tools.read")
