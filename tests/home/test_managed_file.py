"""The administrator's file: there whole, not there, or a fault that names why."""

import os
from pathlib import Path

import pytest

from tapui.home.foreign_file import ManagedFileError, managed_text
from tests.home.managed_files import SPOILT, TEXT


def test_it_is_read_or_not_there(tmp_path: Path) -> None:
    path = tmp_path / "managed.toml"
    assert managed_text(path, os.getuid()) is None
    assert managed_text(path / "below" / "a file", os.getuid()) is None
    path.write_text(TEXT)
    path.chmod(0o644)
    assert managed_text(path, os.getuid()) == TEXT
    assert managed_text(path / "below", os.getuid()) is None


@pytest.mark.parametrize("name", [name for name in SPOILT if name != "a torn write"])
def test_one_that_cannot_be_read_is_a_fault(tmp_path: Path, name: str) -> None:
    SPOILT[name](tmp_path / "managed.toml")
    with pytest.raises(ManagedFileError):
        managed_text(tmp_path / "managed.toml", os.getuid())


def test_it_must_be_roots(tmp_path: Path) -> None:
    path = tmp_path / "managed.toml"
    path.write_text(TEXT)
    path.chmod(0o644)
    with pytest.raises(ManagedFileError, match="others than root"):
        managed_text(path, os.getuid() + 1)


def test_a_right_that_is_missing_is_a_fault(tmp_path: Path) -> None:
    path = tmp_path / "managed.toml"
    path.write_text(TEXT)
    path.chmod(0)
    me = os.geteuid()
    if me == 0:  # who may read everything
        os.seteuid(65534)
    try:
        with pytest.raises(ManagedFileError, match="Permission denied"):
            managed_text(path, me)
    finally:
        os.seteuid(me)
