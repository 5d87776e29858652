"""Reviews: what the gateway adds to what an agent says, and what it refuses."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapui.core.reviews.reviews import _gaps, _joined
from tapui.projection.reviews import gap_words, monitors_of, told_monitors
from tapui.wire import limits
from tapui.wire.reviews import LineOutcomes, SeqRange
from tests.core.harness import Json
from tests.core.reviews.played import ReviewScene

RANGE = {"from": 2, "to": 4}


def test_a_review_has_its_lines_counted_by_the_gateway(played: ReviewScene) -> None:
    played.post(2)
    played.post(2, level="surface")
    told = played.review(range=RANGE)
    review = played.last()
    assert told == {
        "reviewId": review.id,
        "seq": 1,
        "lines": 3,
        "outcomes": {"dropped": 0, "kept": 1, "surfaced": 2, "injected": 0, "unknown": 0},
    }
    assert (review.stream, review.range, review.lines) == ("ci@tap", SeqRange(2, 4), 3)
    assert review.outcomes == LineOutcomes(kept=1, surfaced=2)
    assert (review.session_id, review.source, review.reviewer) == (played.session, "tool", "ci")


def test_what_a_model_says_of_these_is_refused(played: ReviewScene) -> None:
    for name in ("lines", "outcomes", "turn", "model", "agentId", "seq", "reviewId"):
        assert f"{name}: not known here" in played.review(**{name: 1})
    assert played.state.reviews_of(played.session) == []


def test_turn_model_and_subagent_are_the_gateways(played: ReviewScene) -> None:
    played.host.say(type="session.update", sessionId=played.session, model="gpt-5")
    played.begin()
    played.tell("subagent.started", remoteSessionId="c1", agentName="security", toolCallId="t9")
    played.host.invoke(
        played.session,
        "tap_record_review",
        "by-child",
        args={"monitor": "diff", "observed": "o", "decision": "note", "reason": "r"},
        agentId="c1",
    )
    review = played.last()
    assert (review.turn, review.model) == (1, "gpt-5")
    assert (review.agent_id, review.reviewer) == ("c1", "security")


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"from": 1, "to": 5}, "range.to: ci@tap has 4 lines"),
        ({"from": 3, "to": 2}, "range.to: comes before range.from"),
        ({"from": 0, "to": 2}, "range.from"),
        ({"from": 1}, "range"),
        ({"from": "1", "to": 2}, "range.from"),
    ],
)
def test_a_range_that_is_not_there_is_refused(played: ReviewScene, given: Json, why: str) -> None:
    played.post(4)
    assert why in played.review(range=given)
    assert played.state.reviews_of(played.session) == []


def test_a_range_of_a_stream_that_is_not_there_is_refused(played: ReviewScene) -> None:
    assert "range: nothing has no lines" in played.review(
        monitor="nothing", range={"from": 1, "to": 1}
    ).replace("nothing@tap", "nothing")


def test_lines_that_no_review_has_are_counted(played: ReviewScene) -> None:
    played.post(20)
    played.review(range={"from": 3, "to": 5})
    assert played.last().unreviewed == 0  # only between two reviews
    assert played.review(range={"from": 10, "to": 12})["unreviewed"] == 4
    assert "unreviewed" not in played.review(range={"from": 13, "to": 20})
    assert "unreviewed" not in played.review(range={"from": 1, "to": 2})  # later than it came
    played.post(1)
    assert "unreviewed" not in played.review(range={"from": 21, "to": 21})


def left(played: ReviewScene) -> tuple[int, list[tuple[int, int]]]:
    """Return how many lines no review has, and which."""
    (monitor,) = monitors_of(played.state, played.session)
    return monitor.unreviewed, [(one.first, one.last) for one in monitor.gaps]


def test_lines_that_no_review_has_stay_until_one_has_them(played: ReviewScene) -> None:
    played.post(40)
    played.review(range={"from": 1, "to": 10})
    assert left(played) == (30, [(11, 40)])
    played.review(range={"from": 21, "to": 30})
    assert left(played) == (20, [(11, 20), (31, 40)])
    played.review(range={"from": 31, "to": 40})  # the gap before stays
    assert left(played) == (10, [(11, 20)])
    played.review()  # without a range
    assert left(played) == (10, [(11, 20)])
    played.review(range={"from": 14, "to": 16})  # late
    assert left(played) == (7, [(11, 13), (17, 20)])
    played.review(range={"from": 9, "to": 22})
    assert left(played) == (0, [])
    played.post(2)
    assert left(played) == (2, [(41, 42)])
    (told,) = told_monitors(played.state, played.session)
    assert (told["unreviewed"], told["unreviewedRanges"]) == (2, [{"from": 41, "to": 42}])


def test_many_gaps_are_counted_and_the_newest_told(played: ReviewScene) -> None:
    played.post(400)
    for first in range(1, 400, 4):
        played.review(range={"from": first, "to": first})
    count, gaps = left(played)
    assert (count, len(gaps)) == (300, limits.MAX_GAPS)
    assert gaps[-1] == (398, 400)
    assert gap_words(count, monitors_of(played.state, played.session)[0].gaps).startswith("… ")


@given(
    st.lists(st.tuples(st.integers(1, 60), st.integers(0, 20)), max_size=30),
    st.integers(1, 90),
)
def test_the_gaps_are_the_lines_in_no_range(
    given_ranges: list[tuple[int, int]], lines: int
) -> None:
    ranges: list[SeqRange] = []
    seen: set[int] = set()
    for first, more in given_ranges:
        ranges = _joined(ranges, SeqRange(first, first + more))
        seen |= set(range(first, first + more + 1))
    gaps = _gaps(ranges, lines)
    found = [seq for one in gaps for seq in range(one.first, one.last + 1)]
    assert found == [seq for seq in range(1, lines + 1) if seq not in seen]


def test_outcomes_of_lines_whose_level_is_kept_no_more_are_unknown(played: ReviewScene) -> None:
    # Each line begins a run of its own: the first ones leave the table of the stream.
    most = limits.LEVEL_RUNS
    streams = played.talk.gateway.parts.streams
    played.post(1)
    levels = streams.of(played.session)["ci@tap"].levels
    for n in range(2, most + 12):
        levels.add(n, "surface" if n % 2 else "keep")
    assert levels.counts(1, 11) == {"": 11}
    assert levels.counts(1, most + 11)[""] == 11
    assert sum(levels.counts(1, most + 11).values()) == most + 11


def test_each_review_is_a_line_of_its_stream_and_an_event(played: ReviewScene) -> None:
    played.post(1)
    played.review(range={"from": 1, "to": 1}, next={"check": "10m"}, evidence=["ci@tap#1"])
    review = played.last()
    (posted,) = [one for one in played.talk.events("stream.posted")
                 if one["stream"] == "reviews@tap"]  # fmt: skip
    assert posted["line"]["event"] == (
        f"REVIEW RECORD {review.id}: note\nmonitor: ci\nstream: ci@tap\nrange: 1-1\nlines: 1\n"
        "observed: builds\nreason: none\nevidence: ci@tap#1\nnext: 10m"
    )
    assert posted["line"]["level"] == "keep"
    (event,) = played.talk.events("review.recorded")
    assert event["review"]["id"] == review.id


def test_an_agent_cannot_decide_about_a_finding(played: ReviewScene) -> None:
    finding = played.found()
    proposal = {"finding": finding.id, "disposition": "accepted", "reason": "sure"}
    played.review(monitor="audit", proposals=[proposal])
    now = played.state.reviews_of(played.session)[0].findings[0]
    assert (now.disposition, now.disposed) == ("open", None)
    assert now.proposed is not None
    assert (now.proposed.disposition, now.proposed.by) == ("accepted", "audit")


def test_a_proposal_about_nothing_is_refused(played: ReviewScene) -> None:
    given = [{"finding": "f-9", "disposition": "accepted"}]
    assert "proposals[0].finding: no finding f-9 is there" in played.review(proposals=given)
    assert played.state.reviews_of(played.session) == []


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"monitor": ""}, "monitor: missing"),
        ({"decision": "panic"}, "decision"),
        ({"confidence": 1.5}, "confidence"),
        ({"observed": "x" * (limits.MAX_CRITERION + 1)}, "observed"),
        ({"findings": [{"title": "t"}] * (limits.MAX_REVIEW_FINDINGS + 1)}, "findings: a list"),
        ({"findings": [{"title": ""}]}, "findings[0].title"),
        ({"findings": ["t"]}, "findings[0]: expected an object"),
        ({"findings": [{"title": "t", "path": "p", "lines": [3, 2]}]}, "findings[0].lines"),
        ({"findings": [{"title": "t", "check": {"kind": "magic"}}]}, "findings[0].check.kind"),
        ({"findings": [{"title": "t", "oops": 1}]}, "findings[0].oops: not known here"),
        ({"actions": [{"what": "x"}] * (limits.MAX_REVIEW_ACTIONS + 1)}, "actions"),
    ],
)
def test_what_cannot_be_is_refused_with_its_field(
    played: ReviewScene, given: dict[str, Any], why: str
) -> None:
    assert why in played.review(**given)
    assert played.state.reviews_of(played.session) == []


def test_ten_thousand_findings_are_refused_at_once_and_bounded_over_reviews(
    played: ReviewScene,
) -> None:
    assert "findings: a list of at most" in played.review(findings=[{"title": "t"}] * 10_000)
    for n in range(limits.RECENT_FINDINGS // 50 + 5):
        played.review(findings=[{"title": f"{n}-{m}", "body": "b" * 200} for m in range(50)])
    kept = played.state.reviews_of(played.session)
    assert len(kept) == limits.RECENT_FINDINGS // 50
    assert all(one.is_cut and len(one.findings) == 50 for one in kept)
    assert all(not found.body for one in kept for found in one.findings)


def test_of_too_many_reviews_the_oldest_go_first(played: ReviewScene) -> None:
    for n in range(limits.RECENT_REVIEWS + 5):
        played.review(observed=str(n))
    kept = [one.observed for one in played.state.reviews_of(played.session)]
    assert kept == [str(n) for n in range(5, limits.RECENT_REVIEWS + 5)]


def test_a_review_that_is_too_large_is_refused(played: ReviewScene) -> None:
    found = [{"title": "t", "body": "b" * limits.MAX_NOTE_BODY}] * 60
    assert "a review has at most" in played.review(findings=found)
