"""Which lines tell of a failure."""

import pytest

from tapui.tower.wording.marks import stands_out, tells_failure
from tapui.wire.message import Level, Line


def line(text: str, level: Level = "keep") -> Line:
    return Line(1, "2026-11-18T08:26:40.000000Z", level, text)


@pytest.mark.parametrize(
    "text",
    [
        "build 4711 failed",
        "FATAL: no space left",
        "panicked at src/main.rs",
        "Traceback (most recent call last)",
        "3 errors, 0 failed",
        "the process crashed",
        "an exception was raised",
        "a Failure",
    ],
)
def test_words_of_failures(text: str) -> None:
    assert tells_failure(line(text))
    assert stands_out(line(text))


@pytest.mark.parametrize(
    "text",
    [
        "build 4711 is green",
        "0 failed",
        "no errors",
        "errors: 0",
        "without any failures",
        "failover",
    ],
)
def test_no_failure_is_told(text: str) -> None:
    assert not tells_failure(line(text))
    assert not stands_out(line(text))
    assert stands_out(line(text, "inject"))
