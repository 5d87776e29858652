"""Whose emitters are they: the folder's first session's, until that ends, then the next one's."""

import pytest

from tapui.wire import limits
from tests.core.emitters.test_consent import asked
from tests.core.harness import Conversation, Peer
from tests.core.runner import EmitterShell, entry, lines


def begin(shell: EmitterShell, host: Peer, *sessions: str) -> None:
    shell.write("/repo", entry(), allows=True)
    for session in sessions:
        host.open(session, cwd="/repo")
    shell.starts()
    host.hear()


def test_a_folder_is_its_real_path_and_its_file_starts_once(
    shell: EmitterShell, host: Peer
) -> None:
    shell.real["/link"] = "/repo"
    shell.write("/repo", entry(), allows=True)
    host.open("s1", cwd="/link")
    host.open("s2", cwd="/repo")
    assert shell.runs() == 1
    assert (shell.shown().folder, shell.shown().session_id) == ("/repo", "s1")


def test_the_next_session_has_them_with_their_streams(
    talk: Conversation, shell: EmitterShell, host: Peer, tower: Peer
) -> None:
    begin(shell, host, "s1", "s2", "s3")
    shell.says("before")
    host.say(type="session.close", sessionId="s1")
    assert (shell.shown().session_id, shell.shown().state) == ("s2", "running")
    assert shell.stopping == []
    shell.says("after")
    posted = talk.events("stream.posted")
    assert [(one["sessionId"], one["line"]["seq"]) for one in posted] == [
        ("s1", 1),
        ("s1", 2),
        ("s2", 3),
    ]
    tower.say(type="stream.read", id="r", stream="watch@tap", sessionId="s3")
    texts = [one["event"] for one in tower.hear_one("stream.lines")["lines"]]
    assert texts == ["started with command=./watch", "before", "after"]


def test_with_the_last_session_all_stops(
    talk: Conversation, shell: EmitterShell, host: Peer
) -> None:
    begin(shell, host, "s1", "s2")
    run = shell.run_of()
    host.say(type="session.close", sessionId="s1")
    host.say(type="session.close", sessionId="s2")
    assert shell.stopping == [run]
    assert not shell.is_there()
    assert shell.left == ["/repo"]
    (gone,) = talk.events("emitter.gone")
    assert gone["reason"] == "the last session of its folder ended"
    talk.wait(limits.MAX_CALL_TIMEOUT)
    assert shell.runs() == 1


def test_the_next_run_waits_for_the_end_of_one_before(
    talk: Conversation, shell: EmitterShell, host: Peer
) -> None:
    begin(shell, host, "s1")
    host.say(type="session.close", sessionId="s1")
    host.open("s2", cwd="/repo")
    assert (shell.runs(), shell.shown().why) == (1, "the run before is still ending")
    shell.ends(signal="SIGTERM")
    assert (shell.runs(), shell.shown().session_id) == (2, "s2")
    host.say(type="session.close", sessionId="s2")
    host.open("s3", cwd="/repo")
    shell.lost()
    assert shell.runs() == 3


def test_the_host_that_disconnects_ends_them(shell: EmitterShell, host: Peer) -> None:
    begin(shell, host, "s1", "s2")
    host.drop()
    assert len(shell.stopping) == 1
    assert not shell.is_there()


@pytest.mark.parametrize("way", ["at once", "late"])
def test_a_session_that_takes_anothers_place_keeps_all_of_it(
    talk: Conversation, shell: EmitterShell, host: Peer, tower: Peer, way: str
) -> None:
    begin(shell, host, "s1", "s2")
    host.event("s1", "assistant.turn_start")
    shell.says("it failed", outcome="inject")
    if way == "at once":
        host.open("s9", cwd="/repo", replaces="s1")
    else:
        host.say(type="session.open", session={"id": "s9", "label": "", "cwd": "/repo"})
        host.say(type="session.close", sessionId="s1", replacedBy="s9")
    assert (shell.shown().session_id, shell.shown().state) == ("s9", "running")
    assert (shell.runs(), shell.stopping) == (1, [])
    shell.says("goes on")
    tower.say(type="stream.read", id="r", stream="watch@tap", sessionId="s9")
    texts = [one["event"] for one in tower.hear_one("stream.lines")["lines"]]
    assert texts == ["started with command=./watch", "it failed", "goes on"]
    talk.wait(limits.TURN_TIMEOUT)
    assert shell.shown().waiting == 0, "what waited was sent into the new session"
    host.say(type="session.close", sessionId="s2")
    assert shell.shown().state == "running"
    host.say(type="session.close", sessionId="s9")
    assert not shell.is_there()


def test_what_waits_for_a_session_that_ends_waits_for_the_next(
    shell: EmitterShell, host: Peer
) -> None:
    begin(shell, host, "s1", "s2")
    host.event("s1", "assistant.turn_start")
    shell.says("it failed", outcome="inject")
    host.hear()
    host.say(type="session.close", sessionId="s1")
    (message,) = host.hear_of("session.send")
    assert (message["sessionId"], "it failed" in message["prompt"]) == ("s2", True)


def test_towers_see_the_streams_that_the_next_session_has(
    talk: Conversation, shell: EmitterShell, host: Peer
) -> None:
    begin(shell, host, "s1", "s2")
    shell.says("a line")
    host.say(type="session.close", sessionId="s1")
    ((key, stream),) = talk.gateway.state.streams.items()
    assert (key, stream.session_id, stream.count) == (("s2", "watch@tap"), "s2", 2)
    (moved,) = talk.events("stream.moved")
    assert (moved["sessionId"], moved["stream"], moved["former"]) == ("s2", "watch@tap", "s1")
    shell.says("goes on")
    assert talk.gateway.state.streams["s2", "watch@tap"].count == 3


def test_a_prompt_that_was_sent_ends_in_the_session_that_takes_the_others_place(
    talk: Conversation, shell: EmitterShell, host: Peer
) -> None:
    host.open("s1", cwd="/repo")
    shell.write("/repo", entry(kind="oneTime", prompt="Look."), allows=True)
    host.open("s9", cwd="/repo", replaces="s1")
    assert shell.shown().state == "completed"
    posted = [(one["sessionId"], one["line"]["seq"]) for one in talk.events("stream.posted")]
    assert posted == [("s1", 1), ("s9", 2)]
    assert list(talk.gateway.state.streams) == [("s9", "watch@tap")]


@pytest.mark.parametrize("is_sent", [True, False])
def test_a_prompt_of_a_session_that_ends_is_sent_once(
    shell: EmitterShell, host: Peer, is_sent: bool
) -> None:
    host.open("s1", cwd="/repo")
    host.open("s2", cwd="/repo")
    if not is_sent:
        host.event("s1", "assistant.turn_start")
    host.hear()
    shell.write("/repo", entry(kind="oneTime", prompt="Look."), allows=True)
    host.say(type="session.close", sessionId="s1")
    messages = host.hear_of("session.send")
    assert [one["sessionId"] for one in messages] == ["s1" if is_sent else "s2"]
    assert shell.shown().state == ("completed" if is_sent else "running")


def test_the_question_is_asked_for_the_next_session(
    talk: Conversation, shell: EmitterShell, host: Peer, tower: Peer
) -> None:
    shell.write("/repo", entry())
    host.open("s1", cwd="/repo")
    host.open("s2", cwd="/repo")
    first = asked(talk)
    host.say(type="session.close", sessionId="s1")
    second = asked(talk)
    assert (first["sessionId"], second["sessionId"]) == ("s1", "s2")
    host.open("s3", cwd="/repo", replaces="s2")
    third = asked(talk)
    assert third["sessionId"] == "s3"
    tower.say(type="approval.decide", approvalId=third["id"], decision="approve")
    shell.starts()
    assert shell.shown().session_id == "s3"


def test_a_session_that_goes_to_another_folder_leaves_them(shell: EmitterShell, host: Peer) -> None:
    shell.write("/other", entry("other"), allows=True)
    begin(shell, host, "s1", "s2")
    host.say(type="session.update", sessionId="s1", cwd="/other")
    assert shell.shown().session_id == "s2"
    assert shell.shown("other").session_id == "s1"
    host.say(type="session.update", sessionId="s2", cwd="/other")
    assert not shell.is_there()
    assert shell.left == ["/repo"]
    assert shell.runs("other") == 1


def test_a_folder_that_a_session_left_meanwhile_is_not_taken(
    shell: EmitterShell, host: Peer
) -> None:
    from tapui.core.effects import ReadEmitters

    shell.write("/repo", entry(), allows=True)
    shell.holds = (ReadEmitters,)
    host.open("s1", cwd="/repo")
    host.say(type="session.close", sessionId="s1")
    shell.answer()
    assert (shell.started, shell.left) == ([], ["/repo"])


def test_the_local_session_and_those_of_tool_hosts_have_none(
    talk: Conversation, shell: EmitterShell
) -> None:
    shell.write("/here", entry(), allows=True)
    talk.local()
    talk.tool_host().open("mcp-1", cwd="/here")
    assert shell.started == []


def test_a_tool_host_that_stays_keeps_no_emitters_running(
    talk: Conversation, shell: EmitterShell, host: Peer
) -> None:
    begin(shell, host, "s1", "s2")
    door = talk.tool_host()
    door.open("mcp-1", cwd="/repo")
    host.say(type="session.close", sessionId="s1")
    assert (shell.shown().session_id, shell.stopping) == ("s2", [])
    host.say(type="session.close", sessionId="s2")
    assert (shell.stopping, shell.left) == ([shell.run_of()], [])
    shell.ends()
    assert not shell.is_there()
    host.open("s3", cwd="/repo")
    assert (shell.runs(), shell.shown().session_id) == (2, "s3")
    door.say(type="session.close", sessionId="mcp-1")
    host.say(type="session.close", sessionId="s3")
    assert shell.left == ["/repo"]


def test_the_streams_are_listed_and_read_from_the_other_sessions(
    talk: Conversation, shell: EmitterShell, host: Peer
) -> None:
    talk.tools()
    begin(shell, host, "s1", "s2", "s3")
    host.open("s4", cwd="/elsewhere")
    shell.says("hello")
    for session, expected in (("s1", True), ("s2", True), ("s4", False)):
        host.invoke(session, "tap_list_streams", f"l{session}")
        listed = host.hear_one("tool.outcome")["data"]
        assert any(one["stream"] == "watch@tap" for one in listed) == expected
        host.invoke(session, "tap_stream_history", f"h{session}", args={"stream": "watch"})
        history = host.hear_one("tool.outcome")["data"]
        assert bool(history) == expected


def test_the_gateway_that_stops_ends_all_and_starts_nothing(
    talk: Conversation, shell: EmitterShell, host: Peer
) -> None:
    begin(shell, host, "s1", "s2")
    talk.tell(talk.gateway.shut_down)
    talk.turn()
    assert len(shell.stopping) == 1
    assert len(talk.events("emitter.gone")) == 1
    assert shell.runs() == 1
    assert lines(talk)[-1] == ("keep", "started with command=./watch")
