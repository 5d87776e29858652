"""What is said of a stream that lags."""

import pytest

from tapui import times
from tapui.projection.stream_words import lag_words
from tapui.wire.message import Line
from tapui.wire.subjects import Stream

TS = "2026-11-18T08:26:40.000000Z"


@pytest.mark.parametrize(
    ("waited", "passed", "words"),
    [
        (0, 0, ""),
        (4_999, 0, ""),
        (5_000, 0, "newest line 5s old"),
        (240_000, 3, "newest line 4m old"),
        (2**53, 0, "newest line 104249991d old"),
        (240_000, 11, ""),
    ],
)
def test_only_a_stream_whose_lines_wait_at_its_provider_lags(
    waited: int, passed: float, words: str
) -> None:
    stream = Stream("ci@ci", "ci", "s1", 1, Line(1, TS, "keep", "x"), waited=waited)
    assert lag_words(stream, passed, times.age) == words


def test_a_stream_without_a_line_does_not_lag() -> None:
    assert lag_words(Stream("ci@ci", "ci", "s1", 0, waited=9_000), None, times.age) == ""
