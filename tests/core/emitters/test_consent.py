"""Consent: nothing of a folder's file runs or prompts before the person allowed exactly that."""

from typing import Any

import pytest

from tapui.core.effects import CheckEmitter, KeepConsent
from tapui.projection.state import is_waiting
from tapui.wire import limits
from tests.core.harness import Conversation, Json, Peer
from tests.core.runner import EmitterShell, entry, of
from tests.core.sessions.test_starts import opens, start, starter


def asked(talk: Conversation) -> Json:
    """Return the one approval of an emitter that waits, as its record has it."""
    waiting = [id_ for id_, one in talk.gateway.state.approvals.items() if is_waiting(one)]
    assert len(waiting) == 1, waiting
    requested = talk.events("approval.requested")
    return next(one["approval"] for one in requested if one["approval"]["id"] == waiting[0])


def decide(tower: Peer, approval: Json, decision: str = "approve", **more: Any) -> None:
    tower.say(type="approval.decide", approvalId=approval["id"], decision=decision, **more)


def test_the_person_is_asked_before_it_starts(
    talk: Conversation, shell: EmitterShell, host: Peer, tower: Peer
) -> None:
    shell.write("/repo", entry(command="make watch"))
    host.open("s1", cwd="/repo")
    shown = shell.shown()
    approval = asked(talk)
    assert (approval["kind"], approval["sessionId"]) == ("emitter", "s1")
    assert approval["detail"] == {
        "emitterId": shown.id,
        "name": "watch",
        "changed": "",
        "command": "make watch",
        "prompt": None,
        "cwd": "/repo",
    }
    assert (shown.state, shown.approval_id, shell.started) == ("asking", approval["id"], [])
    decide(tower, approval)
    assert shell.later_versions == [False]
    shell.starts()
    assert (shell.shown().state, shell.shown().approval_id) == ("running", None)


def test_later_versions_of_its_files_can_be_allowed_with_it(
    talk: Conversation, shell: EmitterShell, host: Peer, tower: Peer
) -> None:
    shell.write("/repo", entry())
    host.open("s1", cwd="/repo")
    decide(tower, asked(talk), answer={"laterVersions": True})
    assert shell.later_versions == [True]


def test_it_does_not_start_when_the_person_says_no_until_they_start_it(
    talk: Conversation, shell: EmitterShell, host: Peer, tower: Peer
) -> None:
    shell.write("/repo", entry())
    host.open("s1", cwd="/repo")
    decide(tower, asked(talk), "deny", reason="not now")
    assert (shell.shown().state, shell.shown().why) == ("configured", "not now")
    host.open("s2", cwd="/repo")
    shell.touch("/repo")
    tower.say(type="emitter.start", **of(talk))
    decide(tower, asked(talk))
    assert shell.runs() == 1


def test_nobody_answers(talk: Conversation, shell: EmitterShell, host: Peer) -> None:
    shell.write("/repo", entry())
    host.open("s1", cwd="/repo")
    talk.wait(limits.HOST_APPROVAL_TIMEOUT)
    assert shell.shown().why == "you did not answer in time whether it may start"
    assert shell.started == []


def test_a_decision_that_is_not_recorded_does_not_hold(
    talk: Conversation, shell: EmitterShell, host: Peer, tower: Peer
) -> None:
    shell.write("/repo", entry())
    host.open("s1", cwd="/repo")
    talk.records = "refused"
    decide(tower, asked(talk))
    assert (shell.shown().state, shell.started) == ("configured", [])


def test_a_consent_that_cannot_be_kept_starts_nothing(
    talk: Conversation, shell: EmitterShell, host: Peer, tower: Peer
) -> None:
    shell.write("/repo", entry())
    host.open("s1", cwd="/repo")
    shell.consent_fault = "the disk is full"
    decide(tower, asked(talk))
    shown = shell.shown()
    assert (shown.state, shown.error) == (
        "configured",
        "the consent could not be kept: the disk is full",
    )
    assert shell.started == []


def test_a_changed_entry_is_asked_about_again(
    talk: Conversation, shell: EmitterShell, host: Peer, tower: Peer
) -> None:
    shell.opens(host, entry())
    shell.starts()
    shell.write("/repo", entry(command="./other"))
    assert shell.shown().state == "stopping"
    shell.ends(signal="SIGTERM")
    assert asked(talk)["detail"]["changed"] == "another command"
    assert shell.shown().state == "asking"
    assert shell.runs() == 1


def test_a_file_that_is_written_over_and_over_asks_a_bounded_number_of_times(
    talk: Conversation, shell: EmitterShell, host: Peer, tower: Peer
) -> None:
    most = limits.ASKED_AGAIN + 3
    shell.write("/repo", entry("n0"))
    host.open("s1", cwd="/repo")
    for number in range(1, most + 5):
        shell.write("/repo", entry(f"n{number}"))
    assert len(talk.events("approval.requested")) == most
    last = f"n{most + 4}"
    assert "asked too often" in shell.shown(last).why
    tower.say(type="emitter.start", **of(talk, last))
    assert asked(talk)["detail"]["name"] == last
    decide(tower, asked(talk))
    assert [one.plan.name for one in shell.started] == [last]


def test_the_question_goes_with_the_entry_that_it_was_about(
    talk: Conversation, shell: EmitterShell, host: Peer, tower: Peer
) -> None:
    shell.write("/repo", entry(command="./first"))
    host.open("s1", cwd="/repo")
    first = asked(talk)
    shell.write("/repo", entry(command="./second"))
    second = asked(talk)
    assert tower.error(type="approval.decide", approvalId=first["id"], decision="approve")[
        "code"
    ] == ("UNKNOWN_APPROVAL")
    decide(tower, second)
    assert [one.plan.command for one in shell.started] == ["./second"]


def test_a_changed_file_ends_what_runs_and_is_asked_about(
    talk: Conversation, shell: EmitterShell, host: Peer, tower: Peer
) -> None:
    shell.opens(host, entry("a"), entry("b"))
    shell.starts("a")
    shell.starts("b")
    shell.touch("/repo", "a")
    assert (shell.shown("a").state, shell.shown("b").state) == ("stopping", "running")
    shell.ends("a", signal="SIGTERM")
    approval = asked(talk)
    assert approval["detail"]["changed"] == "a file changed"
    decide(tower, approval)
    shell.starts("a")
    assert shell.shown("a").state == "running"


def test_a_changed_file_of_what_waits_is_asked_about_at_once(
    talk: Conversation, shell: EmitterShell, host: Peer, tower: Peer
) -> None:
    shell.opens(host, entry(kind="timed", every=60))
    shell.starts()
    shell.ends()
    shell.touch("/repo", "watch")
    approval = asked(talk)
    talk.wait(600)
    assert shell.runs() == 1
    decide(tower, approval)
    assert shell.runs() == 2


def test_a_file_that_changed_unseen_is_found_at_the_next_run(
    talk: Conversation, shell: EmitterShell, host: Peer, tower: Peer
) -> None:
    shell.opens(host, entry(kind="timed", every=60))
    shell.starts()
    shell.ends()
    shell.changed_files.add("watch")
    talk.wait(60)
    assert (asked(talk)["detail"]["changed"], shell.runs()) == ("a file changed", 1)


def test_files_that_are_as_they_were_change_nothing(shell: EmitterShell, host: Peer) -> None:
    shell.opens(host, entry())
    shell.starts()
    shell.touch("/repo")
    assert (shell.shown().state, shell.stopping, shell.checks) == ("running", [], 2)


def test_what_has_ended_before_it_was_looked_at_again_is_over(
    talk: Conversation, shell: EmitterShell, host: Peer
) -> None:
    shell.opens(host, entry())
    shell.starts()
    shell.holds = (CheckEmitter,)
    shell.touch("/repo", "watch")
    shell.ends()
    shell.answer()
    assert (shell.shown().state, shell.runs()) == ("exited", 1)


def test_what_cannot_start_is_told(shell: EmitterShell, host: Peer) -> None:
    shell.faults["watch"] = "its folder is not there"
    shell.opens(host, entry())
    assert (shell.shown().state, shell.shown().error) == ("error", "its folder is not there")


def test_nobody_is_asked_in_a_session_in_which_nobody_is(
    talk: Conversation, shell: EmitterShell
) -> None:
    shell.write("/repo", entry("a"), entry("b"))
    shell.allowed["/repo", "b"] = entry("b").plan
    starting, command = starter(talk), talk.tower(name="tapui run")
    start(command, unattended=True)
    opens(starting, starting.hear_one("session.start"), cwd="/repo")
    assert shell.shown("a").why == "it was not allowed yet, and you are not asked in this session"
    assert [one.plan.name for one in shell.started] == ["b"]


def test_the_person_is_asked_in_another_session_of_the_folder(
    talk: Conversation, shell: EmitterShell
) -> None:
    shell.write("/repo", entry())
    starting, command = starter(talk), talk.tower(name="tapui run")
    start(command, unattended=True)
    opens(starting, starting.hear_one("session.start"), cwd="/repo")
    assert not [one for one in talk.gateway.state.approvals.values() if is_waiting(one)]
    starting.hear()
    starting.open("s1", cwd="/repo")
    approval = asked(talk)
    starting.say(type="session.close", sessionId="s9")
    assert asked(talk)["sessionId"] == "s1"
    assert asked(talk)["detail"]["command"] == approval["detail"]["command"]
    decide(command, asked(talk))
    assert shell.shown().session_id == "s1"
    shell.starts()
    assert shell.shown().state == "running"


@pytest.mark.parametrize("effect", [CheckEmitter, KeepConsent])
def test_an_answer_of_the_shell_that_comes_too_late_starts_nothing(
    talk: Conversation, shell: EmitterShell, host: Peer, tower: Peer, effect: type
) -> None:
    shell.write("/repo", entry(), allows=effect is CheckEmitter)
    shell.holds = (effect,)
    host.open("s1", cwd="/repo")
    if effect is KeepConsent:
        decide(tower, asked(talk))
    host.say(type="session.close", sessionId="s1")
    shell.answer()
    assert shell.started == []
    assert not shell.is_there()


def test_the_answer_is_without_effect_once_the_emitter_was_stopped(
    talk: Conversation, shell: EmitterShell, host: Peer, tower: Peer
) -> None:
    shell.write("/repo", entry())
    host.open("s1", cwd="/repo")
    talk.records = "held"
    decide(tower, asked(talk))
    tower.say(type="emitter.stop", **of(talk))
    talk.recorded()
    assert (shell.shown().state, shell.started) == ("stopped", [])
