"""Reviews of emitters: what was dropped, the run, and what towers see of both."""

import pytest

from tapui.projection.reviews import monitors_of, reviews_about, unreviewed_of
from tapui.wire.reviews import LineOutcomes, Review, SeqRange
from tests.core.harness import Conversation, Json, Peer
from tests.core.runner import EmitterShell, entry


class Monitor:
    """A session `s1` in `/repo` with the emitter `watch`, which runs."""

    def __init__(self, talk: Conversation, shell: EmitterShell, host: Peer) -> None:
        self.talk, self.shell, self.host = talk, shell, host
        talk.tools()
        shell.opens(host, entry("watch"))
        self.run = shell.starts()
        self._asked = 0

    def call(self, tool: str, session: str = "s1", **args: object) -> Json:
        self._asked += 1
        self.host.hear()
        self.host.invoke(session, tool, f"r{self._asked}", args=args)
        outcome = self.host.hear_one("tool.outcome")
        assert "data" in outcome, outcome
        data: Json = outcome["data"]
        return data

    def review(self, session: str = "s1", **given: object) -> Json:
        usual = {"monitor": "watch", "observed": "o", "decision": "note", "reason": "r"}
        return self.call("tap_record_review", session, **{**usual, **given})

    @property
    def last(self) -> Review:
        return list(self.talk.gateway.state.reviews.values())[-1]

    def lines(self) -> int:
        return self.talk.gateway.state.streams["s1", "watch@tap"].count


@pytest.fixture
def monitor(talk: Conversation, shell: EmitterShell, host: Peer) -> Monitor:
    return Monitor(talk, shell, host)


def test_the_emitters_run_and_what_it_dropped_are_the_gateways(monitor: Monitor) -> None:
    monitor.shell.says("one", "two")
    monitor.shell.says("three", outcome="surface")
    monitor.shell.counts(lines=10, dropped=7)
    first = monitor.lines() - 2
    monitor.review(range={"from": first, "to": first + 2})
    review = monitor.last
    assert review.outcomes == LineOutcomes(dropped=7, kept=2, surfaced=1)
    assert review.emitter is not None
    assert (review.emitter.name, review.emitter.run) == ("watch", 1)
    assert review.stream == "watch@tap"
    monitor.shell.counts(lines=15, dropped=9)
    monitor.review()
    assert monitor.last.outcomes == LineOutcomes(dropped=2)  # since the last review


def test_the_emitters_stream_is_the_same_monitor(monitor: Monitor) -> None:
    monitor.shell.says("one")
    monitor.review(monitor="watch@tap", range={"from": 1, "to": monitor.lines()})
    assert monitor.last.emitter is not None
    assert monitor.last.emitter.name == "watch"


def test_another_session_of_the_folder_reviews_the_same_lines(monitor: Monitor) -> None:
    monitor.shell.says("one", "two", "three", "four")
    monitor.review(range={"from": 1, "to": 2})
    monitor.host.open("s2", cwd="/repo")
    told = monitor.review("s2", range={"from": 4, "to": 4})
    assert told["unreviewed"] == 1
    emitter = monitor.shell.shown()
    state = monitor.talk.gateway.state
    assert [one.session_id for one in reviews_about(state, emitter)] == ["s1", "s2"]


def test_lines_since_the_last_review_are_counted_for_towers(monitor: Monitor) -> None:
    state, emitter = monitor.talk.gateway.state, monitor.shell.shown()
    monitor.shell.says("one")
    assert unreviewed_of(state, emitter) == (0, [])  # none was reviewed yet
    monitor.review(range={"from": 1, "to": monitor.lines()})
    monitor.shell.says("two", "three")
    lines = monitor.lines()
    assert unreviewed_of(state, emitter) == (2, [SeqRange(lines - 1, lines)])
    (standing,) = monitors_of(state, "s1")
    assert (standing.reviews, standing.unreviewed, standing.open_findings) == (1, 2, 0)


def test_an_escalation_is_a_record_and_no_prompt(monitor: Monitor) -> None:
    monitor.host.hear()
    monitor.host.invoke("s1", "tap_record_review", "r", args={
        "monitor": "watch", "observed": "o", "decision": "escalate", "reason": "r",
    })  # fmt: skip
    heard = {one["type"] for one in monitor.host.hear()}
    assert heard == {"tool.outcome"}
