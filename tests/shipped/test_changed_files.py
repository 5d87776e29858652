"""`get_changed_files`: the documents' sections, and no program of the repository's."""

import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from tapui.provider import ToolError
from tapui.shipped.changed_files import MAX_NAMES, changed_files, provider


def git(folder: Path, *words: str) -> None:
    env = {"PATH": os.environ["PATH"], "HOME": str(folder), "GIT_CONFIG_NOSYSTEM": "1"}
    who = ("-c", "user.name=a", "-c", "user.email=a@b")
    argv = ["git", *who, *words]
    subprocess.run(argv, cwd=folder, env=env, check=True, capture_output=True)


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    folder = tmp_path / "repo"
    folder.mkdir()
    git(folder, "init", "-q")
    for name in ("kept", "changed", "staged"):
        (folder / name).write_text(name)
    git(folder, "add", ".")
    git(folder, "commit", "-qm", "first")
    return folder


def told(repo: Path, **given: Any) -> str:
    return changed_files(given, str(repo))


def change(repo: Path) -> None:
    (repo / "changed").write_text("another text")
    (repo / "staged").write_text("another text")
    git(repo, "add", "staged")
    (repo / "new").write_text("new")


def test_the_documents_sections(repo: Path) -> None:
    assert told(repo) == "No changed files found."
    change(repo)
    staged, unstaged = "## Staged files\nstaged", "## Unstaged changes\nchanged"
    untracked = "## Untracked files\nnew"
    assert told(repo) == f"{staged}\n\n{unstaged}\n\n{untracked}"
    assert told(repo, sourceControlState="all") == told(repo)
    assert told(repo, sourceControlState="staged") == staged
    assert told(repo, sourceControlState="unstaged") == unstaged
    assert told(repo, sourceControlState="untracked") == untracked


def test_an_unknown_state_and_no_repository_are_errors(repo: Path, tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="one of all, staged, unstaged, untracked"):
        told(repo, sourceControlState="new")
    (tmp_path / "plain").mkdir()
    with pytest.raises(ToolError, match="not a git repository"):
        told(tmp_path / "plain")


def test_the_path_stays_in_the_workspace(repo: Path) -> None:
    (repo / "sub").mkdir()
    assert told(repo, repositoryPath="sub") == "No changed files found."
    (repo / "out").symlink_to(repo.parent)
    for path in ("..", "/", "out", "a\0b", 5):
        with pytest.raises(ToolError, match=r"outside of the workspace|is a path"):
            told(repo, repositoryPath=path)
    with pytest.raises(ToolError, match="there is no folder"):
        told(repo, repositoryPath="none")


def test_odd_names_are_quoted(repo: Path) -> None:
    for name in ("a\nb", 'q"q', "ü x", "end "):
        (repo / name).write_text("x")
    Path(os.fsdecode(os.fsencode(repo) + b"/\xff")).write_text("x")
    assert told(repo, sourceControlState="untracked").splitlines()[1:] == [
        '"a\\nb"',
        '"end "',
        '"q\\"q"',
        "ü x",
        "\\xff",
    ]


def test_nothing_that_the_repository_names_is_run(repo: Path) -> None:
    marks = repo.parent / "marks"
    marks.mkdir()

    def program(name: str) -> str:
        return f"touch {marks}/{name}; cat"

    (repo / ".gitattributes").write_text("* filter=evil diff=evil\n")
    hooks = repo / ".git/hooks"
    hooks.mkdir(exist_ok=True)
    for name in ("post-index-change", "pre-commit"):
        (hooks / name).write_text(f"#!/bin/sh\n{program(name)}\n")
        (hooks / name).chmod(0o755)
    for key, value in {
        "core.fsmonitor": program("fsmonitor"),
        "filter.evil.clean": program("clean"),
        "filter.evil.process": program("process"),
        "filter.evil.required": "true",
        "diff.evil.command": program("command"),
        "diff.evil.textconv": program("textconv"),
        "diff.external": program("external"),
        "core.pager": program("pager"),
    }.items():
        git(repo, "config", key, value)
    for name in ("kept", "changed"):
        (repo / name).write_text("x" * len(name))  # of the same size: git reads them
    assert "## Unstaged changes\nchanged\nkept" in told(repo)
    assert list(marks.iterdir()) == []


def test_variables_of_the_persons_change_nothing(
    repo: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    change(repo)
    monkeypatch.setenv("GIT_DIR", "/nowhere")
    monkeypatch.setenv("GIT_EXTERNAL_DIFF", "false")
    assert "## Staged files\nstaged" in told(repo)


def test_names_are_bounded(repo: Path) -> None:
    for at in range(MAX_NAMES + 3):
        (repo / f"n{at:05}").touch()
    names = told(repo, sourceControlState="untracked").splitlines()[1:]
    assert (names[0], len(names), names[-1]) == ("n00000", MAX_NAMES + 1, "(3 more)")


async def test_it_is_a_tool_of_the_session(repo: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    change(repo)
    monkeypatch.chdir(repo)
    made = provider()
    assert [one.name for one in made.tools] == ["get_changed_files"]
    assert await made.call("get_changed_files", {"sourceControlState": "staged"}) == (
        "## Staged files\nstaged"
    )
