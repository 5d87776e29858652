"""The pytest plugin that blames faults on the test that caused them; see `tests.rig.faults`."""

from collections.abc import Callable, Generator
from contextlib import contextmanager

import pytest

from tests.rig.faults import MARKER, watch


@pytest.hookimpl(trylast=True)
def pytest_configure(config: pytest.Config) -> None:
    """Take the hooks over (pytest's own blame the next test)."""
    config.addinivalue_line("markers", f"{MARKER}(*parts): errors in the log that must come")
    watch.install()


@pytest.hookimpl(tryfirst=True)
def pytest_unconfigure() -> None:
    """Give the hooks back to pytest."""
    watch.uninstall()


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> Generator[None]:
    """Begin before the fixtures."""
    watch.begin(item)
    with _skips_noted():
        yield


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_call() -> Generator[None]:
    """Fail the test itself where it is to blame already."""
    with _skips_noted():
        yield
    watch.check()


@contextmanager
def _skips_noted() -> Generator[None]:
    try:
        yield
    except pytest.skip.Exception:
        watch.skipped()
        raise


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item, nextitem: pytest.Item | None) -> Generator[None]:
    """End after the fixtures."""
    try:
        yield
    finally:
        ends_all = nextitem is None
        watch.end(ends_module=nextitem is None or nextitem.path != item.path, ends_all=ends_all)


@pytest.hookimpl
def pytest_fixture_setup(fixturedef: pytest.FixtureDef[object]) -> None:
    """Note what outlives a test; what lives as long as all tests is looked at after the last."""
    if fixturedef.scope in ("module", "class", "package"):
        watch.outlives()


@pytest.fixture
def expects_error_log() -> Callable[[str], None]:
    """Name an error that the test is going to provoke: `expects_error_log("part")`."""
    return watch.expect
