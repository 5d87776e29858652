"""Time limits of searches count the thread that searches, and no other."""

import hashlib
import threading
from collections.abc import Iterator

import pytest
import regex

from tapui import match_time
from tapui.runtime.system import RegexMatcher
from tapui.tower.table.filter import Undecided, parse

INNOCENT = r"(?:a|ab|abc)+d"
"""Takes about 55 µs on the text below: long enough for the engine to look at its clock."""
TEXT = "abc" * 20 + "x"
CATASTROPHE = r"(?:a|aa)+$"
SLOW = "a" * 60 + "b"


def _hashing(stop: threading.Event) -> None:
    block = b"x" * 1_000_000
    while not stop.is_set():
        hashlib.sha256(block).digest()


def _counting(stop: threading.Event) -> None:
    while not stop.is_set():
        sum(range(1000))


@pytest.fixture(params=[_hashing, _counting])
def busy_thread(request: pytest.FixtureRequest) -> Iterator[None]:
    """A thread beside the test: one that computes without the interpreter, one that needs it."""
    stop = threading.Event()
    thread = threading.Thread(target=request.param, args=(stop,))
    thread.start()
    yield
    stop.set()
    thread.join()


@pytest.mark.machine
@pytest.mark.usefixtures("busy_thread")
def test_a_busy_thread_does_not_spend_the_time_of_innocent_patterns() -> None:
    pattern = RegexMatcher().compile(INNOCENT)
    shown = parse(f"re:{INNOCENT}")
    assert shown is not None
    assert {pattern.found_in(TEXT) for _ in range(3000)} == {False}
    assert {pattern.replaced(TEXT, "x") for _ in range(1000)} == {(TEXT, 0)}
    assert {shown.finds(TEXT) for _ in range(3000)} == {False}


@pytest.mark.machine
@pytest.mark.usefixtures("busy_thread")
def test_a_pattern_that_takes_long_is_given_up_beside_a_busy_thread() -> None:
    pattern = RegexMatcher().compile(CATASTROPHE)
    assert pattern.found_in(SLOW) is None
    assert pattern.replaced(SLOW, "x") is None
    shown = parse(f"re:{CATASTROPHE}")
    assert shown is not None
    with pytest.raises(Undecided):
        shown.finds(SLOW)


def test_an_attempt_that_others_ended_is_made_again_with_twice_the_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    own = iter([0.0, 0.0004, 1.0, 1.0005, 2.0, 2.0011])
    monkeypatch.setattr(match_time.time, "thread_time", lambda: next(own))
    limits: list[float] = []

    class Engine:
        def search(self, _text: str, *, timeout: float, concurrent: bool) -> None:
            assert not concurrent
            limits.append(timeout)
            raise TimeoutError

    assert match_time.found(Engine(), "x", 0.001) is None  # type: ignore[arg-type]
    assert limits == [0.001, 0.002, 0.004]
    assert regex.compile("x").search("x", timeout=0.001, concurrent=False)
