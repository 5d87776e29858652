"""A coroutine that holds up the loop is named, with its line."""

import asyncio
import threading

import pytest

from tapui.provider.loop_watch import LoopWatch
from tests.rig.waiting import until


async def test_the_line_at_which_a_coroutine_does_not_let_go_is_told_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    watch = LoopWatch(beat=0.01, patience=0.05)
    until(lambda: "does not let go" in caplog.text, what="the warning")
    await asyncio.sleep(0)
    watch.close()
    until(lambda: "loop watch" not in [one.name for one in threading.enumerate()], what="its end")
    assert caplog.text.count("does not let go") == 1
    assert "waiting.py" in caplog.text
