"""One gateway and one home for all tests of a module, which names these fixtures in its `__all__`.

A test that ends the gateway, or that looks at all that one has, takes `own_gateway`.
"""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.gateway.conftest import running
from tests.rig.gateway import Gateway, Home

__all__ = ["gateway", "home", "own_gateway", "running"]


@pytest.fixture
def gateway(running: Gateway) -> Gateway:
    """The gateway of the module."""
    return running


@pytest.fixture
def home(running: Gateway) -> Home:
    """Its home."""
    return running.home


@pytest.fixture
def own_gateway() -> Iterator[Gateway]:
    """A gateway of the test alone, in a home of its own."""
    root = Path(tempfile.mkdtemp(prefix="tapui-home-"))
    with Gateway(Home(root), "--no-attach") as gateway:
        yield gateway
    shutil.rmtree(root, ignore_errors=True)
