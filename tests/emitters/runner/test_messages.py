"""Frames: whole messages out of whatever arrives."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tapui.core.runs.reports import (
    RunEnded,
    RunLine,
    RunLines,
)
from tapui.emitters.runner.messages import (
    MAX_FRAME_BYTES,
    FrameError,
    FrameReader,
    RunnerPing,
    RunStart,
    TryRules,
    frame,
    read_by_gateway,
    read_by_helper,
)
from tapui.wire.emitters import EmitterCounts
from tapui.wire.provider import FilterRule

TO_HELPER = [
    RunStart("r", "echo", "/", {"A": "é"}, rules=(FilterRule("x", "drop"),), version=3),
    RunnerPing(),
    TryRules(1, (), ["a\nb\0"]),
]
FROM_HELPER = [
    RunLines("r", [RunLine("a", "inject", "stderr", None)]),
    RunEnded("r", EmitterCounts(lines=3, undecided=1), code=0, last_words=["x"]),
]


@given(st.lists(st.sampled_from(TO_HELPER)), st.integers(1, 100))
def test_messages_arrive_however_they_are_cut(messages: list[RunStart], size: int) -> None:
    data = b"".join(map(frame, messages))
    reader = FrameReader()
    parts = (data[at : at + size] for at in range(0, len(data), size))
    assert [read_by_helper(text) for part in parts for text in reader.feed(part)] == messages


def test_what_the_helper_says_is_read() -> None:
    reader = FrameReader()
    data = b"".join(map(frame, FROM_HELPER))
    assert [read_by_gateway(text) for text in reader.feed(data)] == FROM_HELPER


def test_frame_that_is_too_long_is_refused_before_it_is_read() -> None:
    with pytest.raises(FrameError, match="bytes"):
        frame(TryRules(1, (), ["x" * MAX_FRAME_BYTES]))
    with pytest.raises(FrameError, match="bytes"):
        list(FrameReader().feed((MAX_FRAME_BYTES + 1).to_bytes(4, "big")))
    with pytest.raises(FrameError, match="encoded"):
        frame(TryRules(1, (), ["\udcff"]))
