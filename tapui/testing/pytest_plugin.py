"""The pytest plugin that comes with tapui: fixtures for tests of providers.

It is imported by every pytest of an environment in which tapui is installed, so it imports nothing
but pytest, and what finds `tools._base` for tool files, until a fixture is used. It defines nothing
but these:

- `tapui_test(provider, …)`: as `provider.test(…)`, with what is left behind checked once more
  when the test is over;
- `provider_session` (with pytest-asyncio): a session with the provider in it that the fixture
  `provider`, the test's own, returns.
"""

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest

from tapui.folder_tools.base import install_base

if TYPE_CHECKING:
    from tapui.testing.opening import OpenTest


def pytest_configure(config: pytest.Config) -> None:
    """Let tool files be imported, and add the asynchronous fixture where pytest-asyncio runs such
    fixtures."""
    install_base()
    if config.pluginmanager.hasplugin("asyncio"):
        from tapui.testing import session_fixture

        config.pluginmanager.register(session_fixture, "tapui-session")


@pytest.fixture
def tapui_test() -> Iterator[Callable[..., "OpenTest"]]:
    """Return what opens a session with a provider: `async with tapui_test(provider) as session:`.

    A session that the test has not closed fails it.
    """
    opened: list[OpenTest] = []

    def open_one(provider: Any, **options: Any) -> "OpenTest":
        from tapui.testing.opening import open_test

        opened.append(open_test(provider, **options))
        return opened[-1]

    yield open_one
    if any(one.is_open for one in opened):
        pytest.fail("a session of tapui_test was opened and not closed: use `async with`")
