"""Reviews in words, counted by reviewer, and folded of their records."""

from typing import Any

import pytest

from tapui.projection.reviews import (
    ReviewLog,
    disposition_words,
    note_finding,
    outcome_words,
    place_words,
    precisions,
    range_words,
    standing_words,
    unreviewed_words,
)
from tapui.wire import events as ev
from tapui.wire.changes import ChangeNote, LineRange
from tapui.wire.criteria import Disposal, FileIs, Verdict
from tapui.wire.reviews import PERSON, Finding, LineOutcomes, Review, SeqRange

CHECK = FileIs(path="a.py")


def finding(**given: Any) -> Finding:
    usual = {"id": "f-1", "fingerprint": "f1-a-b-c", "title": "t", "reviewer": "audit"}
    return Finding(**{**usual, **given})


def review(*findings: Finding, **given: Any) -> Review:
    usual = {"id": "rv-1", "session_id": "s1", "monitor": "ci", "decision": "note", "at": "",
             "observed": "o", "reason": "r", "findings": list(findings)}  # fmt: skip
    return Review(**{**usual, **given})


def decided(disposition: Any) -> Disposal:
    return Disposal(disposition, "you", "2026-11-20T10:00:00.000000Z")


@pytest.mark.parametrize(
    ("count", "words"),
    [(0, ""), (1, "unreviewed 1 line"), (1_200, "unreviewed 1,200 lines")],
)
def test_lines_without_a_review(count: int, words: str) -> None:
    assert unreviewed_words(count) == words


def test_a_range_and_its_outcomes() -> None:
    one = review(range=SeqRange(12, 40), lines=29, outcomes=LineOutcomes(2, 27, 0, 1, 1))
    assert range_words(one) == "lines 12-40 (29)"
    assert outcome_words(one) == "2 dropped, 27 kept, 1 injected, 1 too long ago"
    assert (range_words(review()), outcome_words(review())) == ("", "")


def test_what_a_finding_rests_on() -> None:
    assert standing_words(finding()) == "opinion"
    assert standing_words(finding(check=CHECK)) == "not checked"
    assert standing_words(finding(check=CHECK, verdict=Verdict("failed"))) == "holds"
    assert standing_words(finding(check=CHECK, verdict=Verdict("passed"))) == (
        "does not hold any more"
    )


def test_what_was_decided_or_is_proposed() -> None:
    assert disposition_words(finding()) == "open"
    proposed = Disposal("rejected", "ci-review", "")
    assert disposition_words(finding(proposed=proposed)) == "open, rejected proposed by ci-review"
    both = finding(proposed=proposed, disposed=decided("accepted"))
    assert disposition_words(both) == "accepted"


def test_where_it_is() -> None:
    assert place_words(finding(path="a.py", lines=LineRange(2, 4))) == "a.py:2-4"
    assert place_words(finding(path="a.py", lines=LineRange(2, 2))) == "a.py:2"
    assert place_words(finding(path="a.py")) == "a.py"


def test_precision_counts_each_finding_once_by_its_last_decision() -> None:
    found = [
        finding(id="1", fingerprint="a"),
        finding(id="2", fingerprint="a", disposed=decided("accepted"), check=CHECK),
        finding(id="3", fingerprint="b", disposed=decided("fixed"), check=CHECK),
        finding(id="4", fingerprint="c", disposed=decided("rejected"), check=CHECK),
        finding(id="5", fingerprint="d", disposed=decided("deferred")),
        finding(id="6", fingerprint="a", reviewer="other"),
        finding(id="7", fingerprint="e", reviewer=PERSON),
    ]
    first, second = precisions(found)
    assert (first.reviewer, first.findings, first.opinions) == ("audit", 4, 1)
    assert (first.accepted, first.rejected, first.value) == (2, 1, 2 / 3)
    assert (second.reviewer, second.value) == ("other", None)


def test_a_note_is_a_finding_of_the_person() -> None:
    note = ChangeNote("n-1", "/code", "sub/a.py", "", "why?\nmore", LineRange(2, 3), quote="x\ny")
    found = note_finding(note, "/code")
    assert (found.id, found.reviewer, found.title, found.path) == (
        "n-1", PERSON, "why?", "sub/a.py",
    )  # fmt: skip
    assert standing_words(found) == "note"
    assert note_finding(note, "/code/sub").path == "a.py"
    assert note_finding(note, "/other").path == "sub/a.py"


def test_records_fold_to_findings_as_they_were_decided() -> None:
    log = ReviewLog()
    one = finding(body="long", review_id="rv-1")
    note = ChangeNote("n-1", "/code", "a.py", "", "why?")
    log.add(ev.ReviewRecorded(session_id="s1", review=review(one)))
    log.add(ev.NoteKept(session_id="s1", note=note))
    short = finding(disposed=decided("rejected"), review_id="rv-1")
    log.add(ev.FindingDisposed(session_id="s1", finding=short))
    assert log.findings["f-1"].body == "long"
    assert log.findings["f-1"].disposition == "rejected"
    assert log.session_of == {"f-1": "s1", "n-1": "s1"}
    assert log.named("f-") == [log.findings["f-1"]]
    assert log.named("f1-a") == [log.findings["f-1"]]
    log.add(ev.NoteDropped(session_id="s1", note_id="n-1"))
    assert list(log.findings) == ["f-1"]
