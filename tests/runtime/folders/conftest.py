"""A repository, and a home without any configuration of the person's."""

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


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """A repository with a commit of five files."""
    made = Repo(tmp_path / "repo")
    for path in ("a.py", "b.py", "src/c.py", "src/deep/d.py", "README.md"):
        made.write(path, f"{path} 1\n")
    made.commit()
    return made
