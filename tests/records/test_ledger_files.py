"""Ledgers on disk: kept, synced, and never taken from another process."""

import contextlib
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tapui.files.locked_folder import FolderHeldError
from tapui.records import ledger_files
from tapui.records.ledger_files import FOLDER, NAME, LedgerFile, altered_ledgers


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "state" / FOLDER / "s1" / NAME


def opened(path: Path) -> LedgerFile:
    ledger = LedgerFile(path.parents[2], "s1")
    ledger.open()
    return ledger


def test_what_was_appended_is_read_back(path: Path) -> None:
    ledger = opened(path)
    ledger.append(b"one\n")
    ledger.append(b"two\nthree\n")
    assert not ledger.was_changed()
    ledger.close()
    again = LedgerFile(path.parents[2], "s1")
    assert again.open() == b"one\ntwo\nthree\n"
    assert not again.was_changed()
    again.close()


def test_it_is_for_its_owner_only(path: Path) -> None:
    opened(path).close()
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.parent.stat().st_mode & 0o777 == 0o700


def test_a_line_that_was_being_written_is_cut_off(path: Path) -> None:
    ledger = opened(path)
    ledger.append(b"one\n")
    ledger.close()
    with path.open("ab") as file:
        file.write(b"tw")
    again = LedgerFile(path.parents[2], "s1")
    assert again.open() == b"one\n"
    again.append(b"two\n")
    again.close()
    assert path.read_bytes() == b"one\ntwo\n"


def test_another_gateway_does_not_get_it(path: Path) -> None:
    ledger = opened(path)
    with pytest.raises(FolderHeldError):
        LedgerFile(path.parents[2], "s1").open()
    ledger.close()
    opened(path).close()


def _same_bytes(path: Path) -> None:
    data, info = path.read_bytes(), path.stat()
    path.write_bytes(data)
    os.utime(path, ns=(info.st_atime_ns, info.st_mtime_ns))


def _other_file(path: Path) -> None:
    other = path.with_name("other")
    other.write_bytes(path.read_bytes())
    other.rename(path)


@pytest.mark.parametrize(
    "change",
    [
        lambda path: path.write_bytes(b"two\n"),
        lambda path: path.write_bytes(b""),
        lambda path: path.write_bytes(path.read_bytes() + b"more\n"),
        lambda path: path.unlink(),
        lambda path: path.chmod(0o666),
        _same_bytes,
        _other_file,
    ],
)
def test_what_another_process_changes_is_noticed(
    path: Path, change: Callable[[Path], object]
) -> None:
    ledger = opened(path)
    ledger.append(b"one\n")
    change(path)
    altered = path.read_bytes() if path.exists() else b"one\n"
    assert ledger.was_changed()
    kept = ledger.begin_anew()
    assert not ledger.was_changed()
    ledger.append(b"new\n")
    ledger.close()
    assert path.read_bytes() == b"new\n"
    assert path.stat().st_mode & 0o777 == 0o600
    assert kept == path.with_name("ledger.altered-1.jsonl")
    assert kept.read_bytes() == altered
    assert altered_ledgers(path.parents[2]) == [kept]


@pytest.mark.parametrize("how", ["renamed", "removed", "replaced", "above"])
def test_a_folder_that_is_not_there_any_more_is_noticed(path: Path, how: str) -> None:
    ledger = opened(path)
    ledger.append(b"one\n")
    folder = path.parents[1] if how == "above" else path.parent
    moved = path.parents[3] / "moved"
    if how == "removed":
        shutil.rmtree(folder)
    else:
        folder.rename(moved)
    if how == "replaced":
        shutil.copytree(moved, folder)
    assert ledger.was_changed()
    kept = ledger.begin_anew()
    assert not ledger.was_changed()
    ledger.append(b"new\n")
    ledger.close()
    assert path.read_bytes() == b"new\n"
    assert kept is not None
    assert kept.read_bytes() == b"one\n"


def test_of_files_that_are_changed_again_and_again_three_are_kept(path: Path) -> None:
    ledger = opened(path)
    for at in range(6):
        path.write_bytes(b"%d\n" % at)
        ledger.begin_anew()
    ledger.close()
    assert [one.read_bytes() for one in altered_ledgers(path.parents[2])] == [
        b"0\n",
        b"1\n",
        b"5\n",
    ]


def test_no_more_is_kept_of_an_altered_file_than_a_ledger_may_have(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ledger_files, "MAX_BYTES", 10)
    ledger = opened(path)
    path.write_bytes(b"x" * 100)
    kept = ledger.begin_anew()
    assert kept is not None
    assert kept.read_bytes() == b"x" * 10
    elsewhere = path.parents[3] / "elsewhere"
    elsewhere.write_bytes(b"mine" * 100)
    path.unlink()
    os.link(elsewhere, path)
    ledger.begin_anew()
    ledger.close()
    assert elsewhere.read_bytes() == b"mine" * 100


@pytest.mark.parametrize("kind", ["link", "fifo", "folder"])
def test_what_is_no_file_is_put_aside_unopened(path: Path, kind: str) -> None:
    ledger = opened(path)
    elsewhere = path.parents[3] / "elsewhere"
    elsewhere.write_bytes(b"mine\n")
    path.unlink()
    match kind:
        case "link":
            path.symlink_to(elsewhere)
        case "fifo":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
    assert ledger.was_changed()
    ledger.begin_anew()
    ledger.append(b"new\n")
    ledger.close()
    assert path.read_bytes() == b"new\n"
    assert elsewhere.read_bytes() == b"mine\n"


@pytest.mark.parametrize("how", ["appends", "overwrites"])
def test_what_another_process_changes_while_the_disk_is_waited_for_is_noticed(
    path: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    synced = os.fdatasync

    def slow(fd: int) -> None:
        beside = path.with_name("beside")  # until the clock of files has moved on
        beside.touch()
        while beside.stat().st_ctime_ns <= path.stat().st_ctime_ns:
            beside.touch()
        with path.open("r+b") as file:
            file.seek(0, os.SEEK_END if how == "appends" else os.SEEK_SET)
            file.write(b"two\n")
        synced(fd)

    ledger = opened(path)
    ledger.append(b"one\n")
    monkeypatch.setattr(os, "fdatasync", slow)
    ledger.append(b"one\n")
    assert ledger.was_changed()
    ledger.close()


@pytest.mark.parametrize("kind", ["link", "hard link", "fifo", "folder"])
def test_anything_but_a_plain_file_is_refused(path: Path, kind: str) -> None:
    opened(path).close()
    path.unlink()
    elsewhere = path.parents[3] / "elsewhere"
    elsewhere.write_bytes(b"mine\n")
    match kind:
        case "link":
            path.symlink_to(elsewhere)
        case "hard link":
            os.link(elsewhere, path)
        case "fifo":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
    with pytest.raises(OSError):  # noqa: PT011 - which one is the system's
        opened(path)
    assert elsewhere.read_bytes() == b"mine\n"


def test_a_full_disk_leaves_whole_lines(path: Path, small_disk: Path) -> None:
    ledger = LedgerFile(small_disk, "s1")
    ledger.open()
    ledger.append(b"one\n")
    with (small_disk / "filler").open("wb", 0) as filler, contextlib.suppress(OSError):
        while True:  # until the disk is full
            filler.write(b"x" * 4096)
    with pytest.raises(OSError):  # noqa: PT011
        ledger.append(b"x" * 100_000 + b"\n")
    assert not ledger.was_changed()
    ledger.close()
    (small_disk / "filler").unlink()
    again = LedgerFile(small_disk, "s1")
    assert again.open() == b"one\n"
    again.close()
