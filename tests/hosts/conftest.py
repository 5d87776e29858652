"""What the tests of the hosts share: a scratch COPILOT_HOME, processes that look like a CLI."""

import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tapui.hosts.copilot.uplink import HostTiming
from tests.rig.waiting import HUNG

_LISTENER = """
import socket, sys
held = [socket.create_server((host, 0)) for host in sys.argv[1:]]
print(*(one.getsockname()[1] for one in held), flush=True)
sys.stdin.read()
"""


class Pretender:
    """A process that listens on ports of `hosts` and holds sessions, as a CLI does."""

    def __init__(self, home: Path, process: "subprocess.Popen[str]", ports: list[int]) -> None:
        self.home = home
        self.process = process
        self.ports = ports

    def hold(self, session: str) -> Path:
        """Take a session's lock."""
        folder = self.home / "session-state" / session
        folder.mkdir(parents=True, exist_ok=True)
        lock = folder / f"inuse.{self.process.pid}.lock"
        lock.write_text(str(self.process.pid))
        return lock

    def kill(self) -> None:
        """End the process; its locks stay."""
        self.process.kill()
        self.process.wait(HUNG)


@pytest.fixture
def timing() -> HostTiming:
    """The host's time limits; a test parametrizes others."""
    return HostTiming()


@pytest.fixture
def copilot_home(tmp_path: Path) -> Path:
    """An empty COPILOT_HOME."""
    return tmp_path / "copilot"


@pytest.fixture
def pretend(copilot_home: Path) -> Iterator[Callable[..., Pretender]]:
    """Start processes: `pretend("127.0.0.1", "::1")` listens on a port of each address."""
    with ExitStack() as stack:

        def start(*hosts: str) -> Pretender:
            process = subprocess.Popen(
                [sys.executable, "-c", _LISTENER, *hosts],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            stack.enter_context(process)
            stack.callback(process.kill)
            assert process.stdout is not None
            ports = [int(port) for port in process.stdout.readline().split()]
            return Pretender(copilot_home, process, ports)

        yield start
