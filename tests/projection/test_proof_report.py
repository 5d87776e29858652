"""A report of what was recorded: for a pull request, and nothing in it formats the page."""

import pytest
from msgspec.structs import replace

from tapui.projection.proof import SessionRecord
from tapui.projection.proof_report import (
    MOST_LINES,
    ProofReport,
    ReportSource,
    as_markdown,
    report,
)
from tapui.projection.turns.turn import LiveTurn
from tapui.wire.criteria import CheckedRun, SessionStanding, TurnProof
from tapui.wire.turns import FileChange, Step, Turn, TurnHead, TurnSource

SOURCE = ReportSource("shop", "/code/shop", "recorded by tapui on this machine")
CHECKED = TurnProof("checked", "pytest, 4 tests, after the last change")
FAILED = TurnProof("failed", "pytest, exit 1")


def clock(ts: str) -> str:
    return ts


def turn(number: int, proof: TurnProof | None = None, *steps: Step, prompt: str = "go") -> Turn:
    files = [FileChange("/code/shop/cart.py", 3, 1)]
    source = TurnSource("person")
    head = TurnHead(number, "s1", "t", "done", source, prompt, files=files, proof=proof)
    return Turn(head, list(steps))


def told(
    *turns: Turn, stands: TurnProof | None = CHECKED, count: int = 0, unproven: int = 0
) -> ProofReport:
    """Report turns of a session that stands so."""
    record, standing = None, None
    if stands is not None and turns:
        record = SessionRecord(stands.state, LiveTurn.of(turns[-1]), stands)
        standing = SessionStanding(stands, "t", count or len(turns), unproven)
    return report(SOURCE, turns, record, standing, clock)


def page(*turns: Turn, stands: TurnProof | None = CHECKED, count: int = 0) -> list[str]:
    return as_markdown(told(*turns, stands=stands, count=count), clock)


def test_turns_and_their_checks() -> None:
    failed = CheckedRun("pytest -q", "19:41", 1, "1 failed, 3 passed", "agent", "c1")
    passed = CheckedRun("pytest", "19:52", 0, "4 tests", "person", "r1")
    proof = TurnProof("failed", "pytest, exit 1", checked_in=2, runs=[failed])
    checked = TurnProof("checked", CHECKED.text, runs=[passed])
    lines = page(turn(1, proof), turn(2, checked), stands=checked)
    assert lines == [
        "### What was recorded: shop",
        "",
        "**✓ checked: pytest, 4 tests, after the last change**",
        "",
        "| turn | asked | files | recorded |",
        "|---|---|---|---|",
        "| 1 | go | cart.py +3 −1 | ✗ check failed: pytest, exit 1 · checked in 2 |",
        "| 2 | go | cart.py +3 −1 | ✓ checked: pytest, 4 tests, after the last change |",
        "",
        "- pytest -q: exit 1, 1 failed, 3 passed, 19:41, in turn 1",
        "- pytest: exit 0, 4 tests, 19:52, after the last change, run by you",
        "",
        "*recorded by tapui on this machine*",
    ]


def test_a_run_behind_the_last_turn_that_changed_files_is_listed() -> None:
    failed = TurnProof("failed", "pytest, exit 1", runs=[CheckedRun("pytest", "19:52", 1)])
    lines = page(turn(1, CHECKED), stands=failed)
    assert lines[2] == "**✗ check failed: pytest, exit 1**"
    assert "- pytest: exit 1, 19:52, in turn 1" in lines


@pytest.mark.parametrize("stands", [FAILED, TurnProof("unchecked", "x"), None])
def test_it_is_proven_only_if_the_session_stands_so(stands: TurnProof | None) -> None:
    assert told(turn(1, CHECKED)).is_proven
    assert not told(turn(1, CHECKED), stands=stands).is_proven
    assert not told(stands=stands).is_proven


def test_turns_that_are_kept_no_longer_count() -> None:
    assert told(turn(52, CHECKED), count=52).is_proven
    found = told(turn(52, CHECKED), count=52, unproven=1)
    assert not found.is_proven
    assert found.standing.endswith("; 1 of 52 turns was never checked")
    assert (
        told(turn(1, FAILED), stands=FAILED, unproven=1).standing
        == "✗ check failed: pytest, exit 1"
    )
    assert "| … | 51 earlier turns that changed files | | |" in as_markdown(found, clock)


def test_a_turn_of_which_no_file_counts_needs_no_proof() -> None:
    found = told(turn(1, CHECKED), turn(2))
    assert found.is_proven
    assert [(one.is_proven, one.recorded) for one in found.turns][1] == (
        True,
        "no file that counts for a check",
    )
    assert not told(turn(1, CHECKED), turn(2), stands=FAILED).turns[1].is_proven


@pytest.mark.parametrize(
    ("files", "shown"),
    [
        ([FileChange("/code/shop/cart.py")], "cart.py"),
        ([FileChange("/code/shop/cart.py", 0, 0)], "cart.py"),
        ([FileChange("/code/shop/cart.py", 3)], "cart.py +3 −0"),
        ([FileChange("a.py", 3, 1), FileChange("b.py")], "2 files +3 −1"),
        ([], "changed by commands"),
    ],
)
def test_lines_that_are_not_known_are_not_counted(files: list[FileChange], shown: str) -> None:
    made = turn(1, CHECKED)
    made = Turn(replace(made.head, files=files))
    assert f"| 1 | go | {shown} |" in "\n".join(page(made))


def test_who_allowed_what() -> None:
    by_you = Step("1.1", "call", "done", "t", decided_by="person")
    by_rule = Step("1.2", "call", "failed", "t", decided_by="rule", rule="git fetch")
    denied = Step("1.3", "call", "denied", "t", decided_by="person")
    within = Step("1.4", "subagent", "done", "t", steps=[by_rule])
    lines = page(turn(1, CHECKED, by_you, by_rule, denied, within))
    assert "- allowed: git fetch 2×, person 1×" in lines


def test_no_text_formats_the_page() -> None:
    lines = page(turn(1, CHECKED, prompt="a | b\n\n# <img src=x> [click](http://x) `c` **d**"))
    (row,) = [line for line in lines if line.startswith("| 1 ")]
    assert row.startswith(
        r"| 1 | a \| b ⏎ \# \<img src=x\> \[click\](http://x) \`c\` \*\*d\*\* | cart.py +3 −1 |"
    )


def test_many_turns_are_a_page() -> None:
    runs = [CheckedRun(f"pytest {number}", f"{number}") for number in range(20)]
    lines = page(*(turn(one, TurnProof("checked", "x", runs=runs)) for one in range(1, 200)))
    assert len(lines) <= MOST_LINES
    assert "| … | 187 earlier turns that changed files | | |" in lines
    assert lines[-1] == "*recorded by tapui on this machine*"


def test_nothing_was_changed() -> None:
    assert "No turn changed a file." in page()
