"""Ends in this process: what each may do is said when it is opened, as a token says it."""

from collections.abc import Callable
from typing import Any

import pytest

from tapui.core.trust.grants import Grant
from tapui.wire import limits
from tapui.wire.errors import ErrorCode
from tapui.wire.message import Error, Level, Message
from tapui.wire.provider import (
    Hello,
    HelloAck,
    Push,
    Sessions,
    SessionsUpdated,
    StreamHistory,
    StreamQuery,
)
from tests.core.conftest import Scene
from tests.core.harness import Conversation, InProcessEnd


class Provider:
    """A provider in the gateway's process; `heard` is what it was told."""

    def __init__(self, talk: Conversation, grant: Grant | None = None) -> None:
        self._talk = talk
        self.heard: list[Message] = []
        self.end = InProcessEnd(talk, self.heard.append, grant)
        talk.turn()

    def ask(self, message: Message) -> list[Message]:
        """Say something; return what it is told at once."""
        self.heard.clear()
        self.end.send(message)
        self._talk.turn()
        return list(self.heard)

    def error(self, message: Message) -> Error:
        """Say something that is refused."""
        (answer,) = self.ask(message)
        assert isinstance(answer, Error)
        return answer

    def bind(self, session: str = "s1") -> "Provider":
        answers = self.ask(Hello("watcher", 2, session=session, tools=[]))
        assert isinstance(answers[0], HelloAck), answers
        return self

    def push(self, level: Level = "keep", event: str = "a line") -> list[Message]:
        return self.ask(Push(level=level, event=event))


def project() -> Grant:
    return Grant("project")


def to_one_session() -> Grant:
    return Grant("project", sessions={"s1"})


def seen(provider: Provider) -> list[str]:
    """Return the sessions that a provider was told last."""
    (told,) = [one for one in provider.heard if isinstance(one, Sessions | SessionsUpdated)][-1:]
    return [session.id for session in told.active]


def test_an_end_without_a_grant_is_internal(scene: Scene) -> None:
    scene.provider.push("theirs")
    provider = Provider(scene.talk).bind()
    (history,) = provider.ask(StreamQuery("q1", ["greeter@greeter"]))
    assert isinstance(history, StreamHistory)
    assert [line.event for line in history.streams["greeter@greeter"]] == ["theirs"]
    assert scene.talk.events("provider.bound")[-1]["provider"]["trust"] == "internal"


def test_a_project_provider_in_process_may_do_what_a_project_token_allows(scene: Scene) -> None:
    provider = Provider(scene.talk, project()).bind()
    assert provider.error(StreamQuery("q1", ["greeter@greeter"])).code == ErrorCode.UNAUTHORIZED
    assert scene.talk.events("provider.bound")[-1]["provider"]["trust"] == "project"


def test_a_project_provider_in_process_asks_the_person_for_all_sessions(scene: Scene) -> None:
    provider = Provider(scene.talk, project())
    error = provider.error(Hello("watcher", 2, session="all", tools=[]))
    assert error.code == ErrorCode.UNAUTHORIZED
    assert [one["approval"]["kind"] for one in scene.talk.events("approval.requested")] == [
        "bindAll"
    ]


def test_a_grant_for_one_session_shows_no_other(scene: Scene) -> None:
    scene.host.open("s2")
    provider = Provider(scene.talk, to_one_session())
    assert seen(provider) == ["s1"]
    assert provider.error(Hello("w", 2, session="s2", tools=[])).code == ErrorCode.INVALID_SESSION
    provider.bind("s1")


def test_a_grant_follows_its_session_when_it_is_replaced(scene: Scene) -> None:
    given = to_one_session()
    provider = Provider(scene.talk, given)
    scene.host.open("s2", replaces="s1")
    assert seen(provider) == ["s2"]
    assert given.sessions == {"s1"}, "the connection has a grant of its own"


def test_a_grant_ends_with_its_session(scene: Scene) -> None:
    provider = Provider(scene.talk, to_one_session())
    scene.host.say(type="session.close", sessionId="s1")
    scene.host.open("s1")
    assert seen(provider) == []


def test_a_grant_goes_with_its_connection(scene: Scene) -> None:
    known = len(scene.talk.gateway.parts.trustees.grants)
    provider = Provider(scene.talk, to_one_session())
    provider.end.close()
    scene.talk.turn()
    assert len(scene.talk.gateway.parts.trustees.grants) == known


# Pushes: one path, with a budget where the grant asks for one


def test_pushes_in_process_have_the_budget_of_any_provider(scene: Scene) -> None:
    provider = Provider(scene.talk, project()).bind()
    for _ in range(limits.PUSHES_PER_SECOND):
        assert provider.push("surface") == []
    (error,) = provider.push("surface")
    assert isinstance(error, Error)
    assert error.code == ErrorCode.RATE_LIMITED


def lines_of(scene: Scene) -> list[tuple[str, int]]:
    return [(one["line"]["event"], one.get("dropped", 0)) for one in posted(scene)]


def posted(scene: Scene) -> list[dict[str, Any]]:
    return scene.talk.events("stream.posted")


def test_what_is_only_kept_has_a_budget_of_its_own(scene: Scene) -> None:
    provider = Provider(scene.talk, project()).bind()
    for _ in range(limits.KEPT_PER_SECOND):
        assert provider.push() == []
    (error,) = provider.push()
    assert isinstance(error, Error)
    assert error.code == ErrorCode.RATE_LIMITED


def test_a_stream_says_once_a_second_how_many_of_its_lines_were_dropped(scene: Scene) -> None:
    provider = Provider(scene.talk, project()).bind()
    for _ in range(limits.PUSHES_PER_SECOND + 3):
        provider.push("surface")
    assert len(posted(scene)) == limits.PUSHES_PER_SECOND
    scene.talk.wait(0.9)
    assert len(posted(scene)) == limits.PUSHES_PER_SECOND
    scene.talk.wait(0.2)
    assert lines_of(scene)[-1] == ("3 dropped, faster than 10 a second", 3)
    (stream,) = scene.talk.gateway.state.streams.values()
    assert (stream.dropped, stream.count) == (3, limits.PUSHES_PER_SECOND + 1)
    scene.talk.wait(5)
    assert len(posted(scene)) == limits.PUSHES_PER_SECOND + 1


def test_what_a_provider_dropped_itself_is_told_in_its_stream(scene: Scene) -> None:
    provider = Provider(scene.talk, project()).bind()
    provider.ask(Push("keep", event="newest", stream="log", dropped=49_500))
    scene.talk.wait(1.1)
    assert lines_of(scene) == [("newest", 0), ("49,500 dropped, faster than 10 a second", 49_500)]


def test_drops_are_told_also_while_their_session_ends(scene: Scene) -> None:
    provider = Provider(scene.talk, project()).bind()
    for _ in range(limits.PUSHES_PER_SECOND + 1):
        provider.push("surface")
    scene.host.say(type="session.close", sessionId="s1")
    provider.end.close()
    scene.talk.turn()
    scene.talk.wait(20)
    assert lines_of(scene)[-1] == ("1 dropped, faster than 10 a second", 1)


def test_a_grant_without_a_budget_has_neither_limit_nor_brake(scene: Scene) -> None:
    provider = Provider(scene.talk, Grant("project", is_budgeted=False)).bind()
    for _ in range(limits.PUSHES_PER_SECOND * 3):
        assert provider.push() == []
    for _ in range(limits.MAX_INJECT_CYCLES * 2):
        assert provider.push("inject", "go on") == []
        assert scene.host.hear_one("session.send")["prompt"] == "go on"
        scene.host.event("s1", "session.busy")
        scene.host.event("s1", "session.idle")
    assert scene.talk.events("inject.paused") == []


@pytest.mark.parametrize("grant", [project, lambda: Grant("project", is_budgeted=False)])
def test_injects_that_wait_are_bounded_for_everybody(
    scene: Scene, grant: Callable[[], Grant]
) -> None:
    provider = Provider(scene.talk, grant()).bind()
    scene.host.event("s1", "session.busy")
    for _ in range(limits.MAX_HELD_INJECTS):
        assert provider.push("inject") == []
        scene.talk.wait(1)
    (error,) = provider.push("inject")
    assert isinstance(error, Error)
    assert error.code == ErrorCode.RATE_LIMITED


def test_the_built_in_tools_take_the_same_path_without_a_budget(scene: Scene) -> None:
    scene.talk.tools()
    for number in range(limits.PUSHES_PER_SECOND * 2):
        posted = {"stream": "notes", "message": f"line {number}", "level": "surface"}
        scene.host.invoke("s1", "tap_post", id_=f"i{number}", args=posted)
    logs = [one["message"] for one in scene.host.hear_of("session.log")]
    assert logs == [f"notes@tap: line {number}" for number in range(20)]
    shown = scene.talk.events("stream.posted")
    assert [one["stream"] for one in shown] == ["notes@tap"] * 20
    assert not any("providerId" in one for one in shown)


def test_the_built_in_tools_cannot_fill_a_busy_session(scene: Scene) -> None:
    scene.talk.tools()
    scene.host.event("s1", "session.busy")
    outcomes = []
    for number in range(limits.MAX_HELD_INJECTS + 1):
        posted = {"stream": "notes", "message": f"line {number}", "level": "inject"}
        scene.host.invoke("s1", "tap_post", id_=f"i{number}", args=posted)
        outcomes.append(scene.host.hear_one("tool.outcome"))
    assert all("data" in one for one in outcomes[:-1])
    assert str(limits.MAX_HELD_INJECTS) in outcomes[-1]["error"]
    assert scene.talk.events("provider.updated") == [], "towers are not shown the built-in one"
