"""The helper process: when it starts and ends, and what is left when it, or the gateway, dies."""

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from tapui.core.runs.reports import (
    RunStarted,
)
from tapui.emitters.runner.helper_process import Patience
from tapui.emitters.runner.runner import Runner
from tests.emitters.runner.runs import Rig, until_dead
from tests.rig.processes import has_ended
from tests.rig.waiting import HUNG, until, until_async

FAMILY = (
    "trap '' TERM; sleep 1001 & echo child $!; (setsid sleep 1002 & echo far $!);"
    " echo self $$; while :; do sleep 0.05; done"
)


async def family(rig: Rig) -> list[str]:
    """Start a command with children; return the processes' ids."""
    rig.start(FAMILY)
    return [await rig.told.line("r", word) for word in ("child", "far", "self")]


async def test_helper_starts_with_the_first_run_and_ends_when_idle(tmp_path: Path) -> None:
    rig = Rig(tmp_path, Patience(0.05, 1_000, 1_000, idle=2))
    assert rig.runner.pid is None
    await rig.run("echo one")
    first = rig.runner.pid
    await until_async(lambda: rig.runner.pid is None, what="it ended")
    rig.told.events.clear()
    assert (await rig.run("echo two")).code == 0
    assert rig.runner.pid not in (None, first)
    await rig.runner.close()
    assert rig.told.faults == []


async def test_run_that_comes_while_an_idle_helper_ends_is_not_lost(tmp_path: Path) -> None:
    rig = Rig(tmp_path, Patience(0.01, 5_000, 5_000, idle=1))
    for number in range(12):
        rig.start("exit 7", f"e{number}")
        assert (await rig.told.ended(f"e{number}")).code == 7
        if number % 3:
            await until_async(
                lambda: rig.runner._helper is None or rig.runner._helper.is_retired,
                what="it was asked to end",
            )
    assert rig.told.faults == []
    await rig.runner.close()


async def test_killed_helper_is_told_leaves_nothing_and_is_replaced(rig: Rig) -> None:
    pids = await family(rig)
    assert rig.runner.pid is not None
    os.kill(rig.runner.pid, signal.SIGKILL)
    ended = await rig.told.ended("r")
    assert (ended.error, ended.is_lost) == ("the runner ended (SIGKILL)", True)
    await until_dead(*pids)
    rig.start("echo again", "s")
    assert (await rig.told.ended("s")).code == 0
    assert len(rig.told.faults) == 1


async def test_trial_fails_with_its_helper(rig: Rig) -> None:
    await family(rig)
    assert rig.runner.pid is not None
    os.kill(rig.runner.pid, signal.SIGSTOP)
    trying = asyncio.ensure_future(rig.runner.try_rules((), ["x"]))
    await asyncio.wait({trying}, timeout=0)
    os.kill(rig.runner.pid, signal.SIGKILL)
    assert "SIGKILL" in ((await trying).error or "")


async def test_stopped_helper_is_replaced_and_its_runs_are_ended(tmp_path: Path) -> None:
    rig = Rig(tmp_path, Patience(0.1, silent=15, starting=200))
    pids = await family(rig)
    assert rig.runner.pid is not None
    os.kill(rig.runner.pid, signal.SIGSTOP)
    ended = await rig.told.ended("r", 30)
    assert ended.error == "the runner ended (SIGKILL, for it gave no sign of life)"
    await until_dead(*pids)
    await rig.runner.close()


async def test_helper_that_is_busy_with_slow_patterns_gives_signs_of_life(tmp_path: Path) -> None:
    rig = Rig(tmp_path, Patience(0.5, silent=4, starting=40))
    bad = "a" * 50 + "!"
    slow = [(r"^(a|aa|a?a)+$" + f"|{number}x", "drop") for number in range(25)]
    for number in range(3):
        rig.start(f"while :; do echo {bad}; done", f"e{number}", *slow)
    for number in range(3):
        await until_async(
            lambda number=number: len(rig.told.lines(f"e{number}")) > 10,  # type: ignore[misc]
            what="lines",
        )
    assert rig.told.faults == []
    assert rig.runner.pid is not None
    os.kill(rig.runner.pid, signal.SIGKILL)  # what is unread would take a while
    await asyncio.wait_for(rig.runner.close(), 30)


async def test_close_ends_all_and_keeps_their_last_words(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    pids = await family(rig)
    rig.start("trap 'echo done; exit 3' TERM; echo ready; while :; do sleep 0.05; done", "s")
    await rig.told.line("s", "ready")
    await asyncio.wait_for(rig.runner.close(), HUNG)
    assert (await rig.told.ended("s")).code == 3
    assert rig.told.texts("s")[-1] == "done"
    assert (await rig.told.ended("r")).signal == "SIGKILL"
    await until_dead(*pids)
    with pytest.raises(RuntimeError, match="closed"):
        rig.start("echo never", "t")
    assert rig.runner.pid is None


async def test_close_before_the_helper_is_there_ends_what_waited(tmp_path: Path) -> None:
    rig = Rig(tmp_path)
    rig.start("echo never")
    await asyncio.wait_for(rig.runner.close(), HUNG)
    assert (await rig.told.ended("r")).error == "the runner was closed"


GATEWAY = """
import asyncio, os, sys
from tapui.core.runs.reports import (RunLines,)
from tapui.emitters.runner.messages import (RunStart,)
from tapui.emitters.runner.runner import Runner

async def main():
    def tell(event):
        if isinstance(event, RunLines):
            print(*(line.text for line in event.lines), sep="\\n", flush=True)
    runner = Runner(tell, print, environ=os.environ)
    runner.start(RunStart("r", sys.argv[1], "/", dict(os.environ), shell="sh"))
    while runner.pid is None:
        await asyncio.sleep(0.01)
    print("helper", runner.pid, flush=True)
    await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.mark.parametrize("too", [False, True], ids=["gateway", "both"])
def test_nothing_outlives_a_killed_gateway(too: bool) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", GATEWAY, FAMILY], stdout=subprocess.PIPE, text=True
    ) as gateway:
        assert gateway.stdout is not None
        pids: dict[str, int] = {}
        while len(pids) < 4:
            word, _, pid = gateway.stdout.readline().partition(" ")
            pids[word] = int(pid)
        gateway.kill()
        if too:
            os.kill(pids["helper"], signal.SIGKILL)
    if too:  # the command itself dies with the helper; nobody is there to look for others
        for word in ("child", "far"):
            os.kill(pids.pop(word), signal.SIGKILL)
    for name, pid in pids.items():
        until(lambda pid=pid: has_ended(pid), what=f"{name} is dead")  # type: ignore[misc]


async def test_helper_that_cannot_be_started_ends_the_run(
    rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "executable", "/nowhere/python")
    ended = await rig.run("echo never")
    assert ended.error == "the runner cannot be started: No such file or directory"
    await until_async(lambda: rig.told.faults, what="a fault")


@pytest.mark.expects_error_log("a report of run r was not taken")
async def test_event_that_is_not_taken_costs_no_other(tmp_path: Path) -> None:
    events: list[object] = []

    def take(event: object) -> None:
        events.append(event)
        if isinstance(event, RunStarted):
            raise TypeError("not foreseen")

    rig = Rig(tmp_path)
    rig.runner = Runner(take, rig.told.faults.append, environ=os.environ)
    rig.start("echo one")
    await until_async(lambda: len(events) >= 3, what="the end")
    await rig.runner.close()


async def test_helper_inherits_nothing_to_its_commands(rig: Rig) -> None:
    await rig.run("ls /proc/self/fd | wc -l; ulimit -n")
    assert int(rig.told.texts("r")[0]) <= 4
    assert rig.runner.pid is not None
    assert psutil.Process(rig.runner.pid).num_threads() == 1
