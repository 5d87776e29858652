"""Files rotate at their limit; the oldest go above the session's total; readers see one file."""

import os
from pathlib import Path
from threading import Event

import pytest

from tapui.records.reader import scan, tail
from tests.records.turns import DEADLINE, Writer, opened, refused, seqs, started


def fill(writer: Writer, count: int, size: int = 300) -> None:
    for number in range(count):
        assert writer.turn(started("s1", f"c{number}", size)) == frozenset()


def test_a_full_file_is_renamed_to_the_next_number(state: Path, workspace: Path) -> None:
    tap = workspace / "files/tap"
    with Writer(state, file=2000) as writer:
        writer.turn(opened("s1", workspace))
        fill(writer, 20)
        assert writer.reports == []
    names = sorted(path.name for path in tap.glob("calls.*"))
    assert names[:3] == ["calls.1.jsonl", "calls.2.jsonl", "calls.3.jsonl"]
    assert names[-1] == "calls.jsonl"
    assert all(path.stat().st_size <= 2000 for path in tap.glob("calls*.jsonl"))
    assert [seq for name in names for seq in seqs(tap / name)] == list(range(2, 22))
    assert [record.seq for record in scan(tap, "calls")] == list(range(2, 22))
    for last in (1, 3, 7, 20, 100):
        assert [record.seq for record in tail(tap, "calls", last)] == list(range(2, 22))[-last:]


def test_a_record_larger_than_the_limit_has_its_own_file(state: Path, workspace: Path) -> None:
    with Writer(state, file=1000) as writer:
        writer.turn(opened("s1", workspace))
        fill(writer, 1)
        fill(writer, 1, size=5000)
        fill(writer, 1)
    tap = workspace / "files/tap"
    found = [seqs(tap / name) for name in ("calls.1.jsonl", "calls.2.jsonl", "calls.jsonl")]
    assert found == [[2], [3], [4]]


def test_numbers_go_on_after_a_restart_and_beyond_ten(state: Path, workspace: Path) -> None:
    tap = workspace / "files/tap"
    for run in range(3):
        with Writer(state, run=f"r{run}", file=500) as writer:
            writer.turn(opened("s1", workspace))
            fill(writer, 5)
    assert [(one.run, one.seq) for one in scan(tap, "calls")] == [
        (f"r{run}", seq) for run in range(3) for seq in range(2, 7)
    ]
    assert (tap / "calls.14.jsonl").exists()


def test_the_oldest_files_are_dropped_above_the_sessions_total(
    state: Path, workspace: Path
) -> None:
    tap = workspace / "files/tap"
    with Writer(state, file=2000, session=7000) as writer:
        writer.turn(opened("s1", workspace))
        fill(writer, 60)
        assert writer.sync([writer.seq])
    told = [line for level, line in writer.reports if level == "info"]
    assert len(told) == len(writer.reports) > 0
    assert "calls.1.jsonl was dropped" in told[0]
    total = sum(path.stat().st_size for path in tap.glob("*.jsonl"))
    assert total <= 7000 + 2000
    left = [record.seq for record in scan(tap, "calls")]
    assert left == list(range(left[0], 62))
    assert seqs(tap / "sessions.jsonl") == [1]


def test_one_collections_flood_does_not_drop_files_that_are_written_to(
    state: Path, workspace: Path
) -> None:
    with Writer(state, file=1000, session=1) as writer:
        writer.turn(opened("s1", workspace))
        fill(writer, 10)
    tap = workspace / "files/tap"
    assert sorted(path.name for path in tap.glob("*.jsonl")) == ["calls.jsonl", "sessions.jsonl"]


def test_a_file_that_cannot_be_rotated_goes_on_growing(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    with Writer(state, file=300) as writer:
        writer.turn(refused("x"))
        monkeypatch.setattr(os, "rename", refuse)
        for _ in range(5):
            assert writer.turn(refused("x")) == frozenset()
        monkeypatch.undo()
        assert "cannot be rotated: Operation not permitted" in writer.warnings()[0]
        assert len(writer.warnings()) <= 3
    assert seqs(state / "gateway/errors.jsonl") == [1, 2, 3, 4, 5, 6]


def test_a_rotation_while_a_reader_reads_loses_and_doubles_nothing(
    state: Path, workspace: Path
) -> None:
    tap = workspace / "files/tap"
    with Writer(state, file=2000) as writer:
        writer.turn(opened("s1", workspace))
        fill(writer, 10)
        reading = scan(tap, "calls")
        found = [next(reading).seq]
        # The reader has opened the live file; now it becomes a numbered one.
        fill(writer, 20)
        found += [record.seq for record in reading]
    assert found == list(range(2, found[-1] + 1))
    assert len(found) >= 10


def test_rotations_that_wait_have_the_folder_listed_once(
    state: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, may_end, listed = Event(), Event(), []

    def trim(*_: object) -> list[str]:
        listed.append(1)
        begun.set()
        assert may_end.wait(DEADLINE)
        return []

    monkeypatch.setattr("tapui.records.open_files.trim", trim)
    with Writer(state, file=500) as writer:
        writer.turn(opened("s1", workspace))
        fill(writer, 3)
        assert begun.wait(DEADLINE)
        fill(writer, 30)
        may_end.set()
    assert len(listed) == 2


def test_rotating_while_the_folder_is_kept_within_its_total_loses_nothing(
    state: Path, workspace: Path
) -> None:
    """Both list the folder, in two threads; among very many files each list takes a while."""
    tap = workspace / "files/tap"
    tap.mkdir(parents=True)
    for number in range(1, 3_000):
        (tap / f"streams.{number}.jsonl").touch()
    with Writer(state, file=500) as writer:
        writer.turn(opened("s1", workspace))
        fill(writer, 300)
        assert writer.reports == []
    assert [record.seq for record in scan(tap, "calls")] == list(range(2, 302))
