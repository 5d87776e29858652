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
    """Run `tapui serve` for one test, which ends it or needs one without any other session."""
    with Gateway(home, "--no-attach") as gateway:
        yield gateway


@pytest.fixture
def run(process: Gateway, tmp_path: Path) -> Iterator[Callable[..., Running]]:
    """Start a sample's program by its name, with a `token` or at another gateway; it ends with the
    test."""
    with ExitStack() as stack:

        def start(name: str, token: str | None = None, gateway: Gateway = process) -> Running:
            return stack.enter_context(Running(gateway, tmp_path / name, name, token))

        yield start
