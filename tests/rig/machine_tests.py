"""The pytest plugin that tells tests whose outcome depends on the machine from all others.

The outcome of a test that reads a real clock, or that starts threads, processes, sockets or
terminals, depends on how busy the machine is. Such a test is marked `machine`: by its folder in
`ROOMS`, else with `@pytest.mark.machine`. One that fails is run once more, unless it has timed out.

All others are deterministic: a test without the mark that starts a thread or a process, or that
binds or connects a socket, fails.

What `.ci/run` reads of the first failure of a test stands among the properties of its JUnit report
(`tests.rig.verdict`).
"""

import functools
import socket
import subprocess
import threading
import traceback
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest

ROOMS = frozenset(
    {"attack", "authoring", "autobahn", "bench", "cli", "client", "conformance", "corpus"}
    | {"durability", "emitters/runner", "emitters/shell", "faults", "folder_tools", "gateway"}
    | {"home", "hosts", "index", "javascript", "live", "mcp_servers/bridge"}
    | {"mcp_servers/shell", "provider", "pty", "records", "replay", "runtime", "samples"}
    | {"schemas", "shipped", "simulator", "soak", "station", "telemetry", "testing", "tower"}
)
"""Folders of `tests` whose tests depend on the machine: each of them, or nearly so."""

FIRST_FAILURE = "first failure"
"""The property with the first line of a test's first failure."""
NOT_MARKED = "not marked"
"""The property of a test that failed and is not marked `machine`."""

_TIMED_OUT = "from pytest-timeout"
_TESTS = Path(__file__).parent.parent
_LINE = 200
"""Characters that are kept of a failure's first line."""


class _Uses:
    """What the test that runs uses of the machine; looked at while a test runs that may not."""

    def __init__(self) -> None:
        self._first: str | None = None
        self._watches = False
        self._undo: list[Callable[[], None]] = []

    def install(self) -> None:
        """Watch where threads, processes and connections begin."""
        self._wrap(threading.Thread, "start", "a thread")
        self._wrap(subprocess.Popen, "__init__", "a process")
        self._wrap(socket.socket, "bind", "a socket")
        self._wrap(socket.socket, "connect", "a socket")

    def uninstall(self) -> None:
        """Give the classes their methods back."""
        while self._undo:
            self._undo.pop()()

    def begin(self) -> None:
        """Begin a test that may use nothing."""
        self._first, self._watches = None, True

    def end(self) -> str | None:
        """End it: what it used first, and where."""
        self._watches = False
        return self._first

    def _wrap(self, owner: type, name: str, what: str) -> None:
        inherited = name not in vars(owner)
        method = getattr(owner, name)

        def noted(*args: Any, **options: Any) -> Any:
            if self._watches and self._first is None:
                self._first = f"{what}, from\n{_callers()}"
            return method(*args, **options)

        setattr(owner, name, noted)
        self._undo.append(
            lambda: delattr(owner, name) if inherited else setattr(owner, name, method)
        )


def _callers() -> str:
    frames = traceback.extract_stack()[:-2]
    own = [frame for frame in frames if "site-packages" not in frame.filename]
    return "".join(traceback.format_list(own[-8:]))


_uses = _Uses()


def pytest_configure() -> None:
    """Begin to watch."""
    _uses.install()


def pytest_unconfigure() -> None:
    """End it."""
    _uses.uninstall()


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> object | None:
    """Load files in a way that a worker's death does not stop."""
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        """A worker that dies costs the test that it ran.

        xdist 3.8 gives all files of a dead worker to the others, also those that it was done with.
        A worker that gets such a file has nothing to run, says nothing, and is given no other: once
        each has one, all wait for ever.
        """

        def remove_node(self, node: Any) -> str | None:
            files = self.assigned_work.pop(node)
            left = [name for tests in files.values() for name, done in tests.items() if not done]
            if not left:
                return None
            for file, tests in files.items():
                tests.pop(left[0], None)
                if not all(tests.values()):
                    self.workqueue[file] = tests
            for other in self.assigned_work:
                self._reschedule(other)
            return str(left[0])

    return Scheduling(config, log)


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Mark tests by their room, and have each that is marked `machine` run once more where it
    fails."""
    runs_again = hasattr(config.option, "force_reruns") and not config.option.usepdb
    for item in items:
        for mark in _marks(item.path):
            item.add_marker(mark)
        if runs_again and is_marked(item):
            item.add_marker(pytest.mark.flaky(reruns=1, rerun_except=_TIMED_OUT))


@functools.cache
def _marks(file: Path) -> tuple[str, ...]:
    """Return the marks of the tests of a file: `machine`, and the room itself where it is one."""
    if not file.is_relative_to(_TESTS):
        return ()
    room = file.relative_to(_TESTS).parent.as_posix()
    is_in = any(f"{room}/".startswith(f"{one}/") for one in ROOMS)
    own = tuple(name for name in ("live", "pty") if room == name)
    return (*own, "machine") if is_in else own


def is_marked(item: pytest.Item) -> bool:
    """Return whether the test may use the machine."""
    return item.get_closest_marker("machine") is not None


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None]:
    """Begin before the fixtures."""
    if not is_marked(item):
        _uses.begin()
    yield


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown() -> Generator[None]:
    """End after the fixtures."""
    try:
        yield
    finally:
        used = _uses.end()
    if used is not None:
        pytest.fail(f"not marked `machine`, and starts {used}", pytrace=False)


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Keep the first line of a test's first failure, also when its second run passes."""
    report = yield
    if report.failed and not any(name == FIRST_FAILURE for name, _ in item.user_properties):
        known: list[tuple[str, object]] = [(FIRST_FAILURE, _first_line(call, report))]
        if not is_marked(item):
            known.append((NOT_MARKED, ""))
        item.user_properties += known
        report.user_properties += known
    return report


def _first_line(call: pytest.CallInfo[None], report: pytest.TestReport) -> str:
    text = str(report.longrepr) if call.excinfo is None else call.excinfo.exconly()
    line = next(iter(text.strip().splitlines()), "")
    return "".join(sign if sign.isprintable() else "?" for sign in line[:_LINE])
