"""The channel between gateway and helper: bad bytes, faults, other loops."""

import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from tapui.core.runs.reports import RunEnded
from tapui.emitters.runner.messages import AT_GATEWAY, RunStart
from tapui.runtime.children.lines import LineSplitter
from tests.emitters.runner.runs import Rig
from tests.rig.waiting import HUNG, until_async
from tests.runtime.children import ON_BOTH_LOOPS, Test, loop, run  # noqa: F401 - fixtures


@pytest.mark.parametrize("data", [b"\xff\xff\xff\xff\n", b"{}\n", b""])
def test_helper_ends_when_the_gateway_is_gone_or_talks_nonsense(data: bytes) -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        helper = subprocess.Popen(
            [sys.executable, "-P", "-m", "tapui.emitters.runner", str(theirs.fileno())],
            pass_fds=(theirs.fileno(),),
            stderr=subprocess.PIPE,
        )
    with helper, ours:
        assert b"ready" in ours.recv(4096)
        if data:
            ours.sendall(data)
        else:
            ours.close()
        assert helper.wait(HUNG) == 0


FAULTY = """
import sys
from tapui.emitters.runner import __main__ as helper, run

class Faulty(run.LineReader):
    def take(self):
        lines = super().take()
        if "bad" in lines:
            raise LookupError("not foreseen")
        return lines

run.LineReader = Faulty
helper.main()
"""


def test_fault_in_the_helper_ends_the_run_that_it_is_in_and_no_other() -> None:
    ours, theirs = socket.socketpair()
    with theirs:
        helper = subprocess.Popen(
            [sys.executable, "-P", "-c", FAULTY, str(theirs.fileno())],
            pass_fds=(theirs.fileno(),),
            stderr=subprocess.PIPE,
        )
    environ = {"PATH": os.environ["PATH"]}
    with helper, ours:
        ours.settimeout(HUNG)
        for name, command in (
            ("other", "echo up; sleep 0.5; echo down"),
            ("r", "echo bad; sleep 1000 & wait"),
        ):
            ours.sendall(AT_GATEWAY.encode(RunStart(name, command, "/tmp", environ, shell="sh")))
        ours.sendall(AT_GATEWAY.encode(RunStart("third", "echo up", "/tmp", environ, shell="sh")))
        splitter = LineSplitter()
        ended: dict[str, RunEnded] = {}
        while len(ended) < 3:
            for line in splitter.feed(ours.recv(65536)):
                message = AT_GATEWAY.decode(line)
                if isinstance(message, RunEnded):
                    ended[message.run] = message
        assert ended["r"].error == "the runner failed at it (LookupError: not foreseen)"
        assert ended["other"].last_words[-1] == "down"
        assert ended["third"].code == 0
        ours.close()
        assert helper.wait(HUNG) == 0
        assert helper.stderr is not None
        assert b"run r failed" in helper.stderr.read()


@ON_BOTH_LOOPS
def test_runs_on_both_loops_in_another_thread_and_leaves_nothing(
    run: Callable[[Test], None],  # noqa: F811
    tmp_path: Path,
) -> None:
    async def test() -> None:
        rig = Rig(tmp_path)
        rig.start("seq 3000")
        rig.start("echo up; exec sleep 1000", "s")
        assert (await rig.told.ended("r")).code == 0
        assert len(rig.told.texts("r")) == 3000
        await rig.told.line("s", "up")
        assert rig.runner.pid is not None
        os.kill(rig.runner.pid, 9)
        assert "SIGKILL" in str((await rig.told.ended("s")).error)
        rig.start("echo again", "t")
        assert (await rig.told.ended("t")).code == 0
        await rig.runner.close()
        await until_async(lambda: rig.runner.pid is None, what="it ended")

    run(test)
