"""A repository, and a home without any configuration of the person's."""

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.runtime.folders.repositories import Repo


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    monkeypatch.setenv("HOME", str(folder))
    monkeypatch.delenv("XDG_CONFIG_HOME", raising=False)
    return folder


@contextmanager
def _without_configuration(home: Path) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(home))
        patch.delenv("XDG_CONFIG_HOME", raising=False)
        yield


def _copied(repo: Path, to: Path) -> Repo:
    return Repo(shutil.copytree(repo, to, symlinks=True), is_new=False)


@pytest.fixture(scope="session")
def committed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a commit of five files, made once."""
    folder = tmp_path_factory.mktemp("committed")
    with _without_configuration(folder):
        made = Repo(folder / "repo")
        for path in ("a.py", "b.py", "src/c.py", "src/deep/d.py", "README.md"):
            made.write(path, f"{path} 1\n")
        made.commit()
    return made.root


@pytest.fixture
def repo(committed: Path, tmp_path: Path) -> Repo:
    """A copy of it, of the test's own."""
    return _copied(committed, tmp_path / "repo")


@pytest.fixture(scope="session")
def edited_once(committed: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One with a branch, an edit, ignored files and an untracked one, made once."""
    folder = tmp_path_factory.mktemp("edited")
    with _without_configuration(folder):
        made = _copied(committed, folder / "repo")
        made.write(".gitignore", "*.log\n")
        made.write("old.log", "x")
        made.git("add", ".gitignore")
        made.git("commit", "-qm", "x")
        made.git("checkout", "-qb", "other")
        made.write("a.py", "other\n")
        made.git("commit", "-qam", "other")
        made.git("checkout", "-q", "main")
        made.write("a.py", "edited\n")
        made.git("add", "a.py")
        made.write("a.py", "edited again\n")
    return made.root


@pytest.fixture
def edited(edited_once: Path, tmp_path: Path) -> Repo:
    """A copy of it, of the test's own, whose index knows its files."""
    copy = _copied(edited_once, tmp_path / "repo")
    copy.git("update-index", "-q", "--refresh", check=False)
    return copy
