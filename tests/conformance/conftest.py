"""One gateway for all of it, and a scene for each test."""

from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tapui.home.tokens import ToolsTokenFile
from tests.conformance.scene import Scene, scene_of
from tests.rig.gateway import Gateway, Home


@pytest.fixture(scope="module")
def process(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """Run `tapui serve` for a whole module."""
    home: Path = tmp_path_factory.mktemp("home")
    ToolsTokenFile(home / "tapui").make()
    with Gateway(Home(home), "--no-attach") as gateway:
        yield gateway


@pytest.fixture
async def scene(process: Gateway) -> AsyncIterator[Scene]:
    """Open a session of the test's own."""
    async for one in scene_of(process):
        yield one
