"""What a host reports beside its sessions' events: notices, prompts that were not sent, agents."""

import json

import pytest

from tapui.wire import limits
from tapui.wire.codec import encode
from tests.core.conftest import Scene
from tests.core.harness import INTERNAL_TOKEN, Conversation, Json, Peer, tool


def sent(scene: Scene) -> list[str]:
    return [one["prompt"] for one in scene.host.hear_of("session.send")]


def shown_session(scene: Scene) -> Json:
    found: Json = json.loads(encode(scene.talk.gateway.state.sessions["s1"]))
    return found


def test_a_notice_reaches_every_tower_and_nobody_else(scene: Scene) -> None:
    second = scene.talk.tower()
    for one in (scene.tower, scene.provider, scene.host, second):
        one.hear()
    scene.host.say(type="host.notice", message="the CLI does not answer", level="warning")
    text = "copilot: the CLI does not answer"
    notice = {"type": "tower.notice", "message": text, "level": "warning"}
    assert scene.tower.hear() == [notice]
    assert second.hear() == [notice]
    assert scene.provider.hear() == scene.host.hear() == []


def test_a_prompt_that_the_host_could_not_send_lets_the_next_one_go(scene: Scene) -> None:
    scene.provider.push("one", "inject").push("two", "inject").push("three", "inject")
    assert sent(scene) == ["one"]
    scene.host.say(type="session.sent", sessionId="s1", ok=False, error="no answer")
    assert sent(scene) == ["two"]
    (told,) = scene.talk.events("session.event")
    assert (told["event"], told["data"]) == ("prompt.failed", {"error": "no answer"})
    scene.host.say(type="session.sent", sessionId="s1", ok=True)
    assert sent(scene) == []
    scene.host.event("s1", "assistant.turn_start").event("s1", "session.idle")
    assert sent(scene) == ["three"]


def test_a_late_report_about_a_prompt_does_not_end_the_turn(scene: Scene) -> None:
    scene.provider.push("one", "inject").push("two", "inject")
    scene.host.event("s1", "assistant.turn_start")
    scene.host.say(type="session.sent", sessionId="s1", ok=False)
    assert sent(scene) == ["one"]
    told = scene.talk.events("session.event")[-1]
    assert (told["event"], told["data"]["error"]) == (
        "prompt.failed",
        "the host could not send the prompt",
    )


@pytest.mark.parametrize(
    "report",
    [
        {"type": "session.sent", "ok": False},
        {"type": "session.event", "event": "session.idle"},
        {"type": "session.update", "label": "x"},
        {"type": "session.close"},
        {"type": "session.history", "turns": []},
        {"type": "session.now", "text": "x"},
        {"type": "turn.ending", "id": "e", "message": "x"},
        {"type": "hook.preToolUse", "id": "h", "tool": "t", "args": {}},
        {"type": "prompt.submitted", "id": "p", "prompt": "x"},
        {"type": "approval.request", "id": "r", "kind": "userInput", "detail": {"question": "?"}},
    ],
    ids=lambda report: report["type"],
)
@pytest.mark.parametrize("session", ["s1", "child"])
def test_a_report_about_anothers_session_is_refused(
    scene: Scene, talk: Conversation, report: Json, session: str
) -> None:
    started = {"remoteSessionId": "child", "agentName": "explore"}
    scene.host.event("s1", "subagent.started", **started)
    before = talk.gateway.seq
    other = talk.host("other")
    other.say({**report, "sessionId": session})
    assert other.hear_one("error")["code"] == "INVALID_SESSION"
    assert [one["type"] for one in talk.entries[before:]] in (["error.sent"], [])
    assert talk.gateway.state.approvals == {}


def test_agents_are_kept_current(talk: Conversation) -> None:
    host = talk.host()
    host.open("s1", agents=[{"name": "reviewer", "tools": ["save"]}])
    talk.provider("s1", tools=[tool("save"), tool("drop")])
    talk.wait(1)
    host.hear()
    agents: list[Json] = [{"name": "reviewer", "tools": ["drop"]}, {"name": "new", "tools": []}]
    host.say(type="session.update", sessionId="s1", agents=agents)
    talk.wait(1)
    told = {
        one["name"]: [definition["name"] for definition in one["toolDefinitions"]]
        for one in host.hear_one("tools.changed")["agents"]
    }
    assert told == {"reviewer": ["drop"], "new": []}
    host.invoke("s1", "save", agentId="reviewer")
    assert host.hear_one("tool.outcome")["errorCode"] == "NOT_FOUND"


def test_the_unattached_list_stays_while_a_host_of_that_name_is_there(scene: Scene) -> None:
    again = scene.talk.host()
    found = [{"id": "u", "cwd": "/u", "pid": 7, "hint": "copilot --resume u"}]
    again.say(type="sessions.unattached", unattached=found)
    scene.host.drop()
    assert list(scene.talk.gateway.state.unattached) == ["copilot"]
    again.drop()
    assert scene.talk.gateway.state.unattached == {}


def test_a_session_waits_for_its_model_until_that_answers(scene: Scene) -> None:
    def waits() -> Json | None:
        found: Json | None = shown_session(scene).get("modelWait")
        return found

    failed = {"source": "top_level", "statusCode": 429, "errorCode": "rate_limited"}
    scene.host.event("s1", "assistant.turn_start")
    scene.host.event("s1", "model.call_failure", **failed, agentId="child")
    scene.host.event("s1", "model.call_failure", **{**failed, "source": "mcp_sampling"})
    assert waits() is None
    scene.host.event("s1", "model.call_failure", **failed)
    first = waits()
    assert first is not None
    assert (first["status"], first["times"], first["reason"]) == (429, 1, "rate_limited")
    scene.talk.wait(20)
    scene.host.event("s1", "model.call_failure", source="top_level", errorMessage="gone\n")
    assert waits() == {"since": first["since"], "times": 2, "reason": "gone"}
    scene.host.event("s1", "assistant.message", content="of a subagent", agentId="child")
    assert waits() is not None
    scene.host.event("s1", "assistant.message", content="I am back")
    assert waits() is None
    scene.host.event("s1", "model.call_failure", **failed).event("s1", "session.idle")
    assert waits() is None


def test_what_the_agent_wants_to_do_stands_with_its_session(scene: Scene) -> None:
    todos = [{"title": "collect\ntags", "state": "done"}, {"title": "write"}]
    scene.host.event("s1", "session.todos", todos=todos)
    shown = shown_session(scene)["todos"]
    assert shown == [{"title": "collect ⏎ tags", "state": "done"}, {"title": "write"}]
    scene.host.event("s1", "session.todos")
    assert "todos" not in shown_session(scene)
    for wrong in ({"todos": [{}]}, {"counts": {"done": -1}}, {"counts": {"done": "9"}}):
        error = scene.host.error(
            type="session.event", sessionId="s1", event="session.todos", data=wrong
        )
        assert error["code"] == "INVALID_JSON"


def test_a_list_that_is_longer_than_what_is_told_has_the_counts_of_all(scene: Scene) -> None:
    todos = [{"title": "collect tags", "state": "done"}]
    counts = {"done": 9_000, "pending": 1_000}
    scene.host.event("s1", "session.todos", todos=todos, counts=counts)
    assert shown_session(scene)["todoCounts"] == counts
    scene.host.event("s1", "session.todos", todos=todos, counts={"done": 1})  # they are all
    assert "todoCounts" not in shown_session(scene)
    scene.host.event("s1", "session.todos", todos=todos, counts=counts)
    scene.host.event("s1", "session.todos", todos=todos)
    assert "todoCounts" not in shown_session(scene)


def test_what_a_sessions_program_asks_in_its_terminal_is_shown(scene: Scene) -> None:
    scene.host.say(type="session.update", sessionId="s1", asksThere="trust this folder?")
    assert shown_session(scene)["asksThere"] == "trust this folder?"
    account = {"signedIn": True, "kind": "user", "login": "ada", "host": "https://github.com"}
    scene.host.say(type="session.update", sessionId="s1", account=account)
    assert shown_session(scene)["account"] == account
    scene.host.say(type="session.update", sessionId="s1", asksThere="")
    assert "asksThere" not in shown_session(scene)


def test_the_commands_that_a_session_waits_for_are_shown(scene: Scene) -> None:
    shells = ["npm run dev", "npm test"]
    scene.host.say(type="session.update", sessionId="s1", shells=shells)
    assert shown_session(scene)["shells"] == shells
    scene.host.say(type="session.update", sessionId="s1", shells=[])
    assert "shells" not in shown_session(scene)
    too_much = {
        "PAYLOAD_TOO_LARGE": ["x"] * (limits.MAX_SHELLS + 1),
        "INVALID_JSON": ["x" * (limits.MAX_SUMMARY + 1)],
    }
    for code, shells in too_much.items():
        error = scene.host.error(type="session.update", sessionId="s1", shells=shells)
        assert error["code"] == code


def test_the_newest_warning_stands_with_its_session_and_in_the_records(scene: Scene) -> None:
    scene.host.event("s1", "session.warning", warningType="policy", message="x" * 5_000)
    scene.host.event("s1", "session.warning", warningType="mcp", message="no server\nanswers")
    warned = shown_session(scene)["warning"]
    assert (warned["kind"], warned["text"]) == ("mcp", "no server\nanswers")
    told = [one["event"] for one in scene.talk.events("session.event")]
    assert told == ["session.warning"] * 2


def test_what_fills_the_context_and_what_is_left_stand_with_the_session(scene: Scene) -> None:
    use = {"tokens": 12_626, "limit": 128_000, "system": 5_323, "tools": 7_083}
    scene.host.event("s1", "session.context", **use, conversation=220)
    assert shown_session(scene)["context"] == {**use, "conversation": 220}
    quota = {"name": "premium_interactions", "remaining": 35.0, "used": 97.0, "entitled": 150.0}
    scene.host.event("s1", "session.quota", quotas=[quota])
    assert shown_session(scene)["quotas"] == [quota]
    scene.host.event("s1", "session.quota")
    assert "quotas" not in shown_session(scene)


def looks(scene: Scene) -> list[tuple[str, str, str | None]]:
    known = scene.talk.gateway.state.looks.values()
    return [(one.host, one.state, one.error) for one in known]


def looking(scene: Scene, name: str = "copilot") -> Peer:
    """Return a host that looks for sessions."""
    peer = scene.talk.connect(INTERNAL_TOKEN)
    peer.say(type="host.hello", name=name, kind=name, protocolVersion=2, looks=True)
    return peer


def test_a_host_looks_for_sessions_until_it_tells_that_it_has(scene: Scene) -> None:
    assert looks(scene) == [], "a host that does not look is not waited for"
    host = looking(scene)
    assert looks(scene) == [("copilot", "looking", None)]
    host.say(type="host.looked")
    assert looks(scene) == [("copilot", "looked", None)]
    states = [one["look"]["state"] for one in scene.talk.events("sessions.looks")]
    assert states == ["looking", "looked"]


def test_the_host_that_a_launcher_starts_tells_for_both(scene: Scene) -> None:
    launcher = looking(scene)
    started = looking(scene)
    started.say(type="host.looked")
    assert looks(scene) == [("copilot", "looked", None)]
    started.drop()
    assert looks(scene) == [("copilot", "looked", None)]
    launcher.say(type="host.looked", error="it cannot be\nstarted \x1b[2J")
    ((_, state, error),) = looks(scene)
    assert (state, error) == ("failed", "it cannot be ⏎ started \x1b[2J")


def test_a_host_that_ends_before_it_has_looked_is_named(scene: Scene) -> None:
    looking(scene, "other").drop()
    assert looks(scene) == [
        ("other", "failed", "it has ended before its first look was over"),
    ]
    looking(scene, "other").say(type="host.looked").drop()
    assert looks(scene) == []


def test_a_tower_gets_how_far_hosts_are(scene: Scene) -> None:
    looking(scene)
    told = scene.talk.connect(INTERNAL_TOKEN)
    told.say(type="tower.hello", protocolVersion=2, name="second")
    (look,) = told.hear_one("tower.snapshot")["state"]["looks"]
    assert (look["host"], look["state"]) == ("copilot", "looking")


def test_a_tower_is_told_the_agents_of_a_folders_sessions(talk: Conversation) -> None:
    host, tower = talk.host(), talk.tower()
    reviewer: Json = {"name": "reviewer", "description": "Reviews\nchanges"}
    host.open("s1", cwd="/code/app", agents=[reviewer, {"name": "bare", "tools": []}])
    host.open("s2", cwd="/code/other", agents=[{"name": "else"}])

    def named() -> list[Json]:
        tower.hear()
        (answer,) = tower.ask({"type": "agents.read", "id": "a", "folder": "/code/app"})
        assert (answer["type"], answer["id"]) == ("agents.list", "a")
        found: list[Json] = answer["agents"]
        return found

    assert named() == [
        {"name": "bare"},
        {"name": "reviewer", "description": "Reviews ⏎ changes"},
    ]
    host.say(type="session.update", sessionId="s1", agents=[{"name": "new"}])
    assert named() == [{"name": "new"}]
