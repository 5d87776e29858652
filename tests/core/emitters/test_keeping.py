"""Changes of emitters, and those that an agent has started, written into the folder's file."""

import pytest

from tests.core.emitters.test_agent_requests import Agent, agent
from tests.core.emitters.test_consent import asked, decide
from tests.core.harness import Conversation, Peer
from tests.core.runner import EmitterShell, entry, lines, of, rules
from tests.core.runs.test_filters import RULES

__all__ = ["agent"]

KEPT = rules(("error", "inject"), (".*", "drop"))


def test_a_changed_filter_is_kept_and_what_runs_goes_on(
    talk: Conversation, shell: EmitterShell, host: Peer, tower: Peer
) -> None:
    shell.opens(host, entry())
    shell.starts()
    tower.say(type="emitter.filter", rules=RULES, **of(talk))
    tower.say(type="emitter.keep", id="k", **of(talk))
    (save,) = shell.saves
    assert (save.folder, save.is_new, save.rules, save.auto_start) == ("/repo", False, KEPT, None)
    shell.saved("/repo", entry(rules=KEPT))
    assert tower.hear_one("emitter.kept") == {
        "type": "emitter.kept",
        "id": "k",
        "path": "/repo/tap.config.json",
    }
    shell.write("/repo", entry(rules=KEPT))
    assert (shell.runs(), shell.stopping, len(shell.filters)) == (1, [], 1)
    assert (shell.shown().state, tuple(shell.shown().rules)) == ("running", KEPT)


def test_only_what_was_given_is_changed_and_holds_from_then_on(
    talk: Conversation, shell: EmitterShell, host: Peer, tower: Peer
) -> None:
    shell.opens(host, entry(kind="timed", every=60))
    shell.starts()
    tower.say(type="emitter.keep", id="k", every=5, delivery="all", **of(talk))
    (save,) = shell.saves
    assert (save.every, save.delivery, save.rules, save.injector) == (5, "all", None, None)
    shell.saved("/repo", entry(kind="timed", every=5, injector="enabled", delivery="all"))
    shell.says("a line")
    assert lines(talk)[-1] == ("inject", "a line")
    shell.ends()
    talk.wait(5)
    assert shell.runs() == 2


def test_rules_that_are_given_hold_for_what_runs(
    talk: Conversation, shell: EmitterShell, host: Peer, tower: Peer
) -> None:
    shell.opens(host, entry())
    run = shell.starts()
    tower.say(type="emitter.keep", id="k", rules=RULES, **of(talk))
    shell.saved("/repo", entry(rules=KEPT))
    assert [(one.run, one.rules) for one in shell.filters] == [(run, KEPT)]


def test_another_entry_that_has_changed_meanwhile_is_asked_about(
    talk: Conversation, shell: EmitterShell, host: Peer, tower: Peer
) -> None:
    shell.opens(host, entry(), entry("other"))
    shell.starts()
    other = shell.starts("other")
    tower.say(type="emitter.keep", id="k", rules=RULES, **of(talk))
    shell.saved("/repo", entry(rules=KEPT), entry("other", command="rm -rf x"))
    assert shell.stopping == [other]
    assert shell.shown().state == "running"


def test_what_could_not_be_saved_is_told_and_changes_nothing(
    talk: Conversation, shell: EmitterShell, host: Peer, tower: Peer
) -> None:
    from tapui.core.emitters.plans import SavedEmitter

    shell.opens(host, entry())
    shell.starts()
    tower.say(type="emitter.keep", id="k", rules=RULES, **of(talk))
    refused = SavedEmitter(fault="the file is a link")
    talk.tell(talk.gateway.answered, shell.saves[0].ticket, refused)
    talk.turn()
    assert tower.hear_one("emitter.kept")["error"] == "the file is a link"
    assert (shell.filters, shell.shown().rules) == ([], [])


def test_what_the_agent_started_is_the_files_once_the_person_keeps_it(
    talk: Conversation, shell: EmitterShell, agent: Agent, host: Peer, tower: Peer
) -> None:
    agent.asks()
    decide(tower, asked(talk))
    shell.starts()
    host.open("s2", cwd="/repo")
    tower.say(type="emitter.keep", id="k", **of(talk))
    (save,) = shell.saves
    assert (save.is_new, save.entry.plan.command) == (True, "npm test -- --watch")
    shell.saved("/repo", entry(command="npm test -- --watch", ownership="modelOwned"))
    shown = shell.shown()
    assert (shown.source, shown.lifespan, shown.ownership, shown.state) == (
        "file",
        "persistent",
        "modelOwned",
        "running",
    )
    assert (shell.runs(), shell.stopping) == (1, [])
    host.say(type="session.close", sessionId="s1")
    assert (shell.shown().session_id, shell.stopping) == ("s2", [])
    host.say(type="session.close", sessionId="s2")
    assert len(shell.stopping) == 1


def test_what_an_agent_of_another_session_started_goes_to_the_folders_owner(
    talk: Conversation, shell: EmitterShell, agent: Agent, host: Peer, tower: Peer
) -> None:
    host.open("s2", cwd="/repo")
    agent.asks("s2")
    decide(tower, asked(talk))
    shell.starts()
    shell.says("before")
    tower.say(type="emitter.keep", id="k", **of(talk))
    shell.saved("/repo", entry(command="npm test -- --watch"))
    assert (shell.shown().session_id, shell.shown().state) == ("s1", "running")
    tower.say(type="stream.read", id="l", sessionId="s2", stream="watch@tap", last=10)
    read = tower.hear_one("stream.lines")
    assert [one["event"] for one in read["lines"]][-1] == "before"


def test_one_whose_name_the_file_has_is_not_kept(
    talk: Conversation, shell: EmitterShell, agent: Agent, host: Peer, tower: Peer
) -> None:
    agent.asks()
    decide(tower, asked(talk))
    id_ = of(talk)
    shell.write("/repo", entry(), allows=True)
    error = tower.error(type="emitter.keep", id="k", **id_)
    assert error["message"] == "emitter 'watch' has the name of one that is in the folder's file"


def test_one_whose_session_ended_meanwhile_is_started_from_the_file(
    talk: Conversation, shell: EmitterShell, agent: Agent, host: Peer, tower: Peer
) -> None:
    host.open("s2", cwd="/repo")
    agent.asks()
    decide(tower, asked(talk))
    run = shell.starts()
    tower.say(type="emitter.keep", id="k", **of(talk))
    host.say(type="session.close", sessionId="s1")
    shell.saved("/repo", entry(command="npm test -- --watch"))
    shell.end_of_run(run, code=0)
    assert (shell.shown().source, shell.shown().session_id) == ("file", "s2")
    assert shell.runs() == 2


def test_one_whose_folder_has_a_tool_host_alone_meanwhile_stays_the_agents(
    talk: Conversation, shell: EmitterShell, agent: Agent, host: Peer, tower: Peer
) -> None:
    agent.asks()
    decide(tower, asked(talk))
    shell.starts()
    talk.tool_host().open("mcp-1", cwd="/repo")
    tower.say(type="emitter.keep", id="k", **of(talk))
    host.say(type="session.update", sessionId="s1", cwd="/elsewhere")
    tower.hear()
    shell.saved("/repo", entry(command="npm test -- --watch"))
    assert tower.hear_one("emitter.kept")["id"] == "k"
    assert (shell.shown().source, shell.shown().session_id, shell.stopping) == ("tool", "s1", [])


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"every": 60}, "does not run at intervals"),
        ({"rules": [{"match": "(", "outcome": "keep"}]}, "bad pattern"),
    ],
)
def test_what_cannot_be_is_refused(
    talk: Conversation,
    shell: EmitterShell,
    host: Peer,
    tower: Peer,
    given: dict[str, object],
    why: str,
) -> None:
    shell.opens(host, entry())
    error = tower.error(type="emitter.keep", id="k", **given, **of(talk))
    assert why in error["message"]
    assert shell.saves == []


def test_an_interval_is_bounded(
    talk: Conversation, shell: EmitterShell, host: Peer, tower: Peer
) -> None:
    shell.opens(host, entry(kind="timed", every=60))
    error = tower.error(type="emitter.keep", id="k", every=0, **of(talk))
    assert "runs every 1 to" in error["message"]
