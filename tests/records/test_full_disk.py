"""Writes that fail or stop short: whole records only, every lost one returned, one line told."""

import errno
import os
import tempfile
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.records.turns import Writer, closed, opened, refused, seqs, started


class Disk:
    """Stands in for `os.write` and `os.ftruncate`: `room` bytes, `chunk` at most a write."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.room = 1 << 40
        self.chunk = 1 << 40
        self.cuts_fail = False
        self._write, self._ftruncate = os.write, os.ftruncate
        monkeypatch.setattr(os, "write", self.write)
        monkeypatch.setattr(os, "ftruncate", self.ftruncate)

    def write(self, fd: int, data: Any) -> int:
        if self.room == 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        written = self._write(fd, bytes(data)[: min(self.room, self.chunk)])
        self.room -= written
        return written

    def ftruncate(self, fd: int, size: int) -> None:
        if self.cuts_fail:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        self._ftruncate(fd, size)


@pytest.fixture
def disk(monkeypatch: pytest.MonkeyPatch) -> Disk:
    return Disk(monkeypatch)


def test_short_writes_are_completed(state: Path, disk: Disk) -> None:
    with Writer(state) as writer:
        writer.turn(refused("x"))
        disk.chunk = 7
        assert writer.turn(refused("y"), refused("z")) == frozenset()
        assert writer.reports == []
    assert seqs(state / "gateway/errors.jsonl") == [1, 2, 3]


def test_a_turn_cut_short_keeps_its_whole_records(state: Path, disk: Disk) -> None:
    path = state / "gateway/errors.jsonl"
    with Writer(state) as writer:
        writer.turn(refused("x" * 10))
        size = path.stat().st_size
        disk.room = 2 * size + size // 2
        assert writer.turn(*[refused("x" * 10) for _ in range(4)]) == {4, 5}
        assert path.stat().st_size == 3 * size
        assert seqs(path) == [1, 2, 3]
        assert not writer.sync([3, 4])
        assert writer.sync([2, 3])


def test_the_other_files_of_the_turn_are_written(state: Path, workspace: Path, disk: Disk) -> None:
    with Writer(state) as writer:
        writer.turn(opened("s1", workspace), started("s1", "c1"), refused("x"))
        disk.room = 100
        assert writer.turn(started("s1", "c2", size=5000), refused("y")) == {4, 5}
        disk.room = 1000
        assert writer.turn(started("s1", "c3", size=5000)) == {6}
        disk.room = 1000
        assert writer.turn(refused("z")) == frozenset()
    assert seqs(workspace / "files/tap/calls.jsonl") == [2]
    assert seqs(state / "gateway/errors.jsonl") == [3, 7]


def test_it_is_told_once_when_it_begins_and_once_when_it_is_over(state: Path, disk: Disk) -> None:
    with Writer(state) as writer:
        writer.turn(refused("x"))
        disk.room = 0
        for _ in range(50):
            assert writer.turn(refused("lost"))
        disk.room = 1 << 20
        # One small record that fits does not mean that the disk has room again.
        assert writer.turn(refused("fits")) == frozenset()
        assert len(writer.reports) == 1
        writer.now += 2
        assert writer.turn(refused("works")) == frozenset()
        writer.now += 2
        writer.turn(refused("still works"))
        [(first, told), (second, over)] = writer.reports
        assert (first, second) == ("warning", "info")
        assert "No space left on device" in told
        assert str(state / "gateway/errors.jsonl") in told
        assert over == "Records are written again; 50 are missing"
    assert seqs(state / "gateway/errors.jsonl") == [1, 52, 53, 54]


def test_when_cutting_back_fails_it_is_done_before_the_next_record(state: Path, disk: Disk) -> None:
    path = state / "gateway/errors.jsonl"
    with Writer(state) as writer:
        writer.turn(refused("x"))
        disk.room, disk.cuts_fail = 30, True
        assert writer.turn(refused("y")) == {2}
        disk.room = 1 << 20
        assert writer.turn(refused("z")) == {3}
        assert not path.read_bytes().endswith(b"\n")
        disk.cuts_fail = False
        assert writer.turn(refused("works")) == frozenset()
    assert seqs(path) == [1, 4]


@pytest.mark.parametrize("room", [20, 900])
def test_a_file_emptied_by_someone_else_is_never_filled_with_zeros(
    room: int, state: Path, disk: Disk
) -> None:
    path = state / "gateway/errors.jsonl"
    with Writer(state) as writer:
        writer.turn(refused("x" * 500))
        os.truncate(path, 0)
        disk.room = room
        assert writer.turn(refused("y" * 1000)) == {2}
        disk.room = 1 << 20
        assert writer.turn(refused("z")) == frozenset()
    assert seqs(path) == [3]


@settings(max_examples=60, deadline=None)
@given(
    turns=st.lists(
        st.tuples(
            st.lists(st.tuples(st.booleans(), st.integers(0, 400)), min_size=1, max_size=6),
            st.one_of(st.just(1 << 30), st.integers(0, 2000)),
            st.integers(1, 1000),
        ),
        max_size=12,
    )
)
def test_what_was_not_returned_is_in_the_file_and_nothing_else(turns: list[Any]) -> None:
    with pytest.MonkeyPatch.context() as monkeypatch, tempfile.TemporaryDirectory() as folder:
        state = Path(folder)
        disk = Disk(monkeypatch)
        kept: list[int] = []
        with Writer(state, file=3000) as writer:
            writer.turn(opened("s1"))
            kept.append(1)
            for events, room, chunk in turns:
                disk.room, disk.chunk = room, chunk
                first = writer.seq + 1
                lost = writer.turn(
                    *[
                        started("s1", "c", size) if is_call else refused("x" * size)
                        for is_call, size in events
                    ]
                )
                kept += [seq for seq in range(first, writer.seq + 1) if seq not in lost]
            disk.room = disk.chunk = 1 << 30
        found = [
            seq for path in state.rglob("*.jsonl") if path.parent != state for seq in seqs(path)
        ]
    assert sorted(found) == kept


def test_trouble_with_a_session_is_over_with_the_session(state: Path) -> None:
    state.mkdir(exist_ok=True)
    (state / "sessions").write_text("no folder")
    with Writer(state) as writer:
        for number in range(3):
            assert writer.turn(opened(f"s{number}"), started(f"s{number}", "c"))
            assert writer.journal.has_trouble
            writer.turn(closed(f"s{number}"))
            assert not writer.journal.has_trouble
