"""A gateway starts whole or not at all, wherever it is started."""

import asyncio
import errno
import inspect
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tapui.station.running_gateway import RunningGateway
from tests.rig.peers import Tower
from tests.station.running import left_behind, options_in

CALLS = ("open", "mkdir", "rename", "unlink", "pwrite", "fchmod", "fstat", "ftruncate")


class Faulty:
    """The system calls of a start, one of which fails."""

    def __init__(self, fails_at: int) -> None:
        self.fails_at = fails_at
        self.count = 0
        self.failed = ""

    def wrap(self, name: str, real: Any) -> Any:
        def call(*args: Any, **more: Any) -> Any:
            self.count += 1
            if self.count == self.fails_at:
                self.failed = name
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return real(*args, **more)

        return call


@contextmanager
def one_fails(number: int) -> Iterator[Faulty]:
    """Let one call of the station's and the home's file work fail, by its number."""
    faulty = Faulty(number)
    with pytest.MonkeyPatch.context() as patch:
        for name in CALLS:
            patch.setattr(os, name, faulty.wrap(name, getattr(os, name)))
        yield faulty


def told_nobody(text: str, _level: str) -> None:
    """What is told of a start's small faults is not of interest here."""
    assert text


def descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


async def test_whatever_fails_at_a_start_nothing_is_left_behind(tmp_path: Path) -> None:
    warm = RunningGateway(options_in(tmp_path / "warm"), told_nobody, lambda: None)
    await warm.start()
    await warm.stop(0)
    before = descriptors()
    failed: list[str] = []
    for number in range(1, 1000):
        root = tmp_path / str(number)
        running = RunningGateway(options_in(root), told_nobody, lambda: None)
        fault: OSError | None = None
        try:
            with one_fails(number) as faulty:
                await running.start()
        except OSError as error:
            fault = error
            failed.append(faulty.failed)
        else:
            await running.stop(0)
        assert fault is None or (fault.errno == errno.ENOSPC and fault.strerror)
        assert left_behind(root) == []
        assert descriptors() == before, faulty.failed
        if not faulty.failed:
            break
    assert {"open", "mkdir", "rename"} <= set(failed)


async def greet(running: RunningGateway) -> dict[str, Any]:
    """Start a gateway; return the built-in session as a tower sees it."""
    said = await running.start()
    try:
        token = await asyncio.to_thread(Path(said.internal_token_file).read_text)
        async with await Tower.hello(said.url, token) as tower:
            (session,) = tower.snapshot["state"]["sessions"]
            assert isinstance(session, dict)
            return session
    finally:
        await running.stop(0)


async def test_a_gateway_can_be_started_in_a_folder_that_was_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "removed"
    folder.mkdir()
    monkeypatch.chdir(folder)
    folder.rmdir()
    running = RunningGateway(options_in(tmp_path), told_nobody, lambda: None)
    assert (await greet(running))["cwd"] == str(Path.home())
    assert left_behind(tmp_path) == []


async def test_a_gateway_can_be_started_in_a_folder_whose_name_is_not_utf_8(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    folder.mkdir()  # noqa: ASYNC240
    monkeypatch.chdir(folder)
    running = RunningGateway(options_in(tmp_path), told_nobody, lambda: None)
    assert (await greet(running))["cwd"] == f"{tmp_path}/caf\ufffd"
    assert left_behind(tmp_path) == []


async def test_a_state_folder_whose_name_is_not_utf_8_is_refused(tmp_path: Path) -> None:
    root = Path(os.fsdecode(os.fsencode(tmp_path) + b"/caf\xe9"))
    running = RunningGateway(options_in(root), told_nobody, lambda: None)
    with pytest.raises(OSError, match="the path is not UTF-8"):
        await running.start()
    assert left_behind(root) == []


@pytest.mark.expects_error_log("a step of the gateway's end failed")
@pytest.mark.parametrize("step", ["turn.shut_down", "_parts.stop", "_server.stop"])
async def test_whatever_fails_at_the_end_the_token_files_are_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, step: str
) -> None:
    running = RunningGateway(options_in(tmp_path), told_nobody, lambda: None)
    await running.start()
    owner, _, name = step.partition(".")
    real = getattr(getattr(running, owner), name)

    def fail(*given: object) -> object:
        if not inspect.iscoroutinefunction(real):
            raise ValueError("a fault of the test's own")

        async def after() -> None:
            await real(*given)
            raise ValueError("a fault of the test's own")

        return after()

    monkeypatch.setattr(getattr(running, owner), name, fail)
    await running.stop(0)
    assert left_behind(tmp_path) == []
