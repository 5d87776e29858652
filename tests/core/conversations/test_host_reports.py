"""What a host reports beside its sessions' events: notices, prompts that were not sent, agents."""

from tests.core.conftest import Scene
from tests.core.harness import Conversation, Json, tool


def sent(scene: Scene) -> list[str]:
    return [one["prompt"] for one in scene.host.hear_of("session.send")]


def test_a_notice_reaches_every_tower_and_nobody_else(scene: Scene) -> None:
    second = scene.talk.tower()
    for one in (scene.tower, scene.provider, scene.host, second):
        one.hear()
    scene.host.say(type="host.notice", message="the CLI does not answer", level="warning")
    notice = {"type": "tower.notice", "message": "the CLI does not answer", "level": "warning"}
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


def test_a_report_about_anothers_session_is_refused(scene: Scene, talk: Conversation) -> None:
    other = talk.host("other")
    other.say(type="session.sent", sessionId="s1", ok=False)
    assert other.hear_one("error")["code"] == "INVALID_SESSION"


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
