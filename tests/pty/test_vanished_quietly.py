"""A terminal that vanishes and sends no signal: the tower is in a session of its own."""

import fcntl
import json
import os
import signal
import struct
import subprocess
import termios
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.pty.test_terminal import left_behind
from tests.pty.test_vanished_terminal import has_ended, leads_nowhere
from tests.rig import faults
from tests.rig.gateway import Home, tapui_argv
from tests.rig.provider_process import ProviderProcess
from tests.rig.waiting import HUNG, until


class QuietTerminal:
    """A terminal that controls nobody. What is written to it is read, and its end can be closed."""

    def __init__(self) -> None:
        self.ours, self.theirs = os.openpty()
        fcntl.ioctl(self.theirs, termios.TIOCSWINSZ, struct.pack("4H", 36, 120, 0, 0))
        self.shown = b""
        self._reading = threading.Thread(target=self._read)
        self._reading.start()

    def _read(self) -> None:
        while True:
            try:
                data = os.read(self.ours, 65536)
            except OSError:
                return  # nobody has the other end any more
            if b"\0closed\0" in data:
                return
            self.shown += data

    def wait_for(self, text: bytes) -> None:
        """Wait until something was shown."""
        until(lambda: text in self.shown, what=lambda: f"{text!r} in {self.shown[-2000:]!r}")

    def vanish(self) -> None:
        """Close our end, as a terminal's program that dies does."""
        attributes = termios.tcgetattr(self.theirs)
        attributes[1] &= ~termios.OPOST
        termios.tcsetattr(self.theirs, termios.TCSANOW, attributes)
        os.write(self.theirs, b"\0closed\0")  # our reader lets go
        self._reading.join()
        os.close(self.ours)
        os.close(self.theirs)


class QuietTower:
    """`tapui` with two such terminals: one for its input, one for its output."""

    def __init__(self, home: Home) -> None:
        home.tapui.mkdir(parents=True)
        (home.tapui / "config.toml").write_text("[timeouts]\nidle-exit = 1.0\n")
        self.home = home
        self.input, self.output = QuietTerminal(), QuietTerminal()
        self.process = subprocess.Popen(
            tapui_argv("--no-attach", "--port", "0"),
            env=home.env(),
            stdin=self.input.theirs,
            stdout=self.output.theirs,
            stderr=self.output.theirs,
            start_new_session=True,
        )
        self.gateway: dict[str, Any] = until(self._announced, what="gateway.json")

    def _announced(self) -> dict[str, Any] | None:
        for file in self.home.tapui.glob("run/*/gateway.json"):
            found: dict[str, Any] = json.loads(file.read_text())
            return found
        return None


@pytest.fixture
def tower(home: Home) -> Iterator[QuietTower]:
    started = QuietTower(home)
    yield started
    for pid in (started.process.pid, started.gateway["pid"]):
        if not has_ended(pid):  # the test has failed
            os.kill(pid, signal.SIGKILL)
    started.process.wait()
    faults.look()


def lose(tower: QuietTower, which: str) -> None:
    if which != "output":
        tower.input.vanish()
    if which != "input":
        tower.output.vanish()


def let_go_of_the_rest(tower: QuietTower, which: str) -> None:
    if which == "output":
        tower.input.vanish()
    if which == "input":
        tower.output.vanish()


@pytest.mark.parametrize("which", ["both", "input", "output"])
def test_the_gateway_goes_on_while_somebody_is_attached(
    tower: QuietTower, home: Home, which: str
) -> None:
    pid = tower.gateway["pid"]
    url, token = tower.gateway["url"], Path(tower.gateway["tokenFile"]).read_text().strip()
    with ProviderProcess(url, token) as provider:
        lose(tower, which)
        until(lambda: leads_nowhere(pid), what="the terminal was given up")
        provider.push("still here")
        assert home.run("status").returncode == 0
        assert psutil.Process(pid).is_running()
        assert tower.process.wait(HUNG) == 0  # nobody need wait for it any longer
        provider.send({"type": "goodbye"})
    until(lambda: has_ended(pid), what="the idle gateway's end")
    assert left_behind(home) == []
    let_go_of_the_rest(tower, which)


@pytest.mark.parametrize("which", ["both", "input", "output"])
def test_the_gateway_ends_when_nobody_is_attached(
    tower: QuietTower, home: Home, which: str
) -> None:
    lose(tower, which)
    assert tower.process.wait(HUNG) == 0
    assert left_behind(home) == []
    let_go_of_the_rest(tower, which)
