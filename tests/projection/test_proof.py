"""What is recorded of turns, as sessions, lists and commands show it."""

from typing import Any

import pytest

from tapui.projection.proof import (
    activity_word,
    proof_line,
    record_of,
    recorded_words,
    says_words,
    session_recorded_words,
    told_records,
    unchecked_sessions,
)
from tapui.projection.turns.earlier_turns import bounded
from tapui.wire import events as ev
from tapui.wire import limits
from tapui.wire.criteria import CheckedRun, Pointer, SessionStanding, TurnProof
from tapui.wire.subjects import Subagent
from tapui.wire.turns import FileChange
from tests.projection.test_turns import Day
from tests.records.turns import session

CHECKED = TurnProof("checked", "pytest, 212 tests, after the last change")
FAILED = TurnProof("failed", "pytest, exit 1")
UNCHECKED = TurnProof(
    "unchecked",
    "3 files changed since pytest passed",
    [Pointer("command", "call:c1", "recorded", "2026-01-01T19:41:00Z")],
)


@pytest.fixture
def day() -> Day:
    return Day()


def turn(day: Day, *changed: str, ends: bool = True, says: str = "All tests pass.") -> str:
    """Let a turn happen that changes files; return when it began."""
    day.happen("user.message", content="go")
    began = day.turn.head.started_at
    day.tell(ev.SessionUpdated("s1", session("s1", state="busy")))
    for path in changed:
        day.start(f"{began} {path}", "edit", path=path)
        day.finish(f"{began} {path}", changes=[FileChange(path, 1, 1)])
    day.happen("assistant.message", content=says)
    if ends:
        day.happen("session.idle")
        day.tell(ev.SessionUpdated("s1", session("s1")))
    return began


def prove(day: Day, began: str, proof: TurnProof | None) -> None:
    """A turn's line, and how the session stands after it."""
    day.tell(ev.TurnProved("s1", began, proof))
    stand(day, proof, began)


def stand(day: Day, proof: TurnProof | None, after: str = "") -> None:
    after = after or day.turn.head.started_at
    day.tell(ev.SessionStood("s1", None if proof is None else SessionStanding(proof, after)))


def word(day: Day) -> str:
    return activity_word(day.state, day.state.sessions["s1"])


def clock(ts: str) -> str:
    return ts[11:16]


def recorded(day: Day) -> str | None:
    return session_recorded_words(day.state.turns["s1"], clock, ". v")


@pytest.mark.parametrize(
    ("proof", "shown"),
    [
        (CHECKED, "done ✓"),
        (FAILED, "done ✗"),
        (UNCHECKED, "done ○"),
        (None, "done"),
    ],
)
def test_a_session_that_changed_files_is_done_and_never_idle(
    day: Day, proof: TurnProof | None, shown: str
) -> None:
    assert word(day) == "idle"
    prove(day, turn(day, "a.py"), proof)
    assert word(day) == shown


def test_a_session_whose_turns_changed_nothing_is_idle(day: Day) -> None:
    turn(day)
    assert word(day) == "idle"
    assert told_records(day.state) == {}


def test_only_what_rests_is_done(day: Day) -> None:
    prove(day, turn(day, "a.py"), UNCHECKED)
    turn(day, ends=False)
    assert word(day) == "busy"
    assert unchecked_sessions(day.state) == []
    day.happen("session.idle")
    stand(day, UNCHECKED)
    day.tell(ev.SessionUpdated("s1", session("s1", silent=True)))
    assert word(day) == "no answer"
    reviewer = Subagent("r1", "reviewer", "running", "")
    day.tell(ev.SessionUpdated("s1", session("s1", subagents=[reviewer])))
    assert word(day) == "busy", "its subagent may still change files"
    day.tell(ev.SessionUpdated("s1", session("s1")))
    assert word(day) == "done ○"
    assert [one.id for one in unchecked_sessions(day.state)] == ["s1"]
    day.tell(ev.SessionClosed("s1", session("s1", state="ended")))
    assert word(day) == "ended"
    assert unchecked_sessions(day.state) == []


def test_a_prompt_that_its_host_has_not_begun_is_work(day: Day) -> None:
    prove(day, turn(day, "a.py"), CHECKED)
    day.happen("user.message", content="why?")
    assert word(day) == "busy", "it is neither idle nor done"
    day.happen("session.idle")
    stand(day, CHECKED)
    assert word(day) == "done ✓"


def test_a_turn_that_changed_nothing_leaves_the_mark_of_the_one_before(day: Day) -> None:
    prove(day, turn(day, "a.py"), CHECKED)
    turn(day, says="It reads three files.")
    assert word(day) == "done", "the folder was not looked at yet"
    stand(day, CHECKED)
    assert word(day) == "done ✓"
    turn(day, says="It runs the tests once more.")
    stand(day, FAILED)
    assert word(day) == "done ✗"
    assert recorded(day) == "✗ check failed: pytest, exit 1"
    turns = day.state.turns["s1"]
    assert recorded_words(turns, turns.turns[0], clock, "v") == proof_line(CHECKED, clock)
    turn(day, says="It reads three files.")
    stand(day, CHECKED)
    assert says_words(day.state.turns["s1"].latest) == "“It reads three files.”"


def test_a_tick_is_never_of_files_that_were_changed_after_it(day: Day) -> None:
    prove(day, turn(day, "a.py"), CHECKED)
    began = turn(day, "b.py")
    assert word(day) == "done", "the folder was not looked at yet"
    assert recorded(day) == "not known: the folder was not looked at since the last turn"
    prove(day, began, UNCHECKED)
    assert word(day) == "done ○"
    assert recorded(day) == "○ unchecked: 3 files changed since pytest passed, 19:41"


@pytest.mark.parametrize(("proof", "shown"), [(FAILED, "done ✗"), (UNCHECKED, "done ○")])
def test_what_failed_or_was_not_checked_stays_so_until_the_next_proof(
    day: Day, proof: TurnProof, shown: str
) -> None:
    prove(day, turn(day, "a.py"), proof)
    began = turn(day, "b.py")
    assert word(day) == shown
    prove(day, began, CHECKED)
    assert word(day) == "done ✓"


def test_a_later_check_shows_beside_the_line_of_the_turn(day: Day) -> None:
    began = turn(day, "a.py")
    prove(day, began, UNCHECKED)
    prove(day, began, TurnProof("unchecked", UNCHECKED.text, UNCHECKED.pointers, checked_in=2))
    stand(day, CHECKED)
    line = "○ unchecked: 3 files changed since pytest passed, 19:41 · checked in 2"
    turns = day.state.turns["s1"]
    assert recorded_words(turns, turns.turns[0], clock, "v") == line
    assert recorded(day) == "✓ checked: pytest, 212 tests, after the last change"
    assert word(day) == "done ✓"
    prove(day, began, None)
    assert word(day) == "done"


@pytest.mark.parametrize(
    ("proof", "line"),
    [
        (CHECKED, "✓ checked: pytest, 212 tests, after the last change"),
        (FAILED, "✗ check failed: pytest, exit 1"),
        (UNCHECKED, "○ unchecked: 3 files changed since pytest passed, 19:41"),
        (
            TurnProof("unchecked", "1 file changed since pytest failed", UNCHECKED.pointers),
            "○ unchecked: 1 file changed since pytest failed, 19:41",
        ),
        (TurnProof("failed", "a\nb"), "✗ check failed: a ⏎ b"),
    ],
)
def test_the_line_of_a_turn(proof: TurnProof, line: str) -> None:
    assert proof_line(proof, clock) == line


def test_where_no_check_is_known_it_says_how_one_is_named(day: Day) -> None:
    turn(day, "a.py")
    assert recorded(day) == "no check known here; . v names one"
    turn(day, "a.py", ends=False)
    assert recorded(day) is None, "it goes on"


def test_a_turn_without_a_proof_where_a_check_is_known_says_so(day: Day) -> None:
    prove(day, turn(day, "a.py"), CHECKED)
    turn(day, "README.md")
    turns = day.state.turns["s1"]
    words = recorded_words(turns, turns.turns[-1], clock, ". v")
    assert words is not None
    assert words.startswith("nothing: no file that counts for a check")


def test_what_was_read_back_is_from_before_tapui_watched(day: Day) -> None:
    prove(day, turn(day, "a.py"), CHECKED)
    told = day.turn
    again = Day()
    again.tell(ev.TurnsRestored("s1", bounded([told])))
    assert word(again) == "done", "records of a workspace prove nothing"
    assert recorded(again) == "unknown: from before tapui watched"
    assert again.turn.head.says == "All tests pass."


def test_what_the_agent_says_is_quoted_and_bounded(day: Day) -> None:
    turn(day, says="First.\n" + " x" * 500 + "\nDone: all tests pass.")
    words: Any = says_words(day.state.turns["s1"].latest)
    assert words.endswith("x ⏎ Done: all tests pass.”")
    assert words.startswith("“… x")
    # At a cut up to three words are left out, which may be the rest of a secret.
    assert limits.MAX_SUMMARY - 8 < len(words) <= limits.MAX_SUMMARY + 2


def test_records_of_anyone_fill_no_memory(day: Day) -> None:
    pointers = [Pointer("call", "x", "recorded")] * 10_000
    runs = [CheckedRun("x" * 10**6, "t")] * 10_000
    prove(day, turn(day, "a.py"), TurnProof("checked", "x" * 10**6, pointers, runs=runs))
    standing = day.state.turns["s1"].standing
    for kept in (day.turn.head.proof, standing.proof if standing is not None else None):
        assert kept is not None
        assert (len(kept.text), len(kept.pointers)) == (limits.MAX_SUMMARY, 20)
        assert {len(one.command) for one in kept.runs} == {limits.MAX_SUMMARY}
        assert len(kept.runs) == 20


def test_a_proof_of_a_turn_that_is_kept_no_longer_changes_nothing(day: Day) -> None:
    turn(day)
    before = day.state.snapshot()
    day.tell(ev.TurnProved("s1", "2020-01-01T00:00:00Z", CHECKED))
    day.tell(ev.SessionStood("s2", SessionStanding(CHECKED, "2020-01-01T00:00:00Z")))
    day.tell(ev.TurnProved("s2", "2020-01-01T00:00:00Z", CHECKED))
    assert day.state.snapshot() == before


def test_what_programs_read_of_a_session(day: Day) -> None:
    prove(day, turn(day, "a.py"), UNCHECKED)
    assert told_records(day.state) == {
        "s1": {
            "state": "unchecked",
            "turn": 1,
            "text": "3 files changed since pytest passed",
            "checkedIn": None,
        }
    }
    record = record_of(day.state, day.state.sessions["s1"])
    assert record is not None
    assert record.mark == "unchecked"
