"""Which lines tell of a failure, and what stands out within a line."""

import time
import timeit

import pytest

from tapui.tower.streams.tail_paint import SHOWN_CHARS, painted_pieces
from tapui.tower.table.filter import parse
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


def pieces(text: str, searched: str = "") -> list[tuple[str, str, bool]]:
    """Return the parts of a line that do not look like the rest, with the tone of each."""
    found = list(painted_pieces(text, parse(searched) if searched else None))
    assert "".join(piece for piece, _, _ in found) == text
    return [one for one in found if one[1] or one[2]]


@pytest.mark.parametrize(
    ("text", "tones"),
    [
        ("lint failed: 2 findings in src/app.py:42", [("src/app.py:42", "link")]),
        ("see https://ci.example.org/4711?a=b, /var/log/x and ~/a/b.txt.", [
            ("https://ci.example.org/4711?a=b", "link"), ("/var/log/x", "link"),
            ("~/a/b.txt", "link"),
        ]),
        ("done in 1.5s, then 300 ms, then 12m", [
            ("1.5s", "figure"), ("300 ms", "figure"), ("12m", "figure"),
        ]),
        ("ERROR then WARN, INFO; error: no, mirror: no", [
            ("ERROR", "error"), ("WARN", "strong"), ("INFO", "muted"), ("error", "error"),
        ]),
        ("12/15 tests, and/or 3 of 4, v1.2.3s, informed", []),
    ],
)  # fmt: skip
def test_what_stands_out_within_a_line(text: str, tones: list[tuple[str, str]]) -> None:
    assert [(piece, tone) for piece, tone, _ in pieces(text)] == tones


def test_a_match_within_a_path_is_shown_as_both() -> None:
    assert pieces("in src/app.py now", "app") == [
        ("src/", "link", False),
        ("app", "link", True),
        (".py", "link", False),
    ]


@pytest.mark.parametrize("part", ["a/", "/", "http://", "1.", "~/.", "x.y/", "ERROR:", "ab.", "1 "])
def test_hostile_lines_are_painted_in_time_that_grows_with_their_length(part: str) -> None:
    def steps(length: int) -> float:
        text = (part * length)[:length]
        painting = timeit.Timer(lambda: list(painted_pieces(text, None)), timer=time.thread_time)
        return min(painting.repeat(repeat=3, number=3))

    assert steps(16 * SHOWN_CHARS) < 100 * steps(SHOWN_CHARS)
