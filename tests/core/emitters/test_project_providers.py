"""Providers of a project: one process in each session, with a token for that session alone."""

from typing import Any

from tapui.core.effects import StartRun
from tapui.core.emitters.plans import EmitterEntryRead
from tapui.projection.state import is_waiting
from tapui.wire import limits
from tapui.wire.emitters import Emitter
from tests.core.emitters.test_consent import asked, decide
from tests.core.harness import Conversation, Peer
from tests.core.runner import EmitterShell, entry, lines


def program(name: str = "wiki", **plan: Any) -> EmitterEntryRead:
    return entry(name, kind="provider", command="node", args=("wiki.mjs",), **plan)


def of_session(talk: Conversation, session: str) -> Emitter:
    found = talk.gateway.state.emitters.values()
    (one,) = [one for one in found if one.session_id == session and one.kind == "provider"]
    return one


def shown_to(talk: Conversation, start: StartRun) -> Peer:
    """Return a connection that has shown what a provider was started with."""
    assert start.token is not None
    peer = talk.connect()
    peer.say(type="auth", token=start.token.reveal())
    return peer


def test_each_session_has_its_own_with_a_token_of_its_own(
    talk: Conversation, shell: EmitterShell, host: Peer
) -> None:
    shell.opens(host, program())
    host.open("s2", cwd="/repo")
    first, second = shell.started
    assert (first.plan.command, first.plan.args) == ("node", ("wiki.mjs",))
    for start, own, other in ((first, "s1", "s2"), (second, "s2", "s1")):
        peer = shown_to(talk, start)
        (offered,) = peer.hear_one("sessions")["active"]
        assert offered["id"] == own
        peer.hello(session=other, name="wiki", tools=[])
        assert peer.hear_one("error")["code"] == "INVALID_SESSION"


def test_the_person_is_asked_once_for_all_sessions(
    talk: Conversation, shell: EmitterShell, host: Peer, tower: Peer
) -> None:
    shell.write("/repo", program())
    host.open("s1", cwd="/repo")
    approval = asked(talk)
    host.open("s2", cwd="/repo")
    assert [of_session(talk, one).state for one in ("s1", "s2")] == ["asking", "asking"]
    decide(tower, approval)
    assert len(shell.started) == 2
    assert len(talk.events("approval.requested")) == 2
    assert not [one for one in talk.gateway.state.approvals.values() if is_waiting(one)]


def test_an_emitter_of_the_same_name_is_another(
    talk: Conversation, shell: EmitterShell, host: Peer, tower: Peer
) -> None:
    shell.write("/repo", program("watch"), entry("watch"))
    host.open("s1", cwd="/repo")
    kinds = {one.kind: one.state for one in talk.gateway.state.emitters.values()}
    assert kinds == {"provider": "asking", "continuous": "asking"}


def test_it_starts_again_after_a_pause_that_grows(
    talk: Conversation, shell: EmitterShell, host: Peer
) -> None:
    shell.opens(host, program())
    pauses = []
    for number in range(1, 9):
        assert shell.runs("wiki") == number
        shell.starts("wiki")
        shell.ends("wiki", code=number % 2)
        ended = talk.now
        while shell.runs("wiki") == number:
            talk.wait(0.5)
        pauses.append(talk.now - ended)
    assert pauses == [1, 2, 4, 8, 16, 32, 60, 60]
    shell.starts("wiki")
    talk.wait(limits.PROVIDER_STEADY)
    shell.ends("wiki", code=1)
    talk.wait(limits.PROVIDER_PAUSE)
    assert shell.runs("wiki") == 10
    assert lines(talk, "wiki@tap")[1] == ("keep", "exit code 1; starts again in 1s")


def test_it_is_gone_with_its_session_and_its_token(
    talk: Conversation, shell: EmitterShell, host: Peer
) -> None:
    shell.opens(host, program())
    host.open("s2", cwd="/repo")
    first, _ = shell.started
    host.say(type="session.close", sessionId="s1")
    assert shell.stopping == [first.run]
    assert of_session(talk, "s2").state == "queued"
    assert shown_to(talk, first).hear_one("error")["code"] == "AUTH_FAILED"


def test_a_cleared_session_keeps_it(talk: Conversation, shell: EmitterShell, host: Peer) -> None:
    shell.opens(host, program())
    shell.starts("wiki")
    (start,) = shell.started
    host.open("s2", cwd="/repo", replaces="s1")
    assert (shell.runs("wiki"), shell.stopping) == (1, [])
    assert of_session(talk, "s2").state == "running"
    peer = shown_to(talk, start)
    assert [one["id"] for one in peer.hear_one("sessions")["active"]] == ["s2"]


def test_the_file_starts_stops_and_changes_it(
    talk: Conversation, shell: EmitterShell, host: Peer, tower: Peer
) -> None:
    host.open("s1", cwd="/repo")
    shell.write("/repo", program(), allows=True)
    run = shell.starts("wiki")
    shell.write("/repo", program(env=(("WIKI", "x"),)))
    assert shell.stopping == [run]
    shell.ends("wiki")
    assert of_session(talk, "s1").state == "asking"
    shell.write("/repo")
    assert not shell.is_there("wiki")
    peer = shown_to(talk, shell.started[0])
    assert peer.hear_one("error")["code"] == "AUTH_FAILED"


def test_the_person_stops_pauses_and_starts_it(
    talk: Conversation, shell: EmitterShell, host: Peer, tower: Peer
) -> None:
    shell.opens(host, program())
    for order, state in (("emitter.pause", "paused"), ("emitter.stop", "stopped")):
        run = shell.starts("wiki")
        which = {"emitterId": of_session(talk, "s1").id}
        tower.say(type=order, **which)
        assert shell.stopping[-1] == run
        shell.ends("wiki", signal="SIGTERM")
        assert of_session(talk, "s1").state == state
        talk.wait(limits.PROVIDER_PAUSE_MOST)
        assert run not in shell.running
        tower.say(type="emitter.resume" if state == "paused" else "emitter.start", **which)
    assert shell.runs("wiki") == 3


# Sessions of tool hosts


def door(talk: Conversation, session: str = "mcp-1", cwd: str = "/repo") -> Peer:
    """Return a tool host whose session is in a folder."""
    peer = talk.tool_host()
    peer.open(session, cwd=cwd)
    return peer


def test_the_session_of_a_tool_host_has_providers_and_no_emitters(
    talk: Conversation, shell: EmitterShell, host: Peer
) -> None:
    shell.write("/repo", program(), entry("watch"), allows=True)
    client = door(talk)
    (start,) = shell.started
    assert (start.session, of_session(talk, "mcp-1").state) == ("mcp-1", "queued")
    provider = shown_to(talk, start)
    assert [one["id"] for one in provider.hear_one("sessions")["active"]] == ["mcp-1"]
    provider.hello(name="wiki", session=None)
    talk.wait(1)
    tools = client.hear_one("tools.changed")["tools"]
    assert [(one["name"], one["provider"]) for one in tools] == [("greet", "wiki")]
    # A session that can have the emitters gets them, and a provider of its own.
    host.open("s1", cwd="/repo")
    others = [(one.plan.name, one.session) for one in shell.started[1:]]
    assert others == [("watch", None), ("wiki", None)]
    assert shell.shown("watch").session_id == "s1"
    host.say(type="session.close", sessionId="s1")
    assert "watch" not in {one.name for one in talk.gateway.state.emitters.values()}
    assert (of_session(talk, "mcp-1").name, shell.left) == ("wiki", [])
    client.say(type="session.close", sessionId="mcp-1")
    assert (shell.left, set(shell.stopping)) == (["/repo"], {one.run for one in shell.started})


def test_the_person_is_asked_for_a_tool_host_as_for_others(
    talk: Conversation, shell: EmitterShell, tower: Peer
) -> None:
    shell.write("/repo", program())
    door(talk)
    approval = asked(talk)
    assert (approval["sessionId"], shell.started) == ("mcp-1", [])
    decide(tower, approval)
    assert shell.runs("wiki") == 1


def test_the_file_changes_what_a_tool_host_has(talk: Conversation, shell: EmitterShell) -> None:
    shell.write("/repo", program(), allows=True)
    door(talk)
    shell.starts("wiki")
    shell.write("/repo", program("other"), allows=True)
    assert (shell.stopping, shell.runs("other")) == ([shell.started[0].run], 1)


def test_a_tool_host_reads_no_stream_of_the_folders_emitters(
    talk: Conversation, shell: EmitterShell, host: Peer, tower: Peer
) -> None:
    shell.opens(host, entry("watch"))
    door(talk)
    shell.starts("watch")
    shell.says("secret", name="watch")
    for session, count in (("s1", 2), ("mcp-1", 0)):
        tower.say(type="stream.read", id=session, stream="watch@tap", sessionId=session)
        assert len(tower.hear_one("stream.lines")["lines"]) == count
