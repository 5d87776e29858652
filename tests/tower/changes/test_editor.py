"""The person's editor: which file it gets, at which line, and on which terminal."""

import os
from pathlib import Path

import pytest

from tapui.tower.changes.editor import NoFile, editor_line, file_in
from tests.rig.waiting import until_async
from tests.tower.changes.changes_world import file, list_files, opened
from tests.tower.running import running
from tests.tower.scripted import world


@pytest.mark.parametrize(
    ("chosen", "line", "command", "needs_terminal"),
    [
        ("vim", 42, ["vim", "+42", "/r/a.py"], True),
        ("nvim -R", 42, ["nvim", "-R", "+42", "/r/a.py"], True),
        ("/usr/bin/emacs -nw", 7, ["/usr/bin/emacs", "-nw", "+7", "/r/a.py"], True),
        ("hx", 7, ["hx", "/r/a.py:7"], True),
        ("code", 7, ["code", "-g", "/r/a.py:7"], False),
        ("code --wait", 7, ["code", "--wait", "-g", "/r/a.py:7"], False),
        ("subl", 7, ["subl", "/r/a.py:7"], False),
        ("code", None, ["code", "/r/a.py"], False),
        ("vi", None, ["vi", "/r/a.py"], True),
        ("'my editor' -x", 3, ["my editor", "-x", "+3", "/r/a.py"], True),
    ],
)
def test_each_editor_is_told_the_line_in_its_own_way(
    chosen: str, line: int | None, command: list[str], *, needs_terminal: bool
) -> None:
    assert editor_line(Path("/r/a.py"), line, chosen) == (command, needs_terminal)


def test_without_a_choice_one_that_is_there_is_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(NoFile, match="set VISUAL or EDITOR"):
        editor_line(Path("/r/a.py"), 1, None)
    program(tmp_path / "nano", "true")
    assert editor_line(Path("/r/a.py"), 1, "") == (["nano", "+1", "/r/a.py"], True)
    with pytest.raises(NoFile, match="quote"):
        editor_line(Path("/r/a.py"), 1, "vim '")


def program(path: Path, line: str) -> None:
    path.write_text(f"#!/bin/sh\n{line}\n")
    path.chmod(0o755)


def test_only_a_regular_file_of_the_repository_is_opened(tmp_path: Path) -> None:
    root, outside = tmp_path / "root", tmp_path / "outside.py"
    (root / "src").mkdir(parents=True)
    (root / "src" / "a.py").write_text("x\n")
    outside.write_text("x\n")
    (root / "link.py").symlink_to(outside)
    (root / "inner.py").symlink_to(root / "src" / "a.py")
    (root / "folder").symlink_to(tmp_path)
    os.mkfifo(root / "pipe")
    assert file_in(str(root), "src/a.py") == root / "src" / "a.py"
    for path in (
        "../outside.py",
        str(outside),
        "link.py",
        "inner.py",
        "folder/outside.py",
        "pipe",
        "src",
        "gone.py",
        "//caf\\xe9",
        "a\0b",
    ):
        with pytest.raises(NoFile):
            file_in(str(root), path)
    (tmp_path / "way").symlink_to(root)
    assert file_in(str(tmp_path / "way"), "src/a.py") == root / "src" / "a.py"


async def test_an_editor_with_a_window_of_its_own_runs_beside_the_tower(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    told = tmp_path / "told"
    program(tmp_path / "code", f'printf "%s\\n" "$@" > {told}.part && mv {told}.part {told}')
    monkeypatch.setenv("VISUAL", str(tmp_path / "code"))
    (tmp_path / "-rf a.py").write_text("x\n")
    one = file("-rf a.py", root=str(tmp_path))
    async with running(world()) as rig:
        await opened(rig, one)
        await rig.press("down", "o")
        await until_async(told.exists, what="the editor")
        assert told.read_text().splitlines() == ["-g", f"{tmp_path}/-rf a.py:41"]
        assert rig.notices == ["-rf a.py opens in code."]


@pytest.mark.parametrize(
    ("line", "said"),
    [("exit 3", "code ended with exit code 3"), (None, "code could not be started: No such file")],
)
async def test_it_is_said_where_the_editor_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str | None, said: str
) -> None:
    if line is not None:
        program(tmp_path / "code", line)
    monkeypatch.setenv("VISUAL", str(tmp_path / "code"))
    (tmp_path / "a.py").write_text("x\n")
    async with running(world()) as rig:
        await rig.press("7")
        await list_files(rig, [file("a.py", root=str(tmp_path))])
        await rig.press("o")
        await until_async(lambda: len(rig.notices) == 2, what="the notice")
        assert rig.notices[1].startswith(said)


async def test_a_file_that_cannot_be_opened_says_why(tmp_path: Path) -> None:
    (tmp_path / "a.py").symlink_to("/etc/passwd")
    async with running(world()) as rig:
        await rig.press("7")
        gone = file("gone.py", root=str(tmp_path), state="removed")
        await list_files(rig, [file("a.py", root=str(tmp_path)), gone])
        await rig.press("o")
        assert rig.notices == ["a.py cannot be opened: a link leads to it"]
        await rig.press("down", "o")
        assert len(rig.notices) == 1
