"""The administrator's file: there whole, not there, or a fault that names why."""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from tapui.files.foreign_file import ManagedFileError, managed_text
from tests.home.managed_files import SPOILT, TEXT


def test_it_is_read_or_not_there(tmp_path: Path) -> None:
    path = tmp_path / "managed.toml"
    assert managed_text(path, os.getuid()) is None
    assert managed_text(path / "below" / "a file", os.getuid()) is None
    path.write_text(TEXT)
    path.chmod(0o644)
    assert managed_text(path, os.getuid()) == TEXT


@pytest.mark.parametrize(
    ("spoil", "why"),
    [
        (lambda folder: folder.mkdir(mode=0o755) or folder.chmod(0o777), "others than root"),
        (lambda folder: folder.mkdir(mode=0o755) or folder.chmod(0o775), "others than root"),
        (lambda folder: folder.write_text("x") and folder.chmod(0o644), "Not a directory"),
        (lambda folder: folder.symlink_to(folder.parent / "gone"), "leads nowhere"),
    ],
    ids=["open to all", "open to its group", "a file", "a link to nothing"],
)
def test_a_folder_that_others_rule_is_a_fault(
    tmp_path: Path, spoil: Callable[[Path], object], why: str
) -> None:
    spoil(tmp_path / "tapui")
    with pytest.raises(ManagedFileError, match=why):
        managed_text(tmp_path / "tapui" / "managed.toml", os.getuid())


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
