"""The provider of a folder's `tools/` runs on while the person is asked about changed files."""

from typing import Any

from tapui.core.emitters.plans import EmitterEntryRead
from tapui.projection.state import is_waiting
from tapui.wire import limits
from tests.core.emitters.test_consent import asked, decide
from tests.core.harness import Conversation, Peer
from tests.core.runner import EmitterShell, entry


def tools(**plan: Any) -> EmitterEntryRead:
    given = {"kind": "provider", "command": "python", "is_folder_tools": True, **plan}
    return entry("tools", **given)


def running(shell: EmitterShell, host: Peer) -> str:
    """Have the tools of a folder run, as they were allowed; return the run."""
    shell.opens(host, tools())
    return shell.starts("tools")


def waits(talk: Conversation) -> int:
    return sum(is_waiting(one) for one in talk.gateway.state.approvals.values())


def test_nothing_starts_before_it_is_allowed(
    talk: Conversation, shell: EmitterShell, host: Peer, tower: Peer
) -> None:
    shell.write("/repo", tools())
    host.open("s1", cwd="/repo")
    assert (shell.started, shell.shown("tools").state) == ([], "asking")
    decide(tower, asked(talk))
    assert shell.runs("tools") == 1


def test_a_changed_file_is_asked_about_while_the_tools_of_before_go_on(
    talk: Conversation, shell: EmitterShell, host: Peer, tower: Peer
) -> None:
    running(shell, host)
    shell.touch("/repo", "tools")
    approval = asked(talk)
    shown = shell.shown("tools")
    assert (shown.state, shown.why, shown.approval_id) == (
        "running",
        "a file changed",
        approval["id"],
    )
    decide(tower, approval)
    assert (shell.stopping, shell.runs("tools"), waits(talk)) == ([], 1, 0)
    assert (shell.shown("tools").state, shell.shown("tools").why) == ("running", None)


def test_one_question_stands_for_the_newest_change(
    talk: Conversation, shell: EmitterShell, host: Peer
) -> None:
    running(shell, host)
    shell.touch("/repo", "tools")
    first = asked(talk)
    shell.touch("/repo")
    assert asked(talk)["id"] == first["id"]
    shell.touch("/repo", "tools")
    assert asked(talk)["id"] != first["id"]
    assert shell.stopping == []


def test_a_change_that_was_refused_is_not_asked_about_again_and_the_next_one_is(
    talk: Conversation, shell: EmitterShell, host: Peer, tower: Peer
) -> None:
    running(shell, host)
    shell.touch("/repo", "tools")
    decide(tower, asked(talk), "deny", reason="not this")
    assert (shell.shown("tools").state, shell.shown("tools").why) == ("running", "not this")
    shell.touch("/repo")
    assert (waits(talk), shell.stopping) == (0, [])
    shell.touch("/repo", "tools")
    assert waits(talk) == 1


def test_files_that_are_as_they_were_are_not_asked_about_any_more(
    talk: Conversation, shell: EmitterShell, host: Peer
) -> None:
    running(shell, host)
    shell.touch("/repo", "tools")
    assert waits(talk) == 1
    shell.changed_files.clear()
    shell.touch("/repo")
    shown = shell.shown("tools")
    assert (waits(talk), shell.stopping, shown.state) == (0, [], "running")
    assert (shown.why, shown.approval_id) == (None, None)


def test_silence_changes_nothing_of_what_runs(
    talk: Conversation, shell: EmitterShell, host: Peer
) -> None:
    running(shell, host)
    shell.touch("/repo", "tools")
    talk.wait(limits.HOST_APPROVAL_TIMEOUT)
    assert (waits(talk), shell.stopping, shell.shown("tools").state) == (0, [], "running")


def test_one_that_ends_meanwhile_waits_for_the_answer(
    talk: Conversation, shell: EmitterShell, host: Peer, tower: Peer
) -> None:
    running(shell, host)
    shell.touch("/repo", "tools")
    shell.ends("tools", code=1)
    talk.wait(limits.PROVIDER_PAUSE)
    assert (shell.shown("tools").state, shell.runs("tools"), waits(talk)) == ("asking", 1, 1)
    decide(tower, asked(talk))
    assert (shell.runs("tools"), waits(talk)) == (2, 0)


def test_each_session_takes_over_what_was_allowed_in_one(
    talk: Conversation, shell: EmitterShell, host: Peer, tower: Peer
) -> None:
    running(shell, host)
    host.open("s2", cwd="/repo")
    shell.touch("/repo", "tools")
    assert waits(talk) == 2
    waiting = [one for one in talk.gateway.state.approvals.values() if is_waiting(one)]
    tower.say(type="approval.decide", approvalId=waiting[0].id, decision="approve")
    assert (waits(talk), shell.stopping, shell.runs("tools")) == (0, [], 2)


def test_another_plan_of_it_starts_anew(
    talk: Conversation, shell: EmitterShell, host: Peer
) -> None:
    run = running(shell, host)
    shell.write("/repo", tools(command="python4"))
    assert shell.stopping == [run]


def test_a_stop_takes_the_question_back(
    talk: Conversation, shell: EmitterShell, host: Peer, tower: Peer
) -> None:
    run = running(shell, host)
    shell.touch("/repo", "tools")
    tower.say(type="emitter.stop", emitterId=shell.shown("tools").id)
    assert (waits(talk), shell.stopping) == (0, [run])
    shell.ends("tools")
    assert shell.shown("tools").state == "stopped"
