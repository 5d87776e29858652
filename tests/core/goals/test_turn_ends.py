"""The end of a turn: its host is answered at once, by the rules that there are."""

from tapui.core.goals.turn_ends import Answer, TurnEnds
from tapui.core.model import OpenSession
from tapui.wire import limits
from tapui.wire.host import TurnEnding
from tests.core.conftest import Scene
from tests.core.harness import Json

ENDING: Json = {"type": "turn.ending", "id": "e1", "sessionId": "s1"}
END: Json = {"type": "turn.end", "id": "e1", "decision": "end"}


def turn_ends(scene: Scene) -> TurnEnds:
    return scene.talk.gateway.parts.turn_ends


def test_without_rules_a_turn_ends(scene: Scene) -> None:
    assert scene.host.ask(ENDING) == [END]
    assert scene.host.ask(ENDING | {"agentId": "c1", "message": "done", "active": True}) == [END]
    assert scene.talk.entries == []


def test_a_rule_sends_the_agent_back(scene: Scene) -> None:
    asked: list[tuple[str, TurnEnding]] = []

    def decide(session: OpenSession, ending: TurnEnding, answer: Answer) -> None:
        asked.append((session.id, ending))
        answer(None if ending.active else "pytest has not run")

    turn_ends(scene).decide = decide
    again = END | {"decision": "again", "reason": "pytest has not run"}
    assert scene.host.ask(ENDING | {"message": "all done"}) == [again]
    assert scene.host.ask(ENDING | {"active": True}) == [END]
    assert [(id_, one.message) for id_, one in asked] == [("s1", "all done"), ("s1", None)]


def test_a_later_answer_counts_and_only_the_first(scene: Scene) -> None:
    kept: list[Answer] = []
    turn_ends(scene).decide = lambda _session, _ending, answer: kept.append(answer)
    assert scene.host.ask(ENDING) == []
    kept[0]("x" * (limits.MAX_NOTE + 1))
    kept[0](None)
    scene.talk.turn()
    (heard,) = scene.host.hear()
    assert (heard["decision"], len(heard["reason"])) == ("again", limits.MAX_NOTE)


def test_an_answer_for_a_host_that_is_gone_is_dropped(scene: Scene) -> None:
    kept: list[Answer] = []
    turn_ends(scene).decide = lambda _session, _ending, answer: kept.append(answer)
    scene.host.say(ENDING)
    scene.host.drop()
    kept[0]("more")
    scene.talk.turn()


def test_another_hosts_session_is_none(scene: Scene) -> None:
    error = scene.talk.host().error(ENDING)
    assert (error["code"], error["id"]) == ("INVALID_SESSION", "e1")


def test_last_words_are_bounded(scene: Scene) -> None:
    error = scene.host.error(ENDING | {"message": "x" * (limits.MAX_NOTE + 1)})
    assert error["code"] == "INVALID_JSON"
