"""One gateway for the samples of a module, a session for each test, and programs beside it."""

from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import AsyncExitStack, ExitStack
from pathlib import Path

import pytest

from tests.conformance.conftest import process
from tests.conformance.scene import Scene
from tests.rig.gateway import Gateway, Home
from tests.samples.running import Running

__all__ = ["process"]


@pytest.fixture
async def scene(process: Gateway) -> AsyncIterator[Scene]:
    """Open a session of the test's own, whose host asks before each tool."""
    async with AsyncExitStack() as stack:
        yield await Scene(process, stack).begin(hooks=True)


@pytest.fixture
def own_gateway(home: Home) -> Iterator[Gateway]:
    """Run `tapui serve` for one test: a sample binds to the first session that there is."""
    with Gateway(home, "--no-attach") as gateway:
        yield gateway


@pytest.fixture
def run(own_gateway: Gateway, tmp_path: Path) -> Iterator[Callable[..., Running]]:
    """Start a sample's program by its name, and with a `token`; it ends with the test."""
    with ExitStack() as stack:

        def start(name: str, token: str | None = None) -> Running:
            return stack.enter_context(Running(own_gateway, tmp_path / name, name, token))

        yield start
