"""Faults go into a private, bounded file and nowhere else."""

import asyncio
import logging
import os
import sys
import threading
import warnings
from pathlib import Path

import pytest

from tapui.home.paths import Home
from tapui.station.faults import faults_logged, log_path

_log = logging.getLogger("tapui.test")


@pytest.fixture
def home(tmp_path: Path) -> Home:
    return Home.at(tmp_path / "tapui", tmp_path / ".copilot")


class Unraisable:
    def __del__(self) -> None:
        raise ValueError("from a finalizer")


def fault_in_a_thread() -> None:
    def fail() -> None:
        raise ValueError("from a thread")

    thread = threading.Thread(target=fail)
    thread.start()
    thread.join()


def fault_in_a_callback() -> None:
    def fail() -> None:
        raise ValueError("from a callback")

    async def run() -> None:
        asyncio.get_running_loop().call_soon(fail)
        await asyncio.sleep(0)

    asyncio.run(run())


@pytest.mark.expects_error_log("a fault of the test's own", "Exception in callback")
@pytest.mark.expects_error_log("ended with a fault", "could not be raised")
@pytest.mark.filterwarnings("always")
def test_every_kind_of_fault_goes_to_the_file_and_not_to_the_terminal(
    home: Home, capfd: pytest.CaptureFixture[str]
) -> None:
    hooks = (threading.excepthook, sys.unraisablehook, logging.lastResort, warnings.showwarning)
    with faults_logged(home) as path:
        _log.info("not of interest")
        _log.error("a fault of the test's own")
        orphan = logging.getLogger("tapui.orphan")
        orphan.propagate = False
        orphan.error("no handler of its own")
        warnings.warn("a warning", UserWarning, stacklevel=1)
        Unraisable()
        fault_in_a_thread()
        fault_in_a_callback()
    assert path == log_path(home, os.getpid())
    assert hooks == (
        *(threading.excepthook, sys.unraisablehook),
        *(logging.lastResort, warnings.showwarning),
    )
    text = path.read_text()
    for part in (
        "a fault of the test's own",
        "no handler of its own",
        "UserWarning: a warning",
        "ValueError: from a finalizer",
        "ValueError: from a thread",
        "ValueError: from a callback",
    ):
        assert part in text
    assert "not of interest" not in text
    assert capfd.readouterr() == ("", "")


@pytest.mark.expects_error_log("a fault")
def test_serve_writes_them_on_its_standard_error_too(
    home: Home, capfd: pytest.CaptureFixture[str]
) -> None:
    with faults_logged(home, sys.stderr) as path:
        _log.error("a fault of the test's own")
    assert capfd.readouterr().err == "ERROR: a fault of the test's own\n"
    assert "a fault of the test's own" in path.read_text()


def test_a_process_without_faults_leaves_no_file(home: Home) -> None:
    with faults_logged(home):
        _log.info("not of interest")
    assert not home.state.exists()


@pytest.mark.expects_error_log("x")
def test_the_file_is_private_and_bounded(home: Home) -> None:
    before = os.umask(0)
    try:
        with faults_logged(home, most_bytes=2000) as path:
            for _ in range(100):
                _log.error("%s", "x" * 100)
    finally:
        os.umask(before)
    files = sorted(path.parent.iterdir())
    assert [one.name for one in files] == [path.name, f"{path.name}.1", f"{path.name}.2"]
    assert all(one.stat().st_size <= 2000 for one in files)
    assert {one.stat().st_mode & 0o777 for one in files} == {0o600}
    assert path.parent.stat().st_mode & 0o777 == 0o700


@pytest.mark.expects_error_log("a fault")
@pytest.mark.parametrize("kind", ["a link", "a link for its folder", "a pipe", "a folder"])
def test_what_was_planted_in_its_place_is_left_alone(
    home: Home, tmp_path: Path, kind: str, capfd: pytest.CaptureFixture[str]
) -> None:
    path, target = log_path(home, os.getpid()), tmp_path / "target"
    if kind == "a link for its folder":
        target.mkdir()
        home.state.mkdir()
        path.parent.symlink_to(target)
    else:
        path.parent.mkdir(parents=True)
        if kind == "a link":
            target.touch()
            path.symlink_to(target)
        elif kind == "a pipe":
            os.mkfifo(path)
        else:
            path.mkdir()
    with faults_logged(home):
        _log.error("a fault of the test's own")
    assert capfd.readouterr() == ("", "")
    if target.is_dir():
        assert list(target.iterdir()) == []
    elif target.exists():
        assert target.read_bytes() == b""


@pytest.mark.expects_error_log("a name")
def test_text_from_outside_cannot_pass_for_a_line_of_the_log(home: Home) -> None:
    with faults_logged(home) as path:
        _log.error("a name: %s", "a\n2026-11-22 ERROR forged\x1b[2J")
    (line,) = path.read_text().splitlines()
    assert line.endswith(r"a name: a\x0a2026-11-22 ERROR forged\x1b[2J")


def test_the_oldest_logs_of_ended_processes_are_dropped(home: Home) -> None:
    folder = log_path(home, 1).parent
    folder.mkdir(parents=True)
    running = log_path(home, os.getppid())
    running.touch()
    os.utime(running, (0, 0))
    ended = [folder / f"tapui-{5_000_000 + number}.log" for number in range(15)]
    for age, file in enumerate(ended):
        file.touch()
        os.utime(file, (1000 + age, 1000 + age))
    with faults_logged(home):
        left = set(folder.iterdir())
    assert left == {running, *ended[5:]}
