"""Proof: what a call's facts cost, and a verdict over a long session."""

import time
from collections.abc import Iterator
from dataclasses import dataclass

from tapui.core.proof import facts as fact
from tapui.core.proof import ledger
from tapui.core.proof.facts import AnyFact
from tapui.core.proof.folder_states import FolderState
from tapui.core.proof.history import FactHistory
from tapui.core.proof.turn_proofs import turn_proof
from tapui.core.proof.verdicts import Judge
from tapui.wire.criteria import Ran

ROOT = "/code/shop"
CALLS = 20_000
VERDICTS = 200
_TEXTS = (
    "ls -la src",
    "cat src/cart.py | head -50",
    "git status --short && git diff --stat",
    "grep -rn 'total' src tests | head -20",
    "sed -n 1,80p src/till.py",
    "cd /code/shop && pytest tests/test_cart.py -q 2>&1 | tail -20",
    "python -c 'print(1)'",
    "npm run lint",
)


@dataclass(frozen=True)
class ProofCost:
    """CPU of a call's facts, in µs; milliseconds of reading a ledger and of verdicts over it."""

    call: float
    read: float
    folded: float
    first: float
    p50: float
    p95: float
    line: float
    """Of a turn's line, p95."""


def measure(entries: int) -> ProofCost:
    """Measure with so many entries in the ledger."""
    call = _call()
    told = list(_facts(entries))
    chain = ledger.ProofLedger("s1")
    data = b"".join(map(chain.line, told))
    begun = time.perf_counter()
    found = ledger.read("s1", data)
    read = time.perf_counter() - begun
    history = FactHistory()
    begun = time.perf_counter()
    for one in found.facts:
        history.add(one)
    folded = time.perf_counter() - begun
    judge = Judge(history, ROOT)
    begun = time.perf_counter()
    assert judge.verdict(Ran(command="pytest")).state == "stale"
    first = time.perf_counter() - begun
    times, lines = [], []
    for number in range(VERDICTS):
        for one in _of_call(f"v{number}", _TEXTS[number % len(_TEXTS)]):
            history.add(one)
        begun = time.perf_counter()
        judge.verdict(Ran(command="pytest"))
        times.append(time.perf_counter() - begun)
        begun = time.perf_counter()
        turn_proof(history, ROOT)
        lines.append(time.perf_counter() - begun)
    times.sort()
    lines.sort()
    at = int(VERDICTS * 0.95)
    return ProofCost(
        call * 1e6,
        read * 1e3,
        folded * 1e3,
        first * 1e3,
        times[VERDICTS // 2] * 1e3,
        times[at] * 1e3,
        lines[at] * 1e3,
    )


def _call() -> float:
    """Return the seconds that the facts of one call take."""
    history = FactHistory()
    history.add(fact.WatchBegan(at="t", run="r"))
    history.add(fact.TurnBegan(at="t", turn=1))
    history.add(fact.FolderSeen(at="t", states=[_state(0)]))
    made = [one for number in range(CALLS) for one in _of_call(f"c{number}", _TEXTS[number % 8])]
    begun = time.process_time()
    for one in made:
        history.add(one)
    return (time.process_time() - begun) / CALLS


def _of_call(call_id: str, text: str) -> tuple[AnyFact, ...]:
    return (
        fact.CommandBegan(at="t", call_id=call_id, text=text, cwd=ROOT),
        fact.CommandEnded(at="t", call_id=call_id, code=0),
        fact.FolderSeen(at="t", call_id=call_id, is_same=True),
    )


def _facts(entries: int) -> Iterator[AnyFact]:
    """Yield a long session: now and then a run of all tests, edits and other commands."""
    yield fact.WatchBegan(at="t", run="r")
    yield fact.TurnBegan(at="t", turn=1)
    yield fact.FolderSeen(at="t", states=[_state(0)])
    made, number = 3, 0
    tests = _of_call("tests", "pytest")
    while made < entries:
        number += 1
        if number % 20 == 1:
            path = f"{ROOT}/src/m{number % 50}.py"
            yield fact.TurnEnded(at="t", turn=number)
            yield fact.TurnBegan(at="t", turn=number + 1)
            yield fact.FilesWritten(at="t", call_id=f"e{number}", paths=[path])
            yield fact.FolderSeen(at="t", states=[_state(number)])
            made += 4
        text = f"{_TEXTS[number % len(_TEXTS)]} # {number}"
        yield from tests if number % 1500 == 0 else _of_call(f"c{number}", text)
        made += 3


def _state(number: int) -> FolderState:
    files = {f"src/m{at}.py": f"{number if at == number % 50 else at:064x}" for at in range(50)}
    return FolderState(ROOT, "tree", files, True)
