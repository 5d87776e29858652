"""Bytes to lines: however they are cut into reads, and whatever they are."""

import unicodedata
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapui.emitters.runner.line_reader import (
    LINE_BYTES,
    QUIET_SECONDS,
    STATE_SECONDS,
    LineReader,
)


def taken(reader: LineReader, data: bytes, now: float = 0.0) -> list[str]:
    reader.feed(data, now)
    lines = reader.take()
    while reader.is_unread:
        lines += reader.take()
    return lines


def read(*parts: bytes) -> list[str]:
    """Return all lines, at the end the rest."""
    reader = LineReader()
    lines = [line for part in parts for line in taken(reader, part)]
    return lines + reader.rest()


@pytest.mark.parametrize(
    ("data", "lines"),
    [
        (b"a\nb\r\n\n  c\t\n \nend", ["a", "b", "c", "end"]),
        (b"\xff\xed\xa0\xbd\xe2\n\x82", ["\ufffd" * 5, "\ufffd"]),
        (b"10%\r20%\r100%\ndone\r\n", ["100%", "done"]),
        (b"10%\r20%\r\r\nnext\n", ["20%", "next"]),
        (b"10%\r   \nnext", ["10%", "next"]),
        (b"\ra\r\n\rb\n", ["a", "b"]),
        (b"\x1b[1;31mred\x1b[0m \x1b]8;;http://x\x1b\\link\x1b]8;;\x07\n", ["red link"]),
        (b"\x1b]never ended\nnext\n\x1b\n\x1b(Bx", ["next", "x"]),
        (b"a\x07\x08b\x0c\x7f\tc\n\x00\n", ["ab\tc"]),
        ("\x9b31mred\x9b0m \x9d0;owned\x9cx\x90q\x1b\\\x84y\n".encode(), ["red xy"]),
        (b"a\x00b\x85c\x0bd\xe2\x80\xa8e\n", ["ab\ufffdcd\u2028e"]),
    ],
)
def test_lines(data: bytes, lines: list[str]) -> None:
    assert read(data) == lines
    assert read(*[bytes([byte]) for byte in data]) == lines


pieces = st.lists(
    st.one_of(
        st.sampled_from([b"\n", b"\r", b"\r\n", b" ", b"\x1b[0m", b"\x1b", b"\xff", b"word"]),
        st.text(st.characters(exclude_categories=["Cs"]), max_size=5).map(str.encode),
        st.integers(LINE_BYTES - 2, LINE_BYTES + 2),  # so many letters
    ),
    max_size=12,
)


@given(pieces=pieces, cuts=st.lists(st.integers(0, 300_000), max_size=5))
def test_lines_do_not_depend_on_how_they_are_read(
    pieces: list[bytes | int], cuts: list[int]
) -> None:
    data = b"".join(b"x" * one if isinstance(one, int) else one for one in pieces)
    places = sorted({0, len(data), *(cut for cut in cuts if cut < len(data))})
    parts = [data[a:b] for a, b in pairwise(places)]
    lines = read(data)
    assert read(*parts) == lines
    for line in lines:
        assert line == line.strip() != ""
        assert len(line) <= LINE_BYTES  # U+FFFD takes three bytes, but stands for one
        assert "\n" not in line
        assert not any(unicodedata.category(one) == "Cc" for one in line.replace("\t", ""))


def test_long_line_is_cut_at_a_character_and_counted_once() -> None:
    reader = LineReader()
    lines = taken(reader, b"x")
    for _ in range(40):
        lines += taken(reader, "é".encode() * 30_000)
    lines += taken(reader, b"\nafter\n")
    assert [len(line.encode()) for line in lines] == [LINE_BYTES - 1, 5]
    assert reader.truncated == 1


def test_endless_output_without_a_newline_takes_no_more_memory_than_a_line() -> None:
    reader = LineReader()
    for byte in (b"\0", b"\r", b"x\r"):
        for _ in range(20):
            assert taken(reader, byte * 30_000) == []
        assert len(reader._begun) <= LINE_BYTES + 1
        assert len(reader._state) <= LINE_BYTES + 1


def test_beginning_is_a_line_when_nothing_follows_it() -> None:
    reader = LineReader()
    assert reader.due is None
    assert taken(reader, b"line\nName? ", 10.0) == ["line"]
    assert reader.due == 10.0 + QUIET_SECONDS
    assert reader.overdue(10.5) == []
    assert reader.overdue(11.0) == ["Name?"]
    assert reader.due is None
    assert taken(reader, b"Ada\n", 12.0) == ["Ada"]


def test_of_the_states_of_a_progress_display_two_a_second_are_lines() -> None:
    reader = LineReader()
    lines: list[tuple[float, str]] = []
    for number in range(31):
        now = number / 10
        assert taken(reader, b"%d%%\r" % number, now) == []
        lines += [(now, line) for line in reader.overdue(now)]
    assert [line for _, line in lines] == ["0%", "5%", "10%", "15%", "20%", "25%"]
    gaps = [b - a for (a, _), (b, _) in pairwise(lines)]
    assert min(gaps) > STATE_SECONDS - 0.01
    assert taken(reader, b"done\n", 9.0) == ["done"]
    assert reader.due is None
