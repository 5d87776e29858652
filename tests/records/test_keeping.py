"""How long records are kept: what is old goes, what is written to stays."""

import os
from pathlib import Path

import pytest

from tapui.files.locked_folder import FolderHeldError
from tapui.records import register
from tapui.records.ledger_files import LedgerFile, folder_of
from tapui.records.retention import expire, kept_sessions, remove
from tests.records.turns import Writer, closed, opened, refused, started

DAY = 86_400
NOW = 2_000_000_000.0


def age(folder: Path, days: float) -> None:
    for path in folder.rglob("*"):
        if path.is_file():
            os.utime(path, (NOW - days * DAY, NOW - days * DAY))


@pytest.fixture
def folder(state: Path, workspace: Path) -> Path:
    """The records of two ended sessions and of the gateway; return the first one's folder."""
    with Writer(state) as writer:
        writer.turn(opened("s1", workspace), started("s1", "c1"), closed("s1"))
        writer.turn(opened("s2"), started("s2", "c2"), closed("s2"))
        writer.turn(refused("no"))
    results = workspace / "files/tap/results"
    results.mkdir()
    (results / "c1.png").write_bytes(b"png")
    return workspace / "files/tap"


def test_sessions_with_records_are_listed_with_size_and_time(state: Path, folder: Path) -> None:
    age(folder, 5)
    age(state / "sessions", 3)
    found = kept_sessions(state)
    assert [(one.session_id, one.written) for one in found] == [
        ("s1", NOW - 5 * DAY), ("s2", NOW - 3 * DAY),
    ]  # fmt: skip
    files = [*folder.glob("*.jsonl"), folder / "results/c1.png"]
    assert found[0].bytes == sum(one.stat().st_size for one in files)


def test_old_records_go_with_their_folders_and_young_ones_stay(state: Path, folder: Path) -> None:
    age(folder, 91)
    age(state / "sessions", 89)
    assert expire(state, 90, NOW) == ["s1"]
    assert not folder.exists()
    assert folder.parent.is_dir()
    assert list(register.sessions(state)) == ["s2"]
    assert expire(state, 90, NOW) == []


def test_old_records_of_no_session_go_too(state: Path, folder: Path) -> None:
    assert folder.exists()
    age(state / "gateway", 91)
    expire(state, 90, NOW)
    assert not list((state / "gateway").glob("*.jsonl"))


def test_what_cannot_be_removed_is_told_and_costs_nothing_else(
    state: Path, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    journal = folder / "calls.jsonl"
    journal.unlink(missing_ok=True)
    (journal / "inside").mkdir(parents=True)
    age(folder, 91)
    age(state / "sessions", 91)
    assert expire(state, 90, NOW) == ["s2"]
    assert [record.message for record in caplog.records if "session s1" in record.message]


def test_what_is_written_to_stays(state: Path, workspace: Path) -> None:
    with Writer(state) as writer:
        writer.turn(opened("s1", workspace), refused("no"))
        age(state, 91)
        age(workspace, 91)
        assert expire(state, 90, NOW) == []
        with pytest.raises(FolderHeldError):
            remove([workspace / "files/tap"])
        assert writer.turn(started("s1", "c1"), refused("again")) == frozenset()
    assert len(list((workspace / "files/tap").glob("*.jsonl"))) == 2
    assert len(list((state / "gateway").glob("*.jsonl"))) == 1


def test_what_is_not_ours_stays(state: Path, folder: Path, tmp_path: Path) -> None:
    (folder / "notes.txt").write_text("mine")
    (folder / "other.jsonl").write_text("mine")
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("mine")
    (folder / "results" / "link").symlink_to(outside / "kept")
    remove([folder])
    assert sorted(one.name for one in folder.iterdir()) == [".lock", "notes.txt", "other.jsonl"]
    assert (outside / "kept").exists()


def test_a_folder_of_results_that_is_a_link_is_not_followed(folder: Path, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "kept").write_text("mine")
    for one in (folder / "results").iterdir():
        one.unlink()
    (folder / "results").rmdir()
    (folder / "results").symlink_to(outside)
    remove([folder])
    assert (outside / "kept").exists()


def test_removing_what_is_gone_is_no_error(tmp_path: Path) -> None:
    remove([tmp_path / "nowhere"])


def ledger(state: Path, session_id: str) -> Path:
    """Keep a ledger of a session; return its folder."""
    file = LedgerFile(state, session_id)
    file.open()
    file.append(b"fact\n")
    file.close()
    return folder_of(state, session_id)


def test_a_session_goes_with_its_ledger(state: Path, folder: Path) -> None:
    kept = ledger(state, "s1")
    (first,) = [one for one in kept_sessions(state) if one.session_id == "s1"]
    assert kept in first.folders
    remove(first.folders)
    assert not folder.exists()
    assert not kept.exists()


def test_an_old_ledger_without_records_goes_and_one_in_use_stays(state: Path) -> None:
    old, used = ledger(state, "s7"), ledger(state, "s8")
    age(state / "ledgers", 91)
    open_one = LedgerFile(state, "s8")
    open_one.open()
    expire(state, 90, NOW)
    assert (old.exists(), used.exists()) == (False, True)
    open_one.close()
