"""Folders' files and consents, as the core is told of them."""

import json
import os
from pathlib import Path
from typing import Any

import pytest

from tapui.core.effects import CheckEmitter, KeepConsent
from tapui.core.emitters.plans import (
    CannotStart,
    EmitterStanding,
    FolderEmitters,
    MayStart,
    MustAsk,
)
from tapui.emitters.shell.folders import FolderShell
from tests.rig.file_sizes import files_of_at_most


class Clock:
    """A clock that the test turns."""

    now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def shell(tmp_path: Path, clock: Clock) -> FolderShell:
    return FolderShell(tmp_path / "state", clock)


def write(folder: Path, *emitters: dict[str, Any]) -> str:
    folder.mkdir(exist_ok=True)
    (folder / "tap.config.json").write_text(json.dumps({"emitters": emitters}))
    return str(folder.resolve())


def check(shell: FolderShell, folder: str) -> EmitterStanding:
    return shell.check(CheckEmitter(1, folder, "one"))


def keep(shell: FolderShell, folder: str, digest: str) -> str | None:
    return shell.keep(KeepConsent(1, folder, "one", digest, later_versions=False))


def allow(shell: FolderShell, folder: str) -> None:
    asked = check(shell, folder)
    assert isinstance(asked, MustAsk)
    assert keep(shell, folder, asked.digest) is None


def test_a_folder_that_is_not_there_has_no_emitters(shell: FolderShell) -> None:
    for cwd in ("/nowhere/at/all", "/etc/passwd", "no\0folder"):
        assert shell.read(cwd) == FolderEmitters(cwd, cwd)
    assert not shell.is_used
    assert check(shell, "/nowhere/at/all") == CannotStart(
        "the folder's file does not have it any more"
    )


def test_a_folder_is_one_whatever_way_leads_there(shell: FolderShell, tmp_path: Path) -> None:
    folder = write(tmp_path / "repo", {"name": "one", "command": "echo hi"})
    (tmp_path / "link").symlink_to(folder)
    found = shell.read(str(tmp_path / "link"))
    assert (found.cwd, found.folder) == (str(tmp_path / "link"), folder)
    assert [one.plan.cwd for one in found.entries] == [folder]


def test_files_are_watched_after_another_session_has_opened(
    shell: FolderShell, clock: Clock, tmp_path: Path
) -> None:
    folder = write(tmp_path / "repo", {"name": "one", "command": "sh a.sh"})
    script = tmp_path / "repo" / "a.sh"
    script.write_text("echo a")
    shell.read(folder)
    allow(shell, folder)
    assert isinstance(check(shell, folder), MayStart)
    assert shell.look().files == [folder], "what changed before is found by asking once more"
    assert shell.look().files == []
    shell.read(folder)
    assert shell.look().files == [folder]
    script.write_text("echo another")
    shell.look()
    clock.now += 1.0
    assert shell.look().files == [folder]
    asked = check(shell, folder)
    assert isinstance(asked, MustAsk)
    assert asked.why == "files that it names: a.sh"


def test_what_was_not_shown_is_not_allowed(shell: FolderShell, tmp_path: Path) -> None:
    folder = write(tmp_path / "repo", {"name": "one", "command": "echo hi"})
    shell.read(folder)
    fault = keep(shell, folder, "any")
    assert fault == "it has changed since it was shown"
    assert keep(shell, "/elsewhere", "any") == fault


def test_what_was_shown_is_allowed_and_not_what_stands_there_by_then(
    shell: FolderShell, clock: Clock, tmp_path: Path
) -> None:
    folder = write(tmp_path / "repo", {"name": "one", "command": "echo hi"})
    shell.read(folder)
    asked = check(shell, folder)
    assert isinstance(asked, MustAsk)
    write(tmp_path / "repo", {"name": "one", "command": "rm -rf /"})
    shell.look()
    clock.now += 1.0
    (found,) = shell.look().found
    assert found.entries[0].plan.command == "rm -rf /"
    assert keep(shell, folder, asked.digest) is None
    again = check(shell, folder)
    assert isinstance(again, MustAsk)
    assert (again.why, again.detail["command"]) == ("another command", "rm -rf /")


def test_a_file_that_cannot_be_read_leaves_what_was_known(
    shell: FolderShell, clock: Clock, tmp_path: Path
) -> None:
    folder = write(tmp_path / "repo", {"name": "one", "command": "echo hi"})
    shell.read(folder)
    allow(shell, folder)
    (tmp_path / "repo" / "tap.config.json").write_text('{"emitters": [')
    shell.look()
    clock.now += 3.0
    changes = shell.look()
    assert [one.is_readable for one in changes.found] == [False]
    (fault,) = changes.faults
    assert fault.endswith("(what was read of it before holds)")
    assert isinstance(check(shell, folder), MayStart)
    assert shell.look().faults == []


def test_faults_are_told_once_for_all_sessions_of_a_folder(
    shell: FolderShell, tmp_path: Path
) -> None:
    folder = write(tmp_path / "repo", {"name": "one"}, {"name": "two"}, {"name": "two"})
    shell.read(folder)
    (fault,) = shell.look().faults
    assert fault.startswith(f"{folder}/tap.config.json:1:15: emitters[0]: ")
    assert fault.endswith(", and 2 more")
    shell.read(folder)
    shell.leave(folder)
    shell.read(folder)
    assert shell.look().faults == []


def test_a_folder_to_run_in_that_cannot_be_costs_its_entry_alone(
    shell: FolderShell, tmp_path: Path
) -> None:
    folder = write(
        tmp_path / "repo",
        {"name": "one", "command": "echo hi", "cwd": "loop/deeper"},
        {"name": "two", "command": "echo hi"},
    )
    (tmp_path / "repo" / "loop").symlink_to("loop")
    found = shell.read(folder)
    assert [one.plan.name for one in found.entries] == ["one", "two"]
    standing = check(shell, folder)
    assert isinstance(standing, CannotStart | MustAsk)


def test_a_consent_that_the_disk_has_no_room_for_is_none(
    shell: FolderShell, tmp_path: Path
) -> None:
    folder = write(tmp_path / "repo", {"name": "one", "command": "echo hi"})
    shell.read(folder)
    asked = check(shell, folder)
    assert isinstance(asked, MustAsk)
    with files_of_at_most(10):
        assert keep(shell, folder, asked.digest) == "File too large"
    assert isinstance(check(shell, folder), MustAsk)
    allow(shell, folder)
    assert isinstance(check(shell, folder), MayStart)


def test_a_second_gateway_leaves_a_folders_emitters_to_the_first(
    shell: FolderShell, tmp_path: Path, clock: Clock
) -> None:
    folder = write(tmp_path / "repo", {"name": "one", "command": "x"})
    file = tmp_path / "repo" / "tap.config.json"
    wiki = {"name": "wiki", "command": "node"}
    file.write_text(json.dumps({"emitters": [{"name": "one", "prompt": "x"}], "providers": [wiki]}))
    other = FolderShell(tmp_path / "state", clock)
    assert names(shell.read(folder)) == ["one", "wiki"]
    assert names(other.read(folder)) == ["wiki"], "each session has its own"
    (told,) = other.look().faults
    assert told == f"the emitters of {folder} are run by another tapui (process {os.getpid()})"
    assert (other.look().found, other.look().faults) == ([], [])
    shell.leave(folder)
    (found,) = other.look().found
    assert names(found) == ["one", "wiki"]
    assert names(shell.read(folder)) == ["wiki"]
    other.close()
    (found,) = shell.look().found
    assert names(found) == ["one", "wiki"]


def names(found: FolderEmitters) -> list[str]:
    return [one.plan.name for one in found.entries]
