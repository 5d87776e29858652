"""What is wrong in a folder's file is known for as long as it is wrong."""

from tapui.projection.state import State
from tapui.wire.emitters import FileProblem
from tests.core.harness import Conversation, Json, Peer
from tests.core.runner import EmitterShell, entry

WRONG = FileProblem(
    file="/repo/tap.config.json",
    line=3,
    key="emitters[1].command",
    name="pulse",
    text="it must be a text",
)
LINE = "/repo/tap.config.json:3: emitters[1].command “pulse”: it must be a text"


def known(talk: Conversation) -> list[str]:
    state = talk.gateway.state
    assert State.of(state.snapshot()).folder_problems == state.folder_problems
    return [str(one) for one in state.folder_problems.get("/repo", [])]


def told(host: Peer) -> list[Json]:
    return [one for one in host.hear_of("session.log") if "tap.config.json" in one["message"]]


def test_it_is_in_the_state_until_it_is_mended(
    talk: Conversation, shell: EmitterShell, host: Peer
) -> None:
    shell.problems = (WRONG,)
    host.open("s1", cwd="/repo")
    assert known(talk) == [LINE]
    (found,) = talk.tower().ack["state"]["folderProblems"]
    assert (found["folder"], found["problems"][0]["name"]) == ("/repo", "pulse")
    shell.problems = ()
    shell.write("/repo", entry())
    assert known(talk) == []
    assert [len(one.get("problems", [])) for one in talk.events("emitter.problems")] == [1, 0]


def test_it_is_gone_with_the_last_session_of_the_folder(
    talk: Conversation, shell: EmitterShell, host: Peer
) -> None:
    shell.problems = (WRONG,)
    shell.is_readable = False
    host.open("s1", cwd="/repo")
    host.open("s2", cwd="/repo")
    host.say(type="session.close", sessionId="s1")
    assert known(talk) == [LINE]
    host.say(type="session.close", sessionId="s2")
    assert known(talk) == []


def test_each_session_of_the_folder_is_told_once(shell: EmitterShell, host: Peer) -> None:
    host.open("s1", cwd="/repo")
    shell.problems = (WRONG,)
    shell.write("/repo")
    shell.write("/repo")
    host.say(type="session.open", session={"id": "s2", "label": "s2", "cwd": "/repo"})
    assert [(one["sessionId"], one["message"]) for one in told(host)] == [
        ("s1", f"※ tap: {LINE}"),
        ("s2", f"※ tap: {LINE}"),
    ]


def test_many_are_counted(shell: EmitterShell, host: Peer) -> None:
    host.open("s1", cwd="/repo")
    shell.problems = (WRONG,) * 20
    shell.write("/repo")
    said = [one["message"] for one in host.hear_of("session.log")]
    assert said == [f"※ tap: {LINE}"] * 5 + ["※ tap: 15 more problems in the file of /repo"]
