"""Reviews as posted text: both forms make the record that the tool makes."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from tapui.core.reviews import marked_text
from tapui.wire.errors import WireError
from tapui.wire.reviews import Review, ReviewAction, ReviewNext, SeqRange
from tests.core.reviews.played import ReviewScene

TEXT = """\
REVIEW RECORD new: surface
monitor: ci
range: 1-3
observed: build 812 failed
  key: not a key
reason: it is the first
evidence: ci@tap#3
evidence: build.log
action: told the person
confidence: 0.8
next: 10m"""
FORMER = """\
=== BEGIN_REVIEW_RECORD ===
{"reviewed_at": "2026-11-20T10:00:00Z", "entries_examined": 3, "issue_type": "noise_pattern",
 "patterns_changed": ["drop DEBUG"], "remaining_noise_delta": [], "signal_vocabulary": ["ERROR"],
 "noise_vocabulary": ["DEBUG", "TRACE"]}
=== END_REVIEW_RECORD ==="""


def bare(review: Review) -> Review:
    """Return a review without what two records of the same cannot have in common."""
    return replace(review, id="", at="", seq=0, source="tool", outcomes=None)


def test_text_and_tool_make_the_same_record(played: ReviewScene) -> None:
    played.post(3)
    posted = played.call("tap_post", stream="reviews", message=TEXT, level="inject")
    by_text = played.last()
    assert posted == {"stream": "reviews@tap", "seq": by_text.seq}
    assert by_text.source == "text"
    played.review(
        range={"from": 1, "to": 3},
        observed="build 812 failed\nkey: not a key",
        decision="surface",
        reason="it is the first",
        evidence=["ci@tap#3", "build.log"],
        actions=[{"what": "told the person"}],
        confidence=0.8,
        next={"check": "10m"},
    )
    assert bare(by_text) == bare(played.last())
    assert [one["line"]["level"] for one in played.talk.events("stream.posted")][-2:] == [
        "keep",
        "keep",
    ]


def test_the_earlier_form_is_a_record_too(played: ReviewScene) -> None:
    played.post(3)
    metadata = {"monitor": "ci"}
    played.call("tap_post", stream="reviews", message=FORMER, metadata=metadata)
    review = played.last()
    assert (review.monitor, review.decision, review.reason) == ("ci", "act", "noise pattern")
    assert review.observed == (
        "3 entries examined; signal vocabulary: ERROR; noise vocabulary: DEBUG, TRACE"
    )
    assert [one.what for one in review.actions] == ["drop DEBUG"]


def test_the_earlier_form_in_the_reviewers_own_stream(played: ReviewScene) -> None:
    played.post(1)
    posted = played.call("tap_post", channel="ci-review", message=FORMER)
    assert posted == {"stream": "ci-review@tap", "seq": 1}  # its line stays there
    assert played.last().monitor == "ci"


@pytest.mark.parametrize("end", ["", "=== END"])
def test_a_broken_one_in_another_stream_is_a_line(played: ReviewScene, end: str) -> None:
    text = FORMER.partition("=== END")[0] + end
    assert played.call("tap_post", channel="ci-review", message=text)["seq"] == 1
    assert played.state.reviews_of(played.session) == []


def test_other_text_in_the_stream_is_a_line(played: ReviewScene) -> None:
    assert played.call("tap_post", stream="reviews", message="looks good")["seq"] == 1
    assert played.state.reviews_of(played.session) == []


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("REVIEW RECORD: note", "begins `REVIEW RECORD <id>: <ignore|note"),
        ("REVIEW RECORD x: panic\nmonitor: ci", "begins `REVIEW RECORD <id>: <ignore|note"),
        ("REVIEW RECORD x: note\nobserved: o", "monitor: missing"),
        ("REVIEW RECORD x: note\nhello\nmonitor: ci", "`hello` has no key"),
        ("REVIEW RECORD x: note\nmonitor: ci\nrange: all", "range: two numbers"),
        ("REVIEW RECORD x: note\nmonitor: ci\nrange: 1-9", "range.to: ci@tap has 1 lines"),
        ("REVIEW RECORD x: note\nmonitor: ci\nconfidence: high", "confidence: a number"),
        ("REVIEW RECORD x: note\nmonitor: ci\nfinding: {", "finding[0]: no JSON object"),
        ("REVIEW RECORD x: note\nmonitor: ci\nfinding: [1]", "finding[0]: no JSON object"),
        (FORMER.partition("===\n")[0] + "===\n", "no line === END_REVIEW_RECORD ==="),
        (FORMER.replace("noise_pattern", "other"), "issue_type: one of"),
        (FORMER.replace('["drop DEBUG"]', '"all"'), "patterns_changed: expected a list"),
    ],
)
def test_what_cannot_be_read_is_refused_where_a_record_is_meant(
    played: ReviewScene, text: str, why: str
) -> None:
    played.post(1)
    assert why in played.call("tap_post", stream="reviews", message=text)
    assert played.state.reviews_of(played.session) == []
    assert not [one for one in played.talk.events("stream.posted")
                if one["stream"] == "reviews@tap"]  # fmt: skip


LINES = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=30).map(
    str.strip
)
TEXTS = st.lists(LINES, min_size=1, max_size=3).map("\n".join).map(str.strip).filter(bool)
WORD = st.from_regex(r"[a-z][a-z0-9-]{0,20}", fullmatch=True)


@given(
    monitor=WORD,
    decision=st.sampled_from(marked_text.DECISIONS),
    observed=TEXTS,
    reason=TEXTS,
    evidence=st.lists(WORD, max_size=3),
    actions=st.lists(TEXTS, max_size=2),
    first=st.integers(1, 10**6),
    confidence=st.none() | st.sampled_from([0.0, 0.25, 0.5, 1.0]),
    check=st.none() | WORD,
)
def test_the_line_of_a_review_reads_back_as_the_review(
    monitor: str,
    decision: Any,
    observed: str,
    reason: str,
    evidence: list[str],
    actions: list[str],
    first: int,
    confidence: float | None,
    check: str | None,
) -> None:
    review = Review(
        "rv-1", "s1", monitor, decision, "", observed, reason,
        stream="ci@tap", range=SeqRange(first, first + 2), lines=3,
        evidence=evidence, actions=[ReviewAction(one) for one in actions],
        confidence=confidence, next=None if check is None else ReviewNext(check),
    )  # fmt: skip
    read = marked_text.read(marked_text.text_of(review))
    for name in ("monitor", "decision", "observed", "reason", "stream", "range", "evidence",
                 "actions", "confidence", "next"):  # fmt: skip
        assert getattr(read, name) == getattr(review, name), name


@given(st.text(max_size=400))
def test_any_text_is_read_or_refused(text: str) -> None:
    for head in (f"{marked_text.MARK} x: note\n", f"{marked_text.BEGIN}\n", ""):
        try:
            read = marked_text.read(head + text)
        except WireError:
            continue
        assert read.monitor
        msgspec.json.encode(read)
