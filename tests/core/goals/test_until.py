"""A goal that a session is started with: open before the prompt, and over with the session."""

import pytest

from tapui.settings.settings import Proving, Settings
from tapui.wire import limits
from tests.core.conftest import Scene
from tests.core.goals.played import RAN, GoalScene
from tests.core.harness import Conversation, Json
from tests.core.sessions.test_starts import starter

PASSED = "2 passed in 0.01s"


class UntilScene(GoalScene):
    """The session `s2`, which `tapui run` has started with a goal; `goal_id` is the goal's."""

    def __init__(self, scene: Scene, **more: object) -> None:
        self.more = {"until": [{"text": "pytest", "check": RAN}], **more}
        self.command = scene.talk.tower(name="tapui run")
        self.goal_id = ""
        super().__init__(scene)

    def open(self) -> None:
        self.command.say({"type": "session.start", "id": "x", "folder": "/code", "prompt": "go",
                          "unattended": True, **self.more})  # fmt: skip
        told = self.host.hear_one("session.start")
        assert "until" not in told
        self.host.open(self.session, start=told["id"], shellTools=["bash"], cwd="/code",
                       reservedTools=["bash"], can=["tell", "close"])  # fmt: skip
        self.host.hear()
        self.host.say(type="session.started", id=told["id"], sessionId=self.session)
        answer = self.command.hear_one("session.started")
        self.goal_id = answer["goalId"]
        assert self.stands(self.goal_id)["status"] == "active"
        assert self.host.hear_one("session.tell")["text"] == "go"


@pytest.fixture
def scene(talk: Conversation) -> Scene:
    return Scene(talk, starter(talk), talk.connect(), talk.tower())


@pytest.fixture
def played(scene: Scene) -> UntilScene:
    return UntilScene(scene)


def test_the_goal_is_the_persons_and_sends_back(played: UntilScene) -> None:
    goal = played.stands(played.goal_id)
    assert (goal["openedBy"], goal["unproven"], goal["title"]) == ("person", "send back", "pytest")


def test_a_claim_without_any_change_is_sent_back_too(played: UntilScene) -> None:
    played.begin()
    answer = played.end_turn(message="it is mended already")
    assert (answer["decision"], "never run" in answer["reason"]) == ("again", True)
    played.run("pytest", 0, PASSED)
    assert played.end_turn(active=True)["decision"] == "end"
    assert played.stands(played.goal_id)["status"] == "achieved"


def test_other_goals_of_the_session_are_about_changes_as_ever(played: UntilScene) -> None:
    played.begin()
    played.run("pytest", 0, PASSED)
    played.goal({**RAN, "command": "mypy"}, unproven="send back")
    assert played.end_turn()["decision"] == "end"


@pytest.mark.parametrize("tries", [1, 5])
def test_it_is_sent_back_as_often_as_the_person_says(scene: Scene, tries: int) -> None:
    played = UntilScene(scene, tries=tries)
    played.begin()
    for _ in range(tries):
        assert played.end_turn()["decision"] == "again"
    told = played.talk.events("goal.sentBack")[-1]
    assert (told["number"], told["most"]) == (tries, tries)
    back = played.stands(played.goal_id)["sentBack"]
    assert (back["times"], back["most"]) == (tries, tries)
    assert played.end_turn()["decision"] == "end"
    assert played.talk.events("approval.requested") == []  # no person is asked in it


@pytest.mark.parametrize("tries", [0, limits.MAX_TRIES + 1, "3"])
def test_a_number_of_tries_has_bounds(talk: Conversation, tries: object) -> None:
    starter(talk)
    wrong = {"type": "session.start", "id": "x", "folder": "/code", "tries": tries}
    error = talk.tower().error(wrong)
    assert (error["code"], "tries" in error["message"]) == ("INVALID_JSON", True)


def test_one_that_is_not_reached_has_failed_with_the_session(played: UntilScene) -> None:
    played.begin()
    played.run("pytest", 1, "1 failed in 0.01s")
    played.end_turn()
    mine = played.goal(RAN)
    played.talk.forget()
    played.host.say(type="session.close", sessionId="s2", reason="ended")
    (closed,) = [one["goal"] for one in played.talk.events("goal.closed")]
    assert (closed["id"], closed["status"]) == (played.goal_id, "failed")
    assert closed["criteria"][0]["verdict"]["reason"] == "exit 1"
    # The session goes on later: the person's other goal is open again, and that one is not.
    played.host.open("s2", shellTools=["bash"], reservedTools=["bash"], cwd="/code")
    played.begin()
    states = {one["id"]: one["status"] for one in listed(played)}
    assert states == {played.goal_id: "failed", mine["id"]: "active"}
    assert played.end_turn()["decision"] == "end"


def listed(played: UntilScene) -> list[Json]:
    goals: list[Json] = played.say("goals.read", sessionId="s2")["goals"]
    return goals


def test_where_the_settings_forbid_it_nothing_is_started() -> None:
    talk = Conversation(Settings(proof=Proving(send_back=False)))
    host = starter(talk)
    start = {"type": "session.start", "id": "x", "folder": "/code", "until": [{"check": RAN}]}
    error = talk.tower().error(start)
    assert (error["code"], "proof.send-back" in error["message"]) == ("UNAUTHORIZED", True)
    assert host.hear() == []


def test_a_goal_that_cannot_be_opened_ends_the_session(talk: Conversation) -> None:
    host, tower = starter(talk), talk.tower()
    empty = [{"check": {**RAN, "command": " "}}]
    tower.say(type="session.start", id="x", folder="/code", prompt="go", until=empty)
    told = host.hear_one("session.start")
    host.open("s2", start=told["id"], cwd="/code", can=["tell", "close"])
    host.say(type="session.started", id=told["id"], sessionId="s2", goalId="g-1")
    answer = tower.hear_one("session.started")
    assert (answer.get("sessionId"), answer["problem"]) == (None, "failed")
    assert "command: must not be empty" in answer["error"]
    heard = [one["type"] for one in host.hear()]
    assert ("session.end" in heard, "session.tell" in heard) == (True, False)


def test_a_host_cannot_name_a_goal(talk: Conversation) -> None:
    host, tower = starter(talk), talk.tower()
    tower.say(type="session.start", id="x", folder="/code")
    told = host.hear_one("session.start")
    host.open("s2", start=told["id"], cwd="/code")
    host.say(type="session.started", id=told["id"], sessionId="s2", goalId="g-1")
    assert "goalId" not in tower.hear_one("session.started")
