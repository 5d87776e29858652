"""The real Copilot CLI: started in a scratch home, offline, against a scripted model."""

import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.conftest import missing
from tests.rig.copilot import VERSION, Copilot, find_cli
from tests.rig.gateway import Home
from tests.rig.model_server import ModelServer
from tests.rig.taken import wait_for_tools
from tests.rig.tmux import Tmux
from tests.rig.tower import TowerProcess


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark every test of this folder as live."""
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.live)


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


@pytest.fixture
def model() -> Iterator[ModelServer]:
    """A scripted model without rules."""
    with ModelServer() as server:
        yield server


@pytest.fixture
def start_copilot(
    cli: Path, cli_cache: Path, tmux: Tmux, home: Home, model: ModelServer
) -> Callable[..., Copilot]:
    """Start CLIs in the scratch home: `start_copilot(folder="work", args=(…), size=(…))`."""

    def start(folder: str = "work", **options: Any) -> Copilot:
        return Copilot(
            tmux,
            home=home.root,
            cache=cli_cache,
            cwd=home.root / folder,
            model_url=model.url,
            **options,
        )

    return start


@pytest.fixture
def copilot(start_copilot: Callable[..., Copilot]) -> Copilot:
    """A CLI that can be attached to, at its prompt."""
    return start_copilot()


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
