"""Files that are written for the server, and commands that run for it."""

import asyncio
import os
from pathlib import Path
from typing import Any

import psutil
import pytest

from tapui.hosts.language_server import client_tools
from tapui.hosts.language_server.client_tools import (
    MAX_FILE,
    OUTPUT,
    NotDoneError,
    planned_write,
    write,
)
from tests.rig.waiting import until, until_async


@pytest.fixture
def folder(tmp_path: Path) -> str:
    (tmp_path / "work").mkdir()
    return os.path.realpath(tmp_path / "work")


def test_a_new_file_in_new_folders(folder: str) -> None:
    planned = planned_write("a/b/c.txt", "one\ntwo\n", folder)
    assert (planned.path, planned.before) == (f"{folder}/a/b/c.txt", None)
    lines = planned.diff.split("\n")
    assert lines[:2] == ["--- /dev/null", f"+++ {folder}/a/b/c.txt"]
    assert planned.counts == (3, 0)
    write(planned, folder)
    assert Path(planned.path).read_text() == "one\ntwo\n"


def test_a_file_keeps_its_permissions_and_other_names_what_it_was(folder: str) -> None:
    file = Path(folder, "run.sh")
    file.write_text("old")
    file.chmod(0o750)
    other = Path(folder, "other")
    other.hardlink_to(file)
    write(planned_write(str(file), "new", folder), folder)
    assert (file.read_text(), file.stat().st_mode & 0o777) == ("new", 0o750)
    assert other.read_text() == "old"
    assert {one.name for one in Path(folder).iterdir()} == {"run.sh", "other"}


@pytest.mark.parametrize(
    ("path", "why"),
    [
        ("../x", "it is outside of the session's folder"),
        ("/etc/passwd", "it is outside of the session's folder"),
        (".", "it is outside of the session's folder"),
        ("file:///etc/passwd", "it is outside of the session's folder"),
        ("out/x", "it is outside of the session's folder"),
        ("to-a-file", "it is outside of the session's folder"),
        ("a\0b", "no file can have this name"),
        ("", "it names no file"),
        (5, "it names no file"),
        ("folder", "what is there cannot be read: it is not a file"),
        ("pipe", "what is there cannot be read: it is not a file"),
        ("binary", "what is there is no text in UTF-8"),
        ("large", f"a file of more than {MAX_FILE:,} bytes is not written"),
    ],
)
def test_what_is_not_written(tmp_path: Path, folder: str, path: Any, why: str) -> None:
    (tmp_path / "secret").write_text("secret")
    Path(folder, "out").symlink_to(tmp_path)
    Path(folder, "to-a-file").symlink_to(tmp_path / "secret")
    Path(folder, "folder").mkdir()
    os.mkfifo(Path(folder, "pipe"))
    Path(folder, "binary").write_bytes(b"\xff\xfe")
    Path(folder, "large").write_bytes(b"x" * (MAX_FILE + 1))
    with pytest.raises(NotDoneError) as error:
        planned_write(path, "new", folder)
    assert str(error.value) == why


@pytest.mark.parametrize(
    ("text", "why"),
    [
        (None, "there is no text to write"),
        ("\ud800", "the text is not valid Unicode"),
        ("x" * (MAX_FILE + 1), f"a file of more than {MAX_FILE:,} bytes is not written"),
    ],
)
def test_texts_that_are_not_written(folder: str, text: Any, why: str) -> None:
    with pytest.raises(NotDoneError, match=why):
        planned_write("a", text, folder)


def test_a_file_that_changed_since_it_was_shown_stays(folder: str) -> None:
    file = Path(folder, "a")
    file.write_text("one")
    planned = planned_write("a", "two", folder)
    file.write_text("mine")
    with pytest.raises(NotDoneError, match="was changed since"):
        write(planned, folder)
    assert file.read_text() == "mine"
    file.unlink()
    with pytest.raises(NotDoneError, match="was changed since"):
        write(planned, folder)
    planned = planned_write("b", "two", folder)
    Path(folder, "b").write_text("mine")
    with pytest.raises(NotDoneError, match="was changed since"):
        write(planned, folder)


def test_a_link_that_came_since_is_not_followed(tmp_path: Path, folder: str) -> None:
    planned = planned_write("a/b", "two", folder)
    Path(folder, "a").symlink_to(tmp_path)
    with pytest.raises(NotDoneError, match="it cannot be written"):
        write(planned, folder)
    assert not (tmp_path / "b").exists()
    planned = planned_write("c", "two", folder)
    Path(folder, "c").symlink_to(tmp_path / "d")
    with pytest.raises(NotDoneError, match="it cannot be written"):
        write(planned, folder)
    assert not (tmp_path / "d").exists()


def test_of_very_many_lines_all_are_shown(folder: str) -> None:
    old, new = "a\n" * 3_000, "b\n" * 3_000
    Path(folder, "a").write_text(old)
    planned = planned_write("a", new, folder)
    assert planned.counts == (3_001, 3_001)


# Commands


async def ran(command: str, folder: str, **options: Any) -> client_tools.CommandEnd:
    return await client_tools.run(command, folder, {"PATH": os.environ["PATH"]}, **options)


async def test_a_commands_output_and_end(folder: str) -> None:
    ended = await ran("echo out; echo err >&2; cat; exit 3", folder)
    assert (ended.code, ended.output) == (3, "out\nerr")
    killed = await ran("kill -9 $$", folder)
    assert (killed.code, killed.text) == (None, "[killed by a signal]")


async def test_a_long_output_loses_its_middle(folder: str) -> None:
    program = "import sys; sys.stdout.write('a' * 100_000 + 'z' * 100_000)"
    ended = await ran(f'python3 -c "{program}"', folder)
    assert ended.output.startswith("a" * OUTPUT + "\n[... ")
    assert ended.output.endswith(
        f"[... {200_000 - 2 * OUTPUT} bytes left out ...]\n" + "z" * OUTPUT
    )


async def test_what_a_command_leaves_running_ends_with_it(folder: str) -> None:
    ended = await ran("sleep 1000 & echo $!", folder)
    pid = int(ended.output)
    await until_async(lambda: not _runs(pid), what="its end")


async def test_a_command_that_runs_too_long_is_killed(folder: str) -> None:
    ended = await ran("echo begun; sleep 1000", folder, seconds=0.2)
    assert (ended.code, ended.late) == (None, 0.2)
    assert ended.text.endswith("[killed: it ran for more than 0.2 s]")


async def test_a_command_that_is_given_up_is_killed(folder: str) -> None:
    running = asyncio.ensure_future(ran("echo $$ > pid; sleep 1000", folder))
    pid_file = Path(folder, "pid")
    await until_async(lambda: pid_file.exists() and pid_file.read_text(), what="its start")
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
    until(lambda: not _runs(int(pid_file.read_text())), what="its end")


def _runs(pid: int) -> bool:
    """Return whether a process is there and is no zombie."""
    try:
        return bool(psutil.Process(pid).status() != psutil.STATUS_ZOMBIE)
    except psutil.NoSuchProcess:
        return False
