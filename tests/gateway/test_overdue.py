"""`tapui serve` ends within its deadline, whatever blocks it."""

import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.conftest import needs_uvloop
from tests.gateway.test_starts import left_behind
from tests.rig import faults
from tests.rig.gateway import Home
from tests.rig.waiting import HUNG

SERVE = """
import asyncio, os, sys, threading
from tapui.runtime import tuning
from tapui.station import process_end
from tapui.station.running_gateway import GatewayFiles
from tapui.station.running_gateway import RunningGateway
load, close = RunningGateway.load, RunningGateway._close_connections
which, how, where = sys.argv[1:4]
held, given_up = threading.Event(), threading.Event()
remove, remove_files_once = GatewayFiles.remove, RunningGateway.remove_files

class OnceHeld:
    # The deadline passes as soon as something is held.
    def __radd__(self, now):
        held.wait()
        return now

if where != "nowhere":
    process_end.END_SECONDS = OnceHeld()

def held_here():
    print("blocked", flush=True)
    held.set()
    if how == "lock":
        threading.Event().wait()
    elif how == "pipe":
        os.read(os.pipe()[0], 1)
    else:
        while True:
            pass

def blocks_once_it_serves(self):
    load(self)
    asyncio.get_running_loop().call_soon(held_here)

async def blocks_at_its_end(self):
    held_here()

async def leaves_a_thread(self):
    await close(self)
    asyncio.get_running_loop().run_in_executor(None, held_here)

def removes_as_it_is_given_up(self):
    held.set()
    given_up.wait()
    threading.Event().wait(0.3)  # a slow disk: who does not wait for the removal ends before it
    return remove(self)

def remove_files(self):
    if threading.current_thread() is not threading.main_thread():
        given_up.set()
    remove_files_once(self)

if where == "serving":
    RunningGateway.load = blocks_once_it_serves
elif where == "ending":
    RunningGateway._close_connections = blocks_at_its_end
elif where == "thread":
    RunningGateway._close_connections = leaves_a_thread
elif where == "removing":
    GatewayFiles.remove = removes_as_it_is_given_up
    RunningGateway.remove_files = remove_files
if which == "asyncio":
    tuning.new_loop = asyncio.new_event_loop
from tapui.cli.main import main
sys.exit(main(["serve", "--port", "0", "--no-attach", "--json"]))
"""


@contextmanager
def serving(home: Home, *how: str) -> Iterator["subprocess.Popen[str]"]:
    home.root.mkdir(parents=True, exist_ok=True)
    if "uvloop" in how:
        needs_uvloop()
    process = subprocess.Popen(
        [sys.executable, "-c", SERVE, *how],
        env=home.env(),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        assert process.stdout is not None
        assert '"ready"' in process.stdout.readline()
        yield process
    finally:
        process.kill()
        process.communicate()
        faults.look()


@pytest.mark.expects_error_log("the gateway did not end; all threads were doing")
@pytest.mark.parametrize("which", ["asyncio", "uvloop"])
@pytest.mark.parametrize(
    ("how", "where"),
    [
        ("lock", "serving"),
        ("pipe", "serving"),
        ("loop", "serving"),
        ("lock", "ending"),
        ("lock", "thread"),
    ],
)
def test_an_end_that_is_blocked_is_given_up_with_the_stacks_in_the_log(
    home: Home, which: str, how: str, where: str
) -> None:
    with serving(home, which, how, where) as process:
        if where == "serving":
            assert process.stdout is not None
            assert process.stdout.readline() == "blocked\n"
        process.send_signal(signal.SIGTERM)
        _, told = process.communicate(timeout=HUNG)
        assert process.returncode == 1
        log = home.tapui / "log" / f"tapui-{process.pid}.log"
        assert f"tapui: the gateway did not end in time; see {log}" in told
        assert "in held_here" in log.read_text()
        assert left_behind(home) == []


@pytest.mark.parametrize("which", ["asyncio", "uvloop"])
def test_signals_reach_the_loop_as_before(home: Home, which: str) -> None:
    with serving(home, which, "", "nowhere") as process:
        process.send_signal(signal.SIGHUP)
        process.send_signal(signal.SIGTERM)
        assert process.communicate(timeout=HUNG) == ("", "")
        assert process.returncode == 0
        assert left_behind(home) == []


@pytest.mark.expects_error_log("the gateway did not end; all threads were doing")
def test_an_end_that_is_given_up_while_it_removes_its_files_has_removed_them(home: Home) -> None:
    with serving(home, "asyncio", "lock", "removing") as process:
        process.send_signal(signal.SIGTERM)
        _, told = process.communicate(timeout=HUNG)
        assert process.returncode == 1
        assert "the gateway did not end in time" in told
        assert left_behind(home) == []
