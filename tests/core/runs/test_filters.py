"""Filters: tried on what the stream has, and changed while a command runs."""

import pytest

from tapui.core.runs.reports import RulesTried, RunFiltered, TriedLine
from tests.core.harness import Conversation, Peer
from tests.core.runner import EmitterShell, entry, of, rules

RULES = [{"match": "error", "outcome": "inject"}, {"match": ".*", "outcome": "drop"}]


def test_a_filter_is_changed_while_the_command_runs(
    talk: Conversation, shell: EmitterShell, host: Peer, tower: Peer
) -> None:
    shell.opens(host, entry(rules=rules(("x", "drop"))))
    run = shell.starts()
    tower.say(type="emitter.filter", rules=RULES, **of(talk))
    (change,) = shell.filters
    expected = rules(("error", "inject"), (".*", "drop"))
    assert (change.run, change.version, change.rules) == (run, 1, expected)
    assert tuple(shell.shown().rules) == expected
    assert (shell.runs(), shell.stopping) == (1, [])


def test_the_changed_filter_is_that_of_the_next_run_until_the_entry_changes(
    talk: Conversation, shell: EmitterShell, host: Peer, tower: Peer
) -> None:
    shell.opens(host, entry(kind="timed", every=60))
    shell.starts()
    shell.ends()
    tower.say(type="emitter.filter", rules=RULES, **of(talk))
    talk.wait(60)
    assert shell.started[-1].rules == rules(("error", "inject"), (".*", "drop"))
    assert shell.filters == []
    shell.starts()
    shell.ends()
    changed = entry(kind="timed", every=30, rules=rules(("y", "keep")))
    shell.write("/repo", changed, allows=True)
    assert shell.started[-1].rules == rules(("y", "keep"))


def test_a_filter_that_the_runner_refuses_is_told(
    talk: Conversation, shell: EmitterShell, host: Peer, tower: Peer
) -> None:
    shell.opens(host, entry())
    run = shell.starts()
    tower.say(type="emitter.filter", rules=RULES, **of(talk))
    talk.tell(talk.gateway.runs.reported, RunFiltered(run, 1, "no"))
    talk.turn()
    assert shell.shown().error == "the filter was not changed: no"


@pytest.mark.parametrize("what", ["emitter.filter", "emitter.try"])
def test_a_filter_that_cannot_be_is_refused(
    talk: Conversation, shell: EmitterShell, host: Peer, tower: Peer, what: str
) -> None:
    shell.opens(host, entry())
    shell.starts()
    for given, code in (
        ([{"match": "(", "outcome": "keep"}], "INVALID_JSON"),
        ([{"match": "x", "outcome": "shout"}], "INVALID_JSON"),
        ([{"match": "x", "outcome": "keep"}] * 51, "PAYLOAD_TOO_LARGE"),
    ):
        assert tower.error(type=what, id="t", rules=given, **of(talk))["code"] == code
    assert (shell.filters, shell.trials) == ([], [])


def test_rules_are_tried_on_the_output_that_the_stream_has(
    talk: Conversation, shell: EmitterShell, host: Peer, tower: Peer
) -> None:
    shell.opens(host, entry("a", stream="ops"), entry("b", stream="ops"))
    shell.starts("a")
    shell.starts("b")
    shell.says("fine", "an error", name="a")
    shell.says("of another", name="b")
    tower.say(type="emitter.try", id="t", rules=RULES, **of(talk, "a"))
    (trial,) = shell.trials
    assert trial.lines == ("fine", "an error")
    tried = RulesTried(0, [TriedLine("drop", 1, False), TriedLine("inject", 0, True)])
    talk.tell(talk.gateway.answered, trial.ticket, tried)
    talk.turn()
    assert tower.hear_one("emitter.tried") == {
        "type": "emitter.tried",
        "id": "t",
        "lines": [
            {"seq": 3, "outcome": "drop", "rule": 1},
            {"seq": 4, "outcome": "inject", "rule": 0, "undecided": True},
        ],
    }
    assert shell.filters == []


def test_rules_that_could_not_be_tried_are_told(
    talk: Conversation, shell: EmitterShell, host: Peer, tower: Peer
) -> None:
    shell.opens(host, entry())
    shell.starts()
    tower.say(type="emitter.try", id="t", rules=RULES, **of(talk))
    tried = RulesTried(0, error="the runner ended")
    talk.tell(talk.gateway.answered, shell.trials[0].ticket, tried)
    talk.turn()
    assert tower.hear_one("emitter.tried")["error"] == "the runner ended"


def test_a_prompt_has_no_filter(
    talk: Conversation, shell: EmitterShell, host: Peer, tower: Peer
) -> None:
    shell.opens(host, entry(kind="oneTime", prompt="Look.", auto_start=False))
    error = tower.error(type="emitter.filter", rules=RULES, **of(talk))
    assert error["message"] == "emitter 'watch' sends a prompt: there is nothing to filter"
