"""A repository, and a home without any configuration of the person's."""

import shutil
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


@pytest.fixture(scope="session")
def committed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A repository with a commit of five files, made once."""
    folder = tmp_path_factory.mktemp("committed")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(folder))
        patch.delenv("XDG_CONFIG_HOME", raising=False)
        made = Repo(folder / "repo")
        for path in ("a.py", "b.py", "src/c.py", "src/deep/d.py", "README.md"):
            made.write(path, f"{path} 1\n")
        made.commit()
    return made.root


@pytest.fixture
def repo(committed: Path, tmp_path: Path) -> Repo:
    """A copy of it, of the test's own."""
    root = shutil.copytree(committed, tmp_path / "repo", symlinks=True)
    return Repo(root, is_new=False)
