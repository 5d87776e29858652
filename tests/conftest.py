"""What all tests share: scratch homes, terminals, gateways; none of it outlives its test."""

import fcntl
import importlib.util
import os
import shutil
import signal
import tempfile
import termios
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

from tests.rig import faults, left_behind, machine
from tests.rig.gateway import Gateway, Home
from tests.rig.tmux import Tmux

pytest_plugins = ["tests.rig.fault_hooks", "tests.rig.machine_tests"]

# An example has no time limit: a busy machine would fail the test. Each run has the same examples,
# so that none fails by the dice; others are looked for with `--hypothesis-profile=search`.
settings.register_profile(
    "search",
    deadline=None,
    derandomize=False,
    print_blob=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("tapui", settings.get_profile("search"), derandomize=True, database=None)
settings.load_profile("tapui")

REQUIRE = "TAPUI_REQUIRE_LIVE"
"""Set in CI: what is missing for a test then fails it instead of skipping it."""


def pytest_configure(config: pytest.Config) -> None:
    """Let what tests start take SIGINT, and stand in no terminal, wherever pytest was started.

    A shell that runs pytest in the background has SIGINT ignored, which children inherit: ctrl+c
    in `tapui run` would do nothing then. And a program in the terminal of pytest counts as started
    by the person.
    """
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    is_worker = hasattr(config, "workerinput")
    if is_worker or not (config.getoption("numprocesses", None) or config.getoption("usepdb")):
        with suppress(OSError):  # there is none
            terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
            fcntl.ioctl(terminal, termios.TIOCNOTTY)
            os.close(terminal)


def missing(what: str) -> None:
    """Skip the test because `what` is missing, or fail it where nothing may be missing."""
    if os.environ.get(REQUIRE):
        pytest.fail(f"{what} ({REQUIRE} is set)")
    pytest.skip(what)


def program(name: str) -> str:
    """Return the path of a program; skips the test without it."""
    found = shutil.which(name)
    if found is None:
        missing(f"{name} is not installed")
    return str(found)


def needs_uvloop() -> None:
    """Skip the test where uvloop is not installed."""
    if importlib.util.find_spec("uvloop") is None:
        missing("uvloop is not installed (pip install -e '.[fast]')")


SLOW = frozenset(
    {"attack", "cli", "durability", "emitters", "gateway", "hosts", "javascript", "mcp_servers"}
    | {"provider", "runtime", "samples", "simulator", "tower"}
)
"""Rooms whose files take long: processes, sockets, an app a test."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with files that wait for other processes, go on with those of slow rooms: what one
    worker is left with at the end is a file of a second or two, never of minutes."""
    waiting = {
        item.path
        for item in items
        if item.get_closest_marker("live") or item.get_closest_marker("pty")
    }
    tests = Path(__file__).parent

    @cache
    def rank(file: Path) -> int:
        if file in waiting:
            return 0
        if not file.is_relative_to(tests):
            return 2
        return 1 if file.relative_to(tests).parts[0] in SLOW else 2

    items.sort(key=lambda item: rank(item.path))


@pytest.fixture
def home() -> Iterator[Home]:
    """A scratch home with a short path (sockets have short names), removed afterwards.

    Its processes must end with the test.
    """
    root = Path(tempfile.mkdtemp(prefix="tapui-home-"))
    left_behind.look_after(root)
    yield Home(root)
    faults.look()
    shutil.rmtree(root, ignore_errors=True)


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """Give a file system of 64 KiB; skipped where none can be mounted."""
    with machine.small_disk(tmp_path / "disk"):
        yield tmp_path / "disk"


@pytest.fixture
def tmux() -> Iterator[Tmux]:
    """Terminals; skipped without tmux."""
    program("tmux")
    with Tmux() as server:
        yield server


@pytest.fixture
def serve(home: Home) -> Iterator[Callable[..., Gateway]]:
    """Start `tapui serve` in the scratch home: `serve(*args, port=0, env=None)`."""
    with ExitStack() as stack:

        def start(*args: str, **options: Any) -> Gateway:
            return stack.enter_context(Gateway(home, *args, **options))

        yield start


@pytest.fixture
def gateway(serve: Callable[..., Gateway]) -> Gateway:
    """A `tapui serve` that attaches to nothing."""
    return serve("--no-attach")
