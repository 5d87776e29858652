"""What loading an author's file leaves in this process is taken back."""

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def same_modules() -> Iterator[None]:
    """Put `sys.path` and `sys.modules` back as they were."""
    path, modules = list(sys.path), dict(sys.modules)
    yield
    sys.path[:] = path
    for name in sys.modules.keys() - modules.keys():
        if not name.startswith("tapui"):
            del sys.modules[name]
