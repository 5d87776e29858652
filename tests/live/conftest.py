"""The real Copilot CLI: started in a scratch home, offline, against a scripted model."""

import shutil
import subprocess
import tempfile
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import psutil
import pytest

from tests.conftest import missing
from tests.rig.copilot import VERSION, Copilot, find_cli
from tests.rig.gateway import Home
from tests.rig.model_server import ModelServer
from tests.rig.taken import wait_for_tools
from tests.rig.tmux import Tmux
from tests.rig.tower import TowerProcess
from tests.rig.waiting import HUNG

FAILED = pytest.StashKey[bool]()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, Any, Any]:
    """Note of a test whether it has failed."""
    report = yield
    item.stash[FAILED] = item.stash.get(FAILED, False) or report.failed
    return report


@pytest.fixture(scope="session")
def cli() -> Path:
    """The CLI's binary, in the version of the lock file."""
    found = find_cli()
    if found is None:
        missing("the Copilot CLI is not installed (npm ci in tests/live)")
        raise AssertionError
    said = subprocess.run(
        [str(found), "--version"], capture_output=True, text=True, timeout=60, check=True
    )
    assert VERSION in said.stdout, said.stdout
    return found


@pytest.fixture(scope="session")
def cli_cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the CLI unpacks itself, once for all tests."""
    return tmp_path_factory.mktemp("copilot-cache")


LAST_WORDS = 5.0
"""Seconds for a turn to end whose answer is on the screen; another CLI costs as much."""


class Desk:
    """A CLI in which one test after another begins a session of its own, by `/clear`.

    A start takes five seconds of CPU, `/clear` one. What a test leaves (a dialog, another mode or
    policy) is undone. A CLI in which none can begin (it is gone, a turn does not end), or in which
    a test has failed, is ended: the next test gets another.
    """

    def __init__(self, cache: Path) -> None:
        self._cache = cache
        self._open = ExitStack()
        self.copilot: Copilot | None = None
        self.is_spent = False
        """Whether the next test gets another, as this one says."""
        self.model: ModelServer
        self.user: Path

    def take(self) -> Copilot:
        """Return the CLI, in a new session."""
        if self.copilot is None:
            self.user = Path(tempfile.mkdtemp(prefix="tapui-desk-"))
            self._open.callback(shutil.rmtree, self.user, ignore_errors=True)
            self.model = self._open.enter_context(ModelServer())
            self.copilot = Copilot(
                self._open.enter_context(Tmux()),
                home=self.user,
                cache=self._cache,
                cwd=self.user / "work",
                model_url=self.model.url,
            )
            self._pid = self.copilot.pid
        return self.copilot

    def give_back(self) -> None:
        """Have the CLI ready for the next test, or end it."""
        if self.copilot is None:
            return
        try:
            self._begin_anew(self.copilot)
        except AssertionError:
            self.end()

    def _begin_anew(self, copilot: Copilot) -> None:
        assert not self.is_spent
        assert not copilot.screen.is_dead
        copilot.settle(within=LAST_WORDS)  # else `/clear` carries mode and policy forward
        for left in copilot.cwd.iterdir():
            shutil.rmtree(left) if left.is_dir() else left.unlink()
        subprocess.run(["git", "init", "-q", str(copilot.cwd)], check=True)
        copilot.clear()
        self.model.script()
        self.model.requests.clear()

    def end(self) -> None:
        """End the CLI."""
        if self.copilot is not None:
            self.copilot.screen.close()
            with suppress(psutil.NoSuchProcess):
                psutil.Process(self._pid).wait(HUNG)  # it writes to its files until then
        self.copilot, self.is_spent = None, False
        self._open.close()


@pytest.fixture(scope="package")
def desk(cli: Path, cli_cache: Path) -> Iterator[Desk]:
    """What the tests of a worker share, until it goes on with those of another folder."""
    desk = Desk(cli_cache)
    yield desk
    desk.end()


@pytest.fixture
def home(home: Home, request: pytest.FixtureRequest) -> Home:
    """A scratch home; the CLI of a test that takes the desk's stands in it."""
    if "at_desk" not in request.fixturenames:
        return home
    desk: Desk = request.getfixturevalue("at_desk")
    return replace(home, user=desk.user)


@pytest.fixture
def at_desk(desk: Desk, request: pytest.FixtureRequest) -> Iterator[Desk]:
    """The desk while a test has it."""
    desk.take()
    yield desk
    if request.node.stash.get(FAILED, False):
        desk.end()
    else:
        desk.give_back()


@pytest.fixture
def model(request: pytest.FixtureRequest) -> Iterator[ModelServer]:
    """A scripted model without rules."""
    if "at_desk" in request.fixturenames:
        yield request.getfixturevalue("at_desk").model
        return
    with ModelServer() as server:
        yield server


@pytest.fixture
def start_copilot(
    cli: Path, cli_cache: Path, tmux: Tmux, home: Home, model: ModelServer
) -> Callable[..., Copilot]:
    """Start CLIs in the scratch home: `start_copilot(folder="work", args=(…), size=(…))`."""

    def start(folder: str = "work", **options: Any) -> Copilot:
        user = home.copilot.parent
        return Copilot(
            tmux, home=user, cache=cli_cache, cwd=user / folder, model_url=model.url, **options
        )

    return start


@pytest.fixture
def copilot(at_desk: Desk) -> Copilot:
    """A CLI that can be attached to, at its prompt, in a session without turns."""
    return at_desk.take()


@pytest.fixture
def start_tower(tmux: Tmux, home: Home) -> Iterator[Callable[..., TowerProcess]]:
    """Start towers that find the CLI by themselves; they end with the test."""
    with ExitStack() as stack:

        def start(*args: str, **options: Any) -> TowerProcess:
            tower = TowerProcess(tmux, home, "--port", "0", *args, **options)
            stack.callback(tower.end)
            return tower

        yield start


@pytest.fixture
def tower(copilot: Copilot, start_tower: Callable[..., TowerProcess]) -> TowerProcess:
    """A tower beside the CLI, attached to its session."""
    tower = start_tower()
    wait_for_tools(tower.home, copilot)
    return tower
