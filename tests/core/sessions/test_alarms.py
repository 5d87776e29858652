"""Alarms: by a clock that the test turns, and by what fails."""

from collections.abc import Callable
from typing import Any

import pytest

from tapui.settings.settings import Alarming, Settings
from tests.core.approvals.test_policies import approvals, asks, decides
from tests.core.harness import Conversation, Json, Peer

Began = Callable[..., tuple[Conversation, Peer, Peer]]
MINUTE = 60.0
ROUNDED = 424.1
"""A time from which ten minutes, added and taken away again, are a little less."""


@pytest.fixture
def began() -> Began:
    """Return how a host with session `s1` and a tower begin, with settings of alarms."""

    def begin(**alarms: Any) -> tuple[Conversation, Peer, Peer]:
        talk = Conversation(Settings(alarms=Alarming(**alarms)))
        host = talk.host()
        host.open("s1")
        tower = talk.tower()
        talk.wait(1)
        talk.forget()
        return talk, host, tower

    return begin


def raised(talk: Conversation) -> list[Json]:
    return [event["alarm"] for event in talk.events("alarm.raised")]


def cleared(talk: Conversation) -> list[str]:
    return [event["alarm"]["id"] for event in talk.events("alarm.cleared")]


def fails(host: Peer, id_: str, command: str, exit_code: int = 1) -> None:
    about = {"tool": "bash", "toolCallId": id_, "args": {"command": command}}
    host.event("s1", "tool.execution_start", **about)
    result = {"type": "success", "output": ""}
    host.event("s1", "tool.execution_complete", **about, result=result, exitCode=exit_code)


# Waiting


def test_what_waits_for_long_is_an_alarm_until_it_is_answered(began: Began) -> None:
    talk, host, tower = began(waiting=10)
    asks(host)
    (asked,) = approvals(talk)
    talk.wait(10 * MINUTE - 1)
    assert raised(talk) == []
    talk.wait(1)
    (alarm,) = raised(talk)
    assert (alarm["kind"], alarm["sessionId"], alarm["approvalId"], alarm["since"]) == (
        "waiting", "s1", asked["id"], asked["createdAt"],
    )  # fmt: skip
    assert list(talk.gateway.state.alarms) == [alarm["id"]]
    talk.wait(60 * MINUTE)
    assert len(raised(talk)) == 1
    decides(tower, asked)
    assert cleared(talk) == [alarm["id"]]
    assert talk.gateway.state.alarms == {}


@pytest.mark.parametrize("end", ["decide", "withdraw", "close", "drop"])
def test_what_is_over_in_time_is_no_alarm(began: Began, end: str) -> None:
    talk, host, tower = began(waiting=10)
    asks(host)
    talk.wait(9 * MINUTE)
    if end == "decide":
        decides(tower, approvals(talk)[0])
    elif end == "withdraw":
        host.say(type="approval.withdraw", id="r1")
    elif end == "close":
        host.say(type="session.close", sessionId="s1")
    else:
        host.drop()
    talk.wait(60 * MINUTE)
    assert (raised(talk), cleared(talk)) == ([], [])


# Quiet turns


def test_a_turn_without_an_event_is_an_alarm_until_something_happens(began: Began) -> None:
    talk, host, _tower = began(quiet=5)
    host.event("s1", "session.busy")
    talk.wait(4 * MINUTE)
    host.event("s1", "assistant.intent", intent="still here")
    talk.wait(5 * MINUTE - 1)
    assert raised(talk) == []
    talk.wait(1)
    (alarm,) = raised(talk)
    assert (alarm["kind"], alarm["sessionId"]) == ("quiet", "s1")
    talk.wait(60 * MINUTE)
    assert len(raised(talk)) == 1
    host.event("s1", "assistant.message", content="done")
    assert cleared(talk) == [alarm["id"]]
    talk.wait(5 * MINUTE)
    assert len(raised(talk)) == 2
    host.event("s1", "session.idle")
    assert len(cleared(talk)) == 2
    talk.wait(60 * MINUTE)
    assert len(raised(talk)) == 2


def test_a_turn_is_quiet_at_a_time_that_is_rounded(began: Began) -> None:
    talk, host, _tower = began(quiet=10)
    talk.wait(ROUNDED - talk.now)
    assert (ROUNDED + 10 * MINUTE) - ROUNDED < 10 * MINUTE
    host.event("s1", "assistant.turn_start")
    talk.wait(10 * MINUTE)
    assert [one["kind"] for one in raised(talk)] == ["quiet"]


def test_a_turn_that_waits_for_the_person_is_not_quiet(began: Began) -> None:
    talk, host, tower = began(quiet=5, waiting=0)
    host.event("s1", "session.busy")
    asks(host)
    talk.wait(30 * MINUTE)
    assert raised(talk) == []
    decides(tower, approvals(talk)[0])
    talk.wait(5 * MINUTE)
    assert [one["kind"] for one in raised(talk)] == ["quiet"]


def test_a_session_that_rests_or_ends_is_not_quiet(began: Began) -> None:
    talk, host, _tower = began(quiet=5)
    host.event("s1", "session.busy")
    host.event("s1", "session.idle")
    host.open("s2")
    host.event("s2", "session.busy")
    host.say(type="session.close", sessionId="s2")
    talk.wait(60 * MINUTE)
    assert raised(talk) == []


# Failures


def test_a_program_that_fails_three_times_is_an_alarm_until_the_turn_ends(began: Began) -> None:
    talk, host, _tower = began()
    host.event("s1", "user.message", content="go")
    host.event("s1", "session.busy")
    fails(host, "t1", "cd web && pnpm test --bail", 2)
    fails(host, "t2", "ls missing", 2)
    fails(host, "t3", "pnpm test", 1)
    fails(host, "t4", "pnpm build", 1)
    assert raised(talk) == []
    fails(host, "t5", "CI=1 pnpm test")
    fails(host, "t6", "pnpm test -x", 3)
    first, second = raised(talk)
    assert (first["kind"], first["program"], first["exitCode"], first["times"]) == (
        "failing", "pnpm test", 1, 3,
    )  # fmt: skip
    assert (second["id"], second["exitCode"], second["times"]) == (first["id"], 3, 4)
    host.event("s1", "session.idle")
    assert cleared(talk) == [first["id"]]
    host.event("s1", "user.message", content="again")
    host.event("s1", "session.busy")
    fails(host, "t7", "pnpm test")
    assert len(raised(talk)) == 2


# Settings


def test_each_alarm_can_be_switched_off(began: Began) -> None:
    talk, host, _tower = began(waiting=0, quiet=0, failing=False)
    host.event("s1", "session.busy")
    for number in range(5):
        fails(host, f"t{number}", "make")
    asks(host)
    talk.wait(10_000)
    assert raised(talk) == []


def test_nothing_is_left_of_what_is_over(began: Began) -> None:
    talk, host, _tower = began()
    for number in range(5):
        host.open(f"x{number}")
        host.event(f"x{number}", "session.busy")
        asks(host, id_=f"q{number}", session=f"x{number}")
        talk.wait(20 * MINUTE)
        host.say(type="session.close", sessionId=f"x{number}")
    assert talk.gateway.state.alarms == {}
    assert len(raised(talk)) == len(cleared(talk)) > 0


# Contexts


def test_a_context_that_is_nearly_full_is_one_alarm_until_there_is_room(began: Began) -> None:
    talk, host, _ = began()
    for tokens, alarms, ended in (
        (94, 0, 0), (95, 1, 0), (99, 1, 0), (90, 1, 0), (96, 1, 0), (79, 1, 1), (97, 2, 1),
    ):  # fmt: skip
        host.event(
            "s1", "session.context", tokens=tokens * 1_000, limit=200_000, compactsAt=100_000
        )
        assert (len(raised(talk)), len(cleared(talk))) == (alarms, ended), tokens
    first, _ = raised(talk)
    assert (first["kind"], first["sessionId"], first["why"]) == ("context", "s1", "95%")
    host.say(type="session.close", sessionId="s1")
    assert len(cleared(talk)) == 2


def test_a_context_without_a_place_where_it_is_compacted_is_that_of_its_window(
    began: Began,
) -> None:
    talk, host, _ = began()
    host.event("s1", "session.context", tokens=94, limit=100)
    assert raised(talk) == []
    host.event("s1", "session.context", tokens=95, limit=100)
    assert len(raised(talk)) == 1
