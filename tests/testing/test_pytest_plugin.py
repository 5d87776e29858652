"""The pytest plugin in projects of others: with pytest-asyncio, without it, and in unittest."""

import subprocess
import sys
from pathlib import Path

PROVIDER = """
from tapui.provider import Provider

greeter = Provider("greeter")

@greeter.tool
def greet(name: str) -> str:
    return f"Hello, {name}!"
"""
WITH_ASYNCIO = """
import pytest
from greeter import greeter

@pytest.fixture
def provider():
    return greeter

@pytest.mark.asyncio
async def test_a_fixture_is_a_session(provider_session):
    assert (await provider_session.call("greet", name="Ada")).data == "Hello, Ada!"

@pytest.mark.asyncio
async def test_another_opens_sessions(tapui_test):
    async with tapui_test(greeter, session="mine") as session:
        assert session.id == "mine"

@pytest.mark.asyncio
async def test_a_session_that_is_not_closed_fails(tapui_test):
    await tapui_test(greeter).__aenter__()
"""
WITHOUT = """
import asyncio, sys, unittest
from greeter import greeter

class Greeting(unittest.IsolatedAsyncioTestCase):
    async def test_it_greets(self):
        async with greeter.test() as session:
            self.assertEqual((await session.call("greet", name="Ada")).data, "Hello, Ada!")

def test_by_hand():
    async def run():
        async with greeter.test() as session:
            return await session.call("greet", name="Ada")
    assert asyncio.run(run()).data == "Hello, Ada!"
"""
OTHERS = ("textual-snapshot", "syrupy", "xdist", "hypothesispytest", "anyio")
"""Plugins of this environment that take seconds to be imported."""
LIGHT = """
import sys

def test_nothing_is_imported_that_nobody_uses():
    assert "tapui.testing.pytest_plugin" in sys.modules
    heavy = ("tapui.core", "tapui.provider", "msgspec", "regex", "websockets")
    assert [name for name in heavy if name in sys.modules] == []
"""


def run(folder: Path, *options: str) -> str:
    """Run pytest in a project of its own; return what it prints."""
    without = [option for name in (*OTHERS, "cacheprovider") for option in ("-p", f"no:{name}")]
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-W", "error", *without, *options],
        cwd=folder,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return done.stdout + done.stderr


def test_fixtures_of_a_project_with_pytest_asyncio(tmp_path: Path) -> None:
    (tmp_path / "greeter.py").write_text(PROVIDER)
    (tmp_path / "test_greeter.py").write_text(WITH_ASYNCIO)
    printed = run(tmp_path)
    assert "3 passed, 1 error" in printed, printed
    assert "was opened and not closed: use `async with`" in printed


def test_a_project_without_pytest_asyncio(tmp_path: Path) -> None:
    (tmp_path / "greeter.py").write_text(PROVIDER)
    (tmp_path / "test_greeter.py").write_text(WITHOUT)
    printed = run(tmp_path, "-p", "no:asyncio")
    assert "2 passed" in printed, printed


def test_a_project_that_does_not_use_it_pays_nothing(tmp_path: Path) -> None:
    (tmp_path / "test_light.py").write_text(LIGHT)
    printed = run(tmp_path)
    assert "1 passed" in printed, printed
