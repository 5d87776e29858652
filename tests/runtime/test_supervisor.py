"""Children that are started again, with real processes.

Each test runs on a loop in a thread that is not the main one, as the gateway's does.
"""

import asyncio
import os
import signal
from collections.abc import Callable
from pathlib import Path

from tapui.runtime.children.child import Command, Ended
from tapui.runtime.children.supervisor import Backoff, Supervisor
from tests.rig.waiting import HUNG, until_async
from tests.runtime.children import ON_BOTH_LOOPS, READY, WAITS, Lines, Test, python

QUICK = Backoff(first=0.01, longest=0.04)


class Faults(list[tuple[Ended | OSError, float]]):
    """The faults that a supervisor told of."""

    def __call__(self, fault: Ended | OSError, pause: float) -> None:
        self.append((fault, pause))


def test_supervisor_starts_a_child_again_until_it_ends_with_zero(
    run: Callable[[Test], None], tmp_path: Path
) -> None:
    count = tmp_path / "count"
    program = (
        f"import sys; file = open({str(count)!r}, 'a+'); file.write('.'); file.seek(0)\n"
        "sys.exit(0 if len(file.read()) > 3 else 5)"
    )

    async def test() -> None:
        faults = Faults()
        count.write_text("")
        backoff = Backoff(first=0.01, longest=0.02)
        supervisor = Supervisor(python(program), Lines(), faults, backoff)
        await supervisor.run()
        assert supervisor.pid is None
        assert [str(fault) for fault, _ in faults] == ["exit code 5"] * 3
        assert [pause for _, pause in faults] == [0.01, 0.02, 0.02]

    run(test)


def test_supervisor_tries_again_what_could_not_be_started(run: Callable[[Test], None]) -> None:
    async def test() -> None:
        faults = Faults()
        supervisor = Supervisor(Command(("/nowhere",), {}), Lines(), faults, QUICK)
        running = asyncio.create_task(supervisor.run())
        await until_async(lambda: len(faults) > 2, what="tries")
        assert isinstance(faults[0][0], FileNotFoundError)
        await supervisor.stop()
        await asyncio.wait_for(running, HUNG)

    run(test)


@ON_BOTH_LOOPS
def test_supervisor_brings_a_killed_child_back_and_stops_for_good(
    run: Callable[[Test], None],
) -> None:
    async def test() -> None:
        lines, faults = Lines(), Faults()
        supervisor = Supervisor(python(READY + WAITS), lines, faults, QUICK)
        running = asyncio.create_task(supervisor.run())
        await lines.until("ready")
        first = supervisor.pid
        assert first is not None
        os.kill(first, signal.SIGKILL)
        await until_async(lambda: len(lines) == 2, what="a second child")
        assert supervisor.pid not in (None, first)
        await supervisor.stop()
        await asyncio.wait_for(running, HUNG)
        assert [str(fault) for fault, _ in faults] == ["SIGKILL"]
        assert supervisor.pid is None

    run(test)


@ON_BOTH_LOOPS
def test_supervisor_that_is_stopped_or_cancelled_while_it_starts_leaves_nothing(
    run: Callable[[Test], None],
) -> None:
    async def test() -> None:
        for end in ("stop", "cancel"):
            supervisor = Supervisor(python(WAITS), Lines(), Faults(), QUICK)
            running = asyncio.create_task(supervisor.run())
            await asyncio.wait([running], timeout=0)
            if end == "stop":
                await supervisor.stop()
            else:
                running.cancel()
            await asyncio.wait([running], timeout=HUNG)
            assert running.done()

    run(test)


def test_pauses_grow_to_a_bound_and_begin_again_after_a_steady_run() -> None:
    backoff = Backoff(first=1.0, longest=5.0, steady=10.0)
    assert [backoff.pause(0.0) for _ in range(4)] == [1.0, 2.0, 4.0, 5.0]
    assert backoff.pause(9.0) == 5.0
    assert backoff.pause(10.0) == 1.0
    assert backoff.pause(0.0) == 2.0
