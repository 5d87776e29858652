"""What importing tool files leaves in this process is taken back."""

import sys
from collections.abc import Iterator

import pytest


@pytest.fixture(autouse=True)
def same_modules() -> Iterator[None]:
    """Put `sys.path`, `sys.meta_path` and `sys.modules` back as they were."""
    path, finders, modules = list(sys.path), list(sys.meta_path), dict(sys.modules)
    yield
    sys.path[:], sys.meta_path[:] = path, finders
    for name in sys.modules.keys() - modules.keys():
        if not name.startswith("tapui"):
            del sys.modules[name]
