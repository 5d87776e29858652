"""Standard error of `tapui serve`, where it takes nothing for a while."""

import contextlib
import os
import sys

import pytest

from tapui.station.headless import StderrLines
from tests.rig.waiting import until


def test_a_stopped_terminal_holds_nothing_up_and_costs_the_last_lines(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reader, writer = os.pipe()
    with open(writer, "w") as stderr, open(reader, "rb", buffering=0) as terminal:  # noqa: PTH123
        monkeypatch.setattr(sys, "stderr", stderr)
        os.set_blocking(writer, False)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(writer, b"\0" * 4_096)
        os.set_blocking(writer, True)
        with StderrLines() as lines:
            for number in range(2_000):
                lines.write(f"line {number}\n")
            seen = bytearray()

            def has_come(line: bytes) -> bool:
                seen.extend(terminal.read(65_536))
                return line in seen

            until(lambda: has_come(b"line 999\n"), what="the lines that waited")
            lines.write("the last line\n")
            until(lambda: has_come(b"the last line\n"), what="a line after that")
    assert seen.lstrip(b"\0").startswith(b"line 0\nline 1\n")
    assert b"line 1999\n" not in seen
