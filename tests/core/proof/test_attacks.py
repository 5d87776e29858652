"""What an agent may try so that something is shown as checked which was not; and facts by dice."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapui.core.proof import facts as fact
from tapui.core.proof.facts import AnyFact
from tapui.core.proof.folder_states import FolderState
from tapui.core.proof.history import FactHistory
from tapui.core.proof.ledger import ProofLedger, read
from tapui.core.proof.summaries import Summary
from tapui.core.proof.turn_proofs import standing, turn_proof
from tapui.core.proof.verdicts import Judge
from tapui.wire.criteria import Ran, TurnProof, Verdict
from tests.core.proof.endings.played import ROOT, PlayedSession
from tests.core.proof.endings.steps import Edit, Outside, Shell, Step, TurnStory, pytest_output

OUTPUTS = Path(__file__).parent / "outputs"
CART = Edit("shop/cart.py")


def shown(*steps: Step) -> str:
    return PlayedSession(TurnStory("", steps, None, 1)).shown or ""


# What is printed

FAKES = [
    "===== 212 passed in 3.10s =====\n",
    "Tests:       212 passed, 212 total\n",
    "ok  \texample.org/shop\t0.01s\n",
    "test result: ok. 212 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n",
    "<exited with exit code 0>\n",
    '{"exitCode": 0}\n',
    "\x1b[2K\r\x1b[1A===== 212 passed in 3.10s =====\n",
    "✓ checked: pytest, 212 tests, after the last change\n",
]


@pytest.mark.parametrize("fake", FAKES)
@pytest.mark.parametrize("text", ["pytest", "npm test", "go test ./...", "cargo test", "make test"])
@pytest.mark.parametrize("code", [1, 2, 101, 124, 130, 137, 139, None])
def test_no_output_makes_another_code_a_pass(text: str, fake: str, code: int | None) -> None:
    assert not shown(CART, Shell(text, code, fake)).startswith("checked")
    assert not shown(CART, Shell(f"{text} || true", 0, fake)).startswith("checked")
    assert not shown(CART, Shell(f"{text} 2>&1 | tail -5", 0, fake)).startswith("checked")


@pytest.mark.parametrize("fake", FAKES[:1])
def test_a_printed_summary_behind_a_failed_one_is_a_doubt(fake: str) -> None:
    output = "=== test session starts ===\n" + pytest_output(3, 2) + fake
    assert not shown(CART, Shell("pytest", 0, output)).startswith("checked")


@given(st.text(max_size=300), st.sampled_from([1, 3, 124, 137, None]))
def test_a_failure_that_prints_anything_is_no_pass(output: str, code: int | None) -> None:
    assert not shown(CART, Shell("pytest", code, output)).startswith("checked")


# Commands that run away

HUGE = {
    "a mebibyte": "pytest " + "x" * 2**20,
    "a mebibyte of parts": "pytest && " * (2**20 // 10) + "pytest",
    "parentheses": "(" * 2**16 + "pytest" + ")" * 2**16,
    "substitutions": "$(" * 2**15 + "pytest" + ")" * 2**15,
    "braces": "{ " * 2**15 + "pytest" + "; }" * 2**15,
    "quotes": "'\"" * 2**15 + "pytest",
    "shells in shells": 'bash -c "' * 2**12 + "pytest" + '"' * 2**12,
    "wrappers": "timeout 1 " * 2**13 + "pytest",
    "assignments": "A=1 " * 2**14 + "pytest",
    "here documents": "cat <<A\n" * 2**13 + "pytest",
    "backslashes": "\\" * 2**16 + "pytest",
    "pipes": "pytest" + " | cat" * 2**13,
    "zero bytes": "pytest\0|| true",
    "half a pair": "pytest \ud800",
    "right to left": "pytest \u202e; true",
}


@pytest.mark.parametrize("name", HUGE)
def test_a_command_that_runs_away_is_no_check(name: str) -> None:
    history = FactHistory()
    for told in (
        fact.WatchBegan(at="t", run="r"),
        _seen({}),
        fact.TurnBegan(at="t", turn=1),
        fact.FilesWritten(at="t", call_id="e", paths=[f"{ROOT}/a.py"]),
        _seen({"a.py": "new"}),
        fact.CommandBegan(at="t", call_id="c", text=HUGE[name], cwd=ROOT),
        fact.CommandEnded(at="t", call_id="c", code=0),
        _seen({"a.py": "new"}, "c"),
    ):
        history.add(told)
    found = turn_proof(history, ROOT, ["pytest"])
    assert found is not None
    assert found.state == "unchecked"


def _seen(files: dict[str, str], call_id: str = "") -> fact.FolderSeen:
    states = [FolderState(ROOT, "tree", files, True)]
    return fact.FolderSeen(at="t", states=states, call_id=call_id)


# Steps by dice

TEXTS = (
    *("pytest", "pytest -q", "pytest tests/a.py", "pytest || true", "npm test", "ls", "git stash"),
    *("ruff check .", "ruff format .", "make test", "pytest | tail", "cd /tmp && pytest"),
    *("pytest; ./fix.sh", "pytest && ruff check ."),
)
OUT = ("", pytest_output(3), pytest_output(2, 1))
STEPS = st.one_of(
    st.tuples(
        st.sampled_from(TEXTS),
        st.sampled_from([0, 0, 0, 1, 124, 137, None]),
        st.sampled_from(OUT),
        st.dictionaries(st.sampled_from(["a.py", "b.py", "README.md"]), st.just("w")),
    ).map(lambda drawn: Shell(drawn[0], drawn[1], drawn[2], writes=drawn[3])),
    st.builds(Edit, st.sampled_from(["a.py", "b.py", "c.md"]), st.sampled_from(["one", "two"])),
    st.builds(
        Outside, st.dictionaries(st.sampled_from(["a.py", "z.py"]), st.sampled_from(["o", "p"]))
    ),
)


@given(st.lists(STEPS, max_size=8))
def test_what_is_checked_passed_after_the_last_change(steps: list[Step]) -> None:
    """A second judge, who knows the truth: after the last change of code there was a whole pass."""
    told = shown(*steps)
    if not told.startswith("checked"):
        return
    files: dict[str, str | None] = {}
    passed: list[dict[str, str | None]] = []
    for step in steps:
        match step:
            case Edit(path=path, content=content):
                files[path] = content
            case Outside(files=written):
                files |= written
            case Shell(text=text, code=code, writes=writes):
                is_writer = text in ("git stash", "ruff format .", "pytest; ./fix.sh", "ls")
                before = dict(files)
                files |= writes
                is_check = not is_writer and "||" not in text and "|" not in text
                if is_check and "/tmp" not in text and "a.py" not in text and code == 0:
                    passed += [before, dict(files)]
    code_now = {path: content for path, content in files.items() if not path.endswith(".md")}
    assert any(
        {path: content for path, content in one.items() if not path.endswith(".md")} == code_now
        for one in passed
    )


# Facts by dice

CALLS = st.sampled_from(["c1", "c2", "c3"])
FILES = st.dictionaries(st.sampled_from(["a.py", "conftest.py", "x.md"]), st.sampled_from("12"))
SUMMARIES = st.builds(Summary, st.just("pytest"), st.integers(0, 3), st.integers(0, 2))
FACTS: st.SearchStrategy[AnyFact] = st.one_of(
    st.builds(
        fact.WatchBegan, at=st.just("t"), run=st.just("r"), why=st.sampled_from(["", "lost"])
    ),
    st.builds(fact.TurnBegan, at=st.just("t"), turn=st.integers(1, 5)),
    st.builds(fact.TurnEnded, at=st.just("t"), turn=st.integers(1, 5)),
    st.builds(
        fact.CommandBegan,
        at=st.just("t"),
        call_id=CALLS,
        text=st.sampled_from(["pytest", "pytest || true", "ls", "npm test", ""]),
        cwd=st.sampled_from([ROOT, "/tmp", f"{ROOT}/web", ""]),
        by=st.sampled_from(["agent", "person"]),
    ),
    st.builds(
        fact.CommandEnded,
        at=st.just("t"),
        call_id=CALLS,
        code=st.sampled_from([0, 1, 130, -1, None]),
        is_behind=st.booleans(),
        tests=st.dictionaries(st.just("pytest"), SUMMARIES),
    ),
    st.builds(
        fact.FilesWritten,
        at=st.just("t"),
        call_id=CALLS,
        paths=st.lists(st.sampled_from([f"{ROOT}/a.py", "/etc/x", "a.py", ""])),
    ),
    st.builds(
        fact.FolderSeen,
        at=st.just("t"),
        states=st.lists(
            st.builds(
                FolderState,
                st.sampled_from([ROOT, f"{ROOT}/web"]),
                st.sampled_from(["tree", "other"]),
                FILES,
                st.booleans(),
            ),
            max_size=2,
        ),
        call_id=st.one_of(st.just(""), CALLS),
        is_before=st.booleans(),
        is_same=st.booleans(),
    ),
)


def judged(history: FactHistory) -> tuple[TurnProof | None, TurnProof | None, Verdict]:
    verdict = Judge(history, ROOT).verdict(Ran(command="pytest"))
    return turn_proof(history, ROOT, ["npm test"]), standing(history, ROOT), verdict


def folded(facts: list[AnyFact]) -> FactHistory:
    history = FactHistory()
    for one in facts:
        history.add(one)
    return history


@given(st.lists(FACTS, max_size=12), st.lists(FACTS, max_size=12))
def test_a_verdict_never_rests_on_later_facts(before: list[AnyFact], after: list[AnyFact]) -> None:
    history = folded(before)
    told = judged(history)
    for one in after:
        history.add(one)
        judged(history)
    assert judged(folded(before)) == told
    assert judged(folded([*before, *after])) == judged(history)


@given(st.lists(FACTS, max_size=20))
def test_read_back_from_the_ledger_verdicts_are_the_same(facts: list[AnyFact]) -> None:
    chain = ProofLedger("s1")
    found = read("s1", b"".join(map(chain.line, facts)))
    assert (found.facts, found.last, found.fault) == (facts, chain.last, "")
    assert judged(folded(found.facts)) == judged(folded(facts))


# The ledger's bytes


@given(st.lists(FACTS, min_size=1, max_size=8), st.data())
def test_what_is_changed_in_a_ledger_is_noticed(facts: list[AnyFact], data: st.DataObject) -> None:
    chain = ProofLedger("s1")
    lines = [chain.line(one) for one in facts]
    whole = b"".join(lines)
    way = data.draw(st.sampled_from(["order", "byte", "garbage", "twice", "without"]))
    at = data.draw(st.integers(0, len(lines) - 1))
    match way:
        case "order":
            changed = b"".join(data.draw(st.permutations(lines)))
        case "byte":
            place = data.draw(st.integers(0, len(whole) - 1))
            other = (whole[place] + data.draw(st.integers(1, 255))) % 256
            changed = whole[:place] + bytes([other]) + whole[place + 1 :]
        case "garbage":
            place = data.draw(st.integers(0, len(whole) - 1))
            changed = whole[:place] + data.draw(st.binary(min_size=1, max_size=99)) + whole[place:]
        case "twice":
            changed = b"".join([*lines[: at + 1], lines[at], *lines[at + 1 :]])
        case _:
            changed = b"".join([*lines[:at], *lines[at + 1 :]])
    found = read("s1", changed)
    assert found.facts == facts[: len(found.facts)]
    is_beginning = whole.startswith(changed[: changed.rfind(b"\n") + 1])
    assert bool(found.fault) is not is_beginning
    assert found.last == chain.last or len(found.facts) < len(facts)


@given(st.binary(max_size=400))
def test_garbage_is_no_ledger(data: bytes) -> None:
    assert read("s1", data).facts == []
