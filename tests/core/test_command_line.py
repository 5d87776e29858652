"""Who may answer from the command line: the person, and nobody below a session or a provider."""

from typing import Any

import pytest

from tapui.settings import Answering, Settings
from tapui.wire import limits
from tapui.wire.subjects import Asker, Program
from tests.core.harness import Conversation, Peer

CLI, PROVIDER = 3000, 5000
SHELL = Program(4020, "zsh")


@pytest.fixture
def talk() -> Conversation:
    return Conversation()


def asked(talk: Conversation, *, pid: int | None = CLI) -> Peer:
    """Return a host whose session asks to run a command."""
    host = talk.host()
    session: dict[str, Any] = {"id": "s1", "label": "notes", "cwd": "/"}
    if pid is not None:
        session["pid"] = pid
    host.say(type="session.open", session=session)
    host.say(type="approval.request", id="r1", sessionId="s1", kind="permission", detail={})
    host.hear()
    return host


def decide(tower: Peer) -> None:
    tower.say(type="approval.decide", approvalId="a-1", decision="approve")


def below(*line: Program, terminal: str | None = "/dev/pts/3") -> Asker:
    return Asker(4711, "tapui", [*line, Program(1, "init")], terminal)


def test_a_command_that_the_person_typed_is_taken_and_recorded(talk: Conversation) -> None:
    host = asked(talk)
    decide(talk.tower(role="client", name="tapui approve"))
    assert host.hear_one("approval.answer")["decision"] == "approve"
    (told,) = talk.events("command.asked")
    assert (told["command"], told["wanted"]) == ("tapui approve", "approval.decide")
    assert told["approvalId"] == "a-1"
    assert told["asker"]["pid"] == 4711
    assert [one["name"] for one in told["asker"]["ancestors"]] == ["zsh", "tmux"]
    assert "refused" not in told


@pytest.mark.parametrize(
    ("asker", "why"),
    [
        (below(SHELL, Program(CLI, "node")), "was started by session 'notes' (process 3000)"),
        (Asker(CLI, "node", [], "/dev/pts/3"), "was started by session 'notes'"),
        (below(SHELL, Program(PROVIDER, "node")), "started by provider 'ci' (process 5000)"),
        (below(SHELL, terminal=None), "process 4711 has no terminal"),
        (None, "it cannot be told which process asks"),
    ],
)
def test_a_command_of_a_session_a_provider_or_nobody_is_refused(
    talk: Conversation, asker: Asker | None, why: str
) -> None:
    host = asked(talk)
    provider = talk.provider(name="ci")
    tower, command = talk.tower(), talk.tower(role="client", name="tapui approve")
    tower.hear()
    talk.asker, talk.holders = asker, {provider.number: PROVIDER}
    error = command.error(type="approval.decide", approvalId="a-1", decision="approve")
    assert (error["code"], error["replyTo"]) == ("UNAUTHORIZED", "approval.decide")
    assert why in error["message"]
    (told,) = talk.events("command.asked")
    assert why in told["refused"]
    assert host.hear() == []
    talk.asker = below(SHELL)
    decide(command)
    assert host.hear_one("approval.answer")["decision"] == "approve"


@pytest.mark.parametrize("hello", [{"role": "client"}, {}], ids=["command", "tower"])
def test_what_an_emitter_started_decides_nothing(talk: Conversation, hello: dict[str, str]) -> None:
    host = asked(talk)
    asker = talk.tower(name="tapui approve", **hello)
    talk.emitters_pid = 6000
    talk.asker = below(SHELL, Program(6000, "python"))
    error = asker.error(type="approval.decide", approvalId="a-1", decision="approve")
    assert "process 4711 was started by an emitter" in error["message"]
    assert host.hear() == []
    talk.asker = below(SHELL)
    decide(asker)
    assert host.hear_one("approval.answer")["decision"] == "approve"


@pytest.mark.parametrize(
    "message",
    [
        {"type": "approval.reveal", "approvalId": "a-1"},
        {"type": "session.mode", "sessionId": "s1", "mode": "plan"},
        {"type": "session.tell", "id": "t1", "sessionId": "s1", "text": "hello", "when": "now"},
        {"type": "session.stop", "id": "t1", "sessionId": "s1"},
        {"type": "session.compact", "id": "t1", "sessionId": "s1"},
        {"type": "session.set", "id": "t1", "sessionId": "s1", "what": "model", "value": "m"},
    ],
    ids=lambda message: message["type"],
)
def test_whatever_answers_or_sends_is_guarded(talk: Conversation, message: dict[str, str]) -> None:
    asked(talk)
    command = talk.tower(role="client")
    talk.asker = below(Program(CLI, "node"))
    assert command.error(message)["code"] == "UNAUTHORIZED"


def test_a_tower_is_asked_only_whether_a_session_started_it(talk: Conversation) -> None:
    host = asked(talk)
    tower = talk.tower()
    talk.asker = below(Program(CLI, "node"))
    error = tower.error(type="approval.decide", approvalId="a-1", decision="approve")
    assert "was started by session 'notes'" in error["message"]
    talk.asker = None
    decide(tower)
    assert host.hear_one("approval.answer")["decision"] == "approve"
    (told,) = talk.events("command.asked")
    assert "was started by session 'notes'" in told["refused"]


def test_where_no_process_is_known_towers_are_not_looked_at(talk: Conversation) -> None:
    host = asked(talk, pid=None)
    decide(talk.tower())
    assert host.hear_one("approval.answer")["decision"] == "approve"
    assert talk.asked_for == []


def test_the_setting_lets_everybody_answer() -> None:
    talk = Conversation(settings=Settings(approvals=Answering(command_line="always")))
    host = asked(talk)
    talk.asker = None
    decide(talk.tower(role="client"))
    assert host.hear_one("approval.answer")["decision"] == "approve"
    assert talk.asked_for == []


def test_who_left_before_it_was_known_decides_nothing(talk: Conversation) -> None:
    host = asked(talk)
    command = talk.tower(role="client")
    talk.finds_askers = False
    decide(command)
    (held,) = talk.asked_for
    command.drop()
    talk.found(held)
    assert host.hear() == []
    assert talk.events("command.asked") == []


def test_one_look_is_for_all_that_a_command_wants_and_only_so_much_waits(
    talk: Conversation,
) -> None:
    host = asked(talk)
    command = talk.tower(role="client")
    talk.finds_askers = False
    decide(command)
    for _ in range(limits.MAX_HELD_ANSWERS - 1):
        command.say(type="approval.decide", approvalId="gone", decision="deny")
    error = command.error(type="approval.decide", approvalId="a-1", decision="deny")
    assert error["code"] == "RATE_LIMITED"
    (look,) = talk.asked_for
    talk.found(look)
    assert host.hear_one("approval.answer")["decision"] == "approve"
    codes = [one["code"] for one in command.hear() if one["type"] == "error"]
    assert codes == ["UNKNOWN_APPROVAL"] * (limits.MAX_HELD_ANSWERS - 1)
    decide(command)
    assert len(talk.asked_for) == 2
