"""Budgets: once one is used up, the next prompt waits for the person."""

from collections.abc import Callable
from typing import Any

import pytest

from tapui.core.approvals.spending import GO_ON, RAISE
from tapui.settings.settings import Settings, Spend
from tests.core.approvals.test_policies import approvals, decides
from tests.core.harness import Conversation, Json, Peer
from tests.core.sessions.test_starts import opens, start, starter

Began = Callable[..., tuple[Conversation, Peer, Peer]]


@pytest.fixture
def began() -> Began:
    """Return how a host with session `s1` and a tower begin, where sessions may use so much."""

    def begin(**budget: Any) -> tuple[Conversation, Peer, Peer]:
        talk = Conversation(Settings(budget=Spend(**budget)))
        host = talk.host()
        host.open("s1")
        tower = talk.tower()
        talk.wait(1)
        host.hear()
        return talk, host, tower

    return begin


def uses(host: Peer, tokens: int = 0, requests: float = 0.0) -> None:
    models = [{"model": "m", "calls": 1, "inputTokens": tokens, "requests": requests}]
    host.event("s1", "session.usage", models=models)


def submits(host: Peer, id_: str = "q1") -> list[Json]:
    host.hear()
    host.say(type="prompt.submitted", id=id_, sessionId="s1", prompt="go\non")
    return host.hear()


def kinds(messages: list[Json]) -> list[str]:
    return [one["type"] for one in messages]


def test_without_a_budget_nothing_waits(began: Began) -> None:
    _talk, host, _tower = began()
    uses(host, 10**9, 10**6)
    assert kinds(submits(host)) == ["prompt.prepared"]


@pytest.mark.parametrize(
    ("budget", "used", "is_over"),
    [
        ({"tokens": 100}, {"tokens": 99}, False),
        ({"tokens": 100}, {"tokens": 100}, True),
        ({"requests": 2.5}, {"tokens": 10**9, "requests": 2.0}, False),
        ({"requests": 2.5}, {"requests": 2.5}, True),
        ({"tokens": 100, "requests": 5}, {"tokens": 1, "requests": 5}, True),
    ],
)
def test_a_prompt_waits_once_the_budget_is_used_up(
    began: Began, budget: dict[str, Any], used: dict[str, Any], is_over: bool
) -> None:
    talk, host, _tower = began(**budget)
    uses(host, **used)
    answered = kinds(submits(host))
    assert answered == (["session.log", "prompt.held"] if is_over else ["prompt.prepared"])
    assert len(approvals(talk)) == is_over


def test_sections_of_the_system_prompt_do_not_wait_for_the_budget(began: Began) -> None:
    talk, host, _tower = began(tokens=100)
    uses(host, 100)
    told = {"id": "q1", "sessionId": "s1", "prompt": "", "sections": {"tone": "Be calm."}}
    host.say(type="prompt.submitted", onlySections=True, **told)
    assert host.hear_one("prompt.prepared")["sections"] == {"tone": "Be calm."}
    assert approvals(talk) == []


def test_the_question_says_how_much_was_used_and_what_waits(began: Began) -> None:
    talk, host, _tower = began(tokens=1_000)
    uses(host, 12_345)
    logged, _held = submits(host)
    assert "(12,345 of 1,000 tokens)" in logged["message"]
    (asked,) = approvals(talk)
    assert asked["kind"] == "userInput"
    assert asked["detail"]["question"].startswith("The budget is used up (12,345 of 1,000 tokens)")
    assert "Send this prompt? go" in asked["detail"]["question"]
    assert asked["detail"]["choices"] == [GO_ON, RAISE]


def test_going_on_once_asks_again_for_the_next(began: Began) -> None:
    talk, host, tower = began(tokens=100)
    uses(host, 100)
    submits(host)
    decides(tower, approvals(talk)[-1], answer=GO_ON)
    assert host.hear_one("prompt.prepared")["id"] == "q1"
    assert kinds(submits(host, "q2")) == ["session.log", "prompt.held"]


def test_raising_lets_as_much_again_be_used(began: Began) -> None:
    talk, host, tower = began(tokens=100, requests=3.0)
    uses(host, 130, 1.0)
    submits(host)
    decides(tower, approvals(talk)[-1], answer=RAISE)
    assert "refused" not in host.hear_one("prompt.prepared")
    budget = talk.gateway.state.sessions["s1"].budget
    assert budget is not None
    assert (budget.tokens, budget.requests) == (230, 6.0)
    uses(host, 229, 5.0)
    assert kinds(submits(host, "q2")) == ["prompt.prepared"]
    uses(host, 230, 5.0)
    assert kinds(submits(host, "q3")) == ["session.log", "prompt.held"]


@pytest.mark.parametrize(
    ("decision", "more"),
    [("deny", {}), ("deny", {"answer": GO_ON}), ("deny", {"reason": "enough for today"})],
)
def test_a_no_refuses_the_prompt_and_says_what_to_do(
    began: Began, decision: str, more: dict[str, Any]
) -> None:
    talk, host, tower = began(tokens=100)
    uses(host, 100)
    submits(host)
    decides(tower, approvals(talk)[-1], decision, **more)
    refused = host.hear_one("prompt.prepared")["refused"]
    assert refused.startswith("the budget of this session is used up (100 of 100 tokens), and ")
    assert refused.endswith("↑ brings the prompt back")
    assert ("enough for today" in refused) == ("reason" in more)


def test_where_nobody_is_asked_the_prompt_is_refused_at_once() -> None:
    talk = Conversation(Settings(budget=Spend(tokens=100)))
    host, command = starter(talk), talk.tower(name="tapui run")
    start(command, unattended=True)
    opens(host, host.hear_one("session.start"))
    host.event("s9", "session.usage", models=[{"model": "m", "inputTokens": 100}])
    host.hear()
    host.say(type="prompt.submitted", id="q1", sessionId="s9", prompt="go")
    assert "nobody is asked" in host.hear_one("prompt.prepared")["refused"]
    (decided,) = talk.events("approval.decided")
    assert (decided["approval"]["state"], decided["approval"]["decidedBy"]) == ("denied", "nobody")


def test_prompts_that_wait_together_get_one_answer(began: Began) -> None:
    talk, host, tower = began(tokens=100)
    uses(host, 100)
    submits(host)
    assert kinds(submits(host, "q2")) == ["prompt.held"]
    (asked,) = approvals(talk)
    decides(tower, asked, answer=GO_ON)
    assert [one["id"] for one in host.hear_of("prompt.prepared")] == ["q1", "q2"]


def test_an_answer_that_cannot_be_recorded_refuses(began: Began) -> None:
    talk, host, tower = began(tokens=100)
    uses(host, 100)
    submits(host)
    talk.records = "refused"
    decides(tower, approvals(talk)[-1], answer=GO_ON)
    assert "could not be recorded" in host.hear_one("prompt.prepared")["refused"]


def test_nobody_answers(began: Began) -> None:
    talk, host, _tower = began(tokens=100)
    uses(host, 100)
    submits(host)
    talk.wait(24 * 3600 + 1)
    assert "nobody answered" in host.hear_one("prompt.prepared")["refused"]


def test_a_stopped_turn_takes_its_question_along(began: Began) -> None:
    talk, host, _tower = began(tokens=100)
    uses(host, 100)
    submits(host)
    host.event("s1", "abort")
    assert "stopped" in host.hear_one("prompt.prepared")["refused"]
    assert [one["approval"]["state"] for one in talk.events("approval.withdrawn")] == ["withdrawn"]


@pytest.mark.parametrize("end", ["close", "leave", "replace"])
def test_what_waits_ends_with_its_session(began: Began, end: str) -> None:
    talk, host, tower = began(tokens=100)
    uses(host, 100)
    submits(host)
    if end == "close":
        host.say(type="session.close", sessionId="s1")
    elif end == "replace":
        host.open("s2", replaces="s1")
    else:
        host.drop()
    assert [one["approval"]["state"] for one in talk.events("approval.withdrawn")] == ["withdrawn"]
    (error,) = decides(tower, approvals(talk)[-1], answer=GO_ON)
    assert error["code"] == "UNKNOWN_APPROVAL"


def test_the_person_sets_the_budget_of_a_session(began: Began) -> None:
    talk, host, tower = began()
    uses(host, 100, 2.0)
    tower.say(type="session.budget", sessionId="s1", tokens=50)
    assert kinds(submits(host)) == ["session.log", "prompt.held"]
    decides(tower, approvals(talk)[-1], answer=GO_ON)
    tower.say(type="session.budget", sessionId="s1", requests=2.5)
    assert kinds(submits(host, "q2")) == ["prompt.prepared"]
    tower.say(type="session.budget", sessionId="s1")
    assert talk.gateway.state.sessions["s1"].budget is None
    error = tower.error(type="session.budget", sessionId="nowhere")
    assert error["code"] == "INVALID_SESSION"


@pytest.mark.parametrize("value", [0, -1, 2**60])
@pytest.mark.parametrize("name", ["tokens", "requests"])
def test_what_is_no_amount_is_refused(began: Began, name: str, value: int) -> None:
    talk, _host, tower = began(tokens=7)
    error = tower.error({"type": "session.budget", "sessionId": "s1", name: value})
    assert (error["code"], error["message"].partition(":")[0]) == ("INVALID_JSON", name)
    budget = talk.gateway.state.sessions["s1"].budget
    assert budget is not None
    assert budget.tokens == 7
