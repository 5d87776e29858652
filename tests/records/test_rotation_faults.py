"""A rotation that fails at any step loses nothing that was acknowledged, and is made up for."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from tapui.records.reader import scan
from tests.records.turns import Writer, refused, seqs

CALLS = ("listdir", "rename", "open", "fstat", "fchmod", "dup", "set_blocking", "pread", "stat")
STEPS = 12
"""More calls than a rotation makes."""


class FullDisk:
    """From its `first` call on, or for that one only, each call of file work fails."""

    def __init__(self, first: int, *, stays: bool) -> None:
        self._first = first
        self._stays = stays
        self.count = 0
        self.has_failed = False

    def wrap(self, real: Any) -> Any:
        def call(*args: Any, **more: Any) -> Any:
            self.count += 1
            if self.count == self._first or (self._stays and self.count > self._first):
                self.has_failed = True
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            return real(*args, **more)

        return call


@contextmanager
def full_disk(first: int, *, stays: bool) -> Iterator[FullDisk]:
    disk = FullDisk(first, stays=stays)
    with pytest.MonkeyPatch.context() as patch:
        for name in CALLS:
            patch.setattr(os, name, disk.wrap(getattr(os, name)))
        yield disk


def recorded(state: Path) -> list[int]:
    return [record.seq for record in scan(state / "gateway", "errors")]


@pytest.mark.parametrize("stays", [False, True], ids=["fails once", "fails until there is space"])
@pytest.mark.parametrize("step", range(1, STEPS + 1))
def test_nothing_acknowledged_is_lost_and_rotation_goes_on(
    state: Path, step: int, stays: bool
) -> None:
    with Writer(state, file=1000) as writer:
        lost: set[int] = set()
        for _ in range(4):
            lost |= writer.turn(refused("x" * 100))
        assert writer.sync(None)
        with full_disk(step, stays=stays) as disk:
            for _ in range(3):
                lost |= writer.turn(refused("x" * 100))
        # There is space again: not a record is lost from now on.
        begins = writer.seq + 1
        for _ in range(30):
            assert writer.turn(refused("x" * 100)) == frozenset()
        assert writer.sync(range(begins, writer.seq + 1))
        told = writer.warnings()
    wanted = [seq for seq in range(1, writer.seq + 1) if seq not in lost]
    assert recorded(state) == wanted
    assert not lost, "the file that was full could still take them"
    assert bool(told) == disk.has_failed
    files = sorted((state / "gateway").glob("errors*.jsonl"))
    assert len(files) >= 4
    assert max(len(seqs(file)) for file in files) <= 20
    with Writer(state, run="r2", file=1000) as again:
        assert again.turn(refused("x")) == frozenset()
    assert recorded(state) == [*wanted, 1]


@pytest.mark.parametrize("step", range(1, 5))
def test_a_file_that_cannot_be_dropped_is_told_and_dropped_later(
    state: Path, monkeypatch: pytest.MonkeyPatch, step: int
) -> None:
    unlink, count = os.unlink, 0

    def fails_at(*args: Any, **more: Any) -> None:
        nonlocal count
        count += 1
        if count == step:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        unlink(*args, **more)

    monkeypatch.setattr(os, "unlink", fails_at)
    with Writer(state, file=1000, session=3000) as writer:
        for _ in range(60):
            assert writer.turn(refused("x" * 100)) == frozenset()
            assert writer.sync(None)
    assert count > step
    assert len(writer.warnings()) == 1
    total = sum(path.stat().st_size for path in (state / "gateway").glob("*.jsonl"))
    assert total <= 3000 + 1000
    left = recorded(state)
    assert left == list(range(left[0], 61))
