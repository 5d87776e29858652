"""Folders of one test: the gateway's state and a session's workspace."""

from pathlib import Path

import pytest


@pytest.fixture
def state(tmp_path: Path) -> Path:
    return tmp_path / "state"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "session-state" / "s1"
    folder.mkdir(parents=True)
    return folder
