"""Questions of parts: opened, and told of once, however they end."""

from typing import Any

import pytest

from tapui.core.approvals.part_questions import NOBODY_IS_ASKED, PartQuestion
from tapui.wire import limits
from tests.core.conftest import Scene
from tests.core.harness import Conversation, Json


def ask(talk: Conversation, id_: str = "q1", **more: Any) -> str | None:
    given: dict[str, Any] = {"kind": "mcpServer", "detail": {"name": "files"}, "session_id": "s1"}
    question = PartQuestion(id=id_, **{**given, **more})
    approval = talk.tell(talk.gateway.part_questions.ask, question)
    talk.turn()
    return approval


def ends(talk: Conversation) -> list[tuple[str, str, Any, str | None]]:
    return [(one.question, one.outcome, one.answer, one.reason) for one in talk.answers]


def decide(scene: Scene, approval: str | None, decision: str, **more: Any) -> None:
    scene.tower.say(type="approval.decide", approvalId=approval, decision=decision, **more)


def test_the_answer_comes_once_it_is_recorded(scene: Scene) -> None:
    talk = scene.talk
    approval = ask(talk)
    requested: Json = talk.events("approval.requested")[0]["approval"]
    assert (requested["kind"], requested["sessionId"]) == ("mcpServer", "s1")
    talk.records = "held"
    decide(scene, approval, "approve", answer={"laterVersions": True})
    assert not talk.answers
    talk.recorded()
    assert ends(talk) == [("q1", "approved", {"laterVersions": True}, None)]
    second = ask(talk, "q2", session_id=None, kind="elicitation", provider="files")
    decide(scene, second, "deny", reason="no")
    talk.recorded()
    assert ends(talk)[1:] == [("q2", "denied", None, "no")]


def test_a_decision_that_cannot_be_recorded_denies(scene: Scene) -> None:
    scene.talk.records = "refused"
    decide(scene, ask(scene.talk), "approve")
    ((_, outcome, answer, reason),) = ends(scene.talk)
    assert (outcome, answer) == ("denied", None)
    assert reason is not None
    assert "recorded" in reason


def test_nobody_answers_in_time(scene: Scene) -> None:
    ask(scene.talk, timeout=30)
    scene.talk.wait(29)
    assert not scene.talk.answers
    scene.talk.wait(1)
    assert ends(scene.talk) == [("q1", "expired", None, "nobody decided in time")]


def test_the_session_ends(scene: Scene) -> None:
    ask(scene.talk)
    scene.host.say(type="session.close", sessionId="s1")
    assert ends(scene.talk) == [("q1", "withdrawn", None, "the session ended")]
    assert scene.talk.events("approval.withdrawn")
    ask(scene.talk, "q2")
    assert ends(scene.talk)[1:] == [("q2", "withdrawn", None, "the session ended")]


@pytest.mark.parametrize("is_deciding", [False, True])
def test_what_is_withdrawn_has_no_answer(scene: Scene, is_deciding: bool) -> None:
    talk = scene.talk
    approval = ask(talk)
    if is_deciding:
        talk.records = "held"
        decide(scene, approval, "approve")
    talk.tell(talk.gateway.part_questions.withdraw, "q1", "it has changed")
    talk.tell(talk.gateway.part_questions.withdraw, "q1", "again")
    talk.turn()
    talk.recorded()
    assert not talk.answers
    withdrawn = [one["approval"]["reason"] for one in talk.events("approval.withdrawn")]
    assert withdrawn == ([] if is_deciding else ["it has changed"])


def test_in_an_unattended_session_nobody_is_asked(scene: Scene) -> None:
    session = scene.talk.gateway.parts.sessions.required("s1")
    scene.talk.gateway.parts.sessions.update(session, unattended=True)
    assert ask(scene.talk) is None
    assert ends(scene.talk) == [("q1", "denied", None, NOBODY_IS_ASKED)]


def test_there_are_bounds(scene: Scene) -> None:
    for number in range(limits.MAX_REQUESTS):
        assert ask(scene.talk, f"q{number}") is not None
    assert ask(scene.talk, "more") is None
    ((question, outcome, _, reason),) = ends(scene.talk)
    assert (question, outcome) == ("more", "denied")
    assert reason is not None
    assert str(limits.MAX_REQUESTS) in reason
