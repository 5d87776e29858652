"""Findings: known again, judged by their checks, and decided about by the person alone."""

import pytest

from tapui.core.proof.facts import FindingStood
from tapui.core.proof.ledger import read
from tests.core.reviews.played import CHECKED, ReviewScene

CODE = "def total(text):\n    return eval(text)\n\n\ndef other():\n    pass"


@pytest.fixture(autouse=True)
def _code(played: ReviewScene) -> None:
    played.begin()
    played.edit("cart.py", CODE)


def test_a_finding_without_a_check_is_an_opinion(played: ReviewScene) -> None:
    finding = played.found()
    assert finding.is_opinion
    assert finding.verdict is None
    assert finding.quote == "    return eval(text)"
    assert finding.reviewer == "audit"


def test_a_check_is_judged_when_the_finding_is_recorded(played: ReviewScene) -> None:
    finding = played.found(check=CHECKED)
    assert not finding.is_opinion
    assert finding.verdict is not None


def test_the_agent_reads_how_to_name_its_findings(played: ReviewScene) -> None:
    answer = played.review(findings=[{"title": "t", "path": "cart.py", "lines": 2}])
    (told,) = answer["findings"]
    finding = played.last().findings[0]
    assert told == {
        "id": finding.id,
        "fingerprint": finding.fingerprint,
        "title": "t",
        "isOpinion": True,
    }


def test_what_the_person_rejected_stays_rejected_when_it_is_found_again(
    played: ReviewScene,
) -> None:
    first = played.found()
    answer = played.dispose(first.id, "rejected", reason="text is ours")
    assert answer["finding"]["disposed"]["by"] == "you"
    played.edit("cart.py", f"import os\n\n{CODE}")
    again = played.found(lines={"first": 4, "last": 4}, title="user input is evaluated")
    assert again.id != first.id
    assert again.fingerprint == first.fingerprint
    assert again.disposed is not None
    assert (again.disposition, again.disposed.reason) == ("rejected", "text is ours")
    told = played.review(findings=[{
        "title": "t", "path": "cart.py", "lines": {"first": 4, "last": 4}, "rule": "eval",
    }])  # fmt: skip
    assert told["findings"][0]["disposition"] == "rejected"


def test_another_finding_at_the_line_is_another_one(played: ReviewScene) -> None:
    played.dispose(played.found().id, "rejected")
    assert played.found(rule="naming").disposition == "open"
    assert played.found(rule="", title="total has no type").disposition == "open"


def test_a_decision_is_taken_back(played: ReviewScene) -> None:
    finding = played.found()
    played.dispose(finding.id, "deferred")
    played.dispose(finding.fingerprint, "open")
    assert played.state.reviews_of(played.session)[0].findings[0].disposed is None
    assert played.found().disposition == "open"
    kinds = [one["finding"].get("disposed") for one in played.talk.events("review.disposed")]
    assert [bool(one) for one in kinds] == [True, False]


def test_what_was_found_twice_is_decided_about_at_once(played: ReviewScene) -> None:
    played.found()
    second = played.found()
    played.dispose(second.id, "accepted")
    reviews = played.state.reviews_of(played.session)
    assert [one.findings[0].disposition for one in reviews] == ["accepted", "accepted"]
    assert all(one.findings[0].quote for one in reviews)  # what the event has not, stays


def test_an_unknown_finding_is_refused(played: ReviewScene) -> None:
    answer = played.dispose("f-99", "rejected")
    assert (answer["code"], answer["message"]) == ("NOT_FOUND", "finding: no finding f-99 is there")


def test_decisions_are_there_again_with_the_session(played: ReviewScene) -> None:
    finding = played.found()
    played.dispose(finding.id, "rejected")
    facts = read(played.session, played.shell.ledgers[played.session]).facts
    (kept,) = [one for one in facts if isinstance(one, FindingStood)]
    assert (kept.finding.body, kept.finding.quote) == ("", "")
    played.host.say(type="session.close", sessionId=played.session)
    played.talk.wait(20)
    played.open()
    assert played.state.reviews_of(played.session) == []
    played.begin()
    assert played.found().disposition == "rejected"


def test_decisions_move_along_with_a_session_that_is_replaced(played: ReviewScene) -> None:
    played.dispose(played.found().id, "rejected")
    former = played.session
    played.session = "s3"
    played.host.open("s3", replaces=former, shellTools=["bash"], reservedTools=["bash"],
                     cwd="/code")  # fmt: skip
    assert [one.session_id for one in played.state.reviews.values()] == ["s3"]
    played.begin()
    assert played.found().disposition == "rejected"


def test_another_session_of_the_folder_knows_it_and_one_of_another_folder_not(
    played: ReviewScene,
) -> None:
    played.dispose(played.found().id, "rejected")
    for session, folder, disposition in (("s4", "/code", "rejected"), ("s5", "/other", "open")):
        played.host.open(session, shellTools=["bash"], reservedTools=["bash"], cwd=folder)
        played.session = session
        played.begin()
        assert played.found().disposition == disposition, folder


def test_a_note_of_the_persons_is_decided_about_as_a_finding_is(played: ReviewScene) -> None:
    heard = played.tower.ask(
        {
            "type": "note.keep", "id": "n", "sessionId": played.session, "root": "/code",
            "path": "cart.py", "body": "no eval here\nplease", "quote": "    return eval(text)",
            "lines": {"first": 2, "last": 2},
        }
    )  # fmt: skip
    (note,) = [one["note"] for one in heard if one["type"] == "changes.done"]
    answer = played.dispose(note["id"], "fixed")
    finding = answer["finding"]
    assert (finding["title"], finding["reviewer"], finding["noteId"]) == (
        "no eval here", "person", note["id"],
    )  # fmt: skip
    kept = played.state.marks[played.session].notes[note["id"]]
    assert kept.disposed is not None
    assert kept.disposed.disposition == "fixed"


def test_a_file_that_cannot_be_read_costs_the_quote_alone(played: ReviewScene) -> None:
    finding = played.found(path="gone.py")
    assert (finding.quote, finding.path) == ("", "gone.py")
