"""Syncs: in groups by themselves, at once for those who wait, and honest about failures."""

import errno
import os
import threading
from pathlib import Path

import pytest

from tapui.records.record_file import Handle
from tapui.records.syncer import Syncer, datasync
from tests.records.turns import (
    DEADLINE,
    Writer,
    closed,
    decided,
    opened,
    refused,
    started,
    wait_until,
)


class Syncs:
    """Remembers which files were synced; can hold them up, or let them fail."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self.threads: set[str] = set()
        self.fails = False
        self.gate = threading.Event()
        self.gate.set()

    def datasync(self, fd: int) -> None:
        assert self.gate.wait(DEADLINE)
        self.threads.add(threading.current_thread().name)
        self.names.append(Path(f"/proc/self/fd/{fd}").readlink().name)
        if self.fails:
            raise OSError(errno.EIO, os.strerror(errno.EIO))
        datasync(fd)


@pytest.fixture
def syncs() -> Syncs:
    if not Path("/proc/self/fd").is_dir():
        pytest.skip("names of descriptors are read from /proc")
    return Syncs()


def test_what_was_written_is_synced_by_itself_in_one_go(state: Path, syncs: Syncs) -> None:
    with Writer(state, sync=syncs.datasync) as writer:
        for _ in range(100):
            writer.turn(refused("x"))
        wait_until(lambda: bool(syncs.names))
        assert len(syncs.names) < 20
        assert syncs.threads == {"tapui-records"}


def test_only_the_files_of_the_turn_are_synced_at_once(
    state: Path, workspace: Path, syncs: Syncs
) -> None:
    writer = Writer(state, interval=3600, sync=syncs.datasync)
    writer.turn(opened("s1", workspace), started("s1", "c1"), refused("x"))
    writer.turn(decided("a1", "s1"))
    assert writer.sync([4])
    assert syncs.names == ["approvals.jsonl"]
    assert writer.sync([4])
    assert syncs.names == ["approvals.jsonl"]
    assert writer.sync([2, 4])
    assert sorted(syncs.names) == [
        "approvals.jsonl", "calls.jsonl", "errors.jsonl", "sessions.jsonl",
    ]  # fmt: skip
    assert writer.journal.close(DEADLINE)


def test_the_names_of_new_files_are_synced_too(
    state: Path, workspace: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folders: list[Path] = []
    real = os.fsync

    def fsync(fd: int) -> None:
        folders.append(Path(f"/dev/fd/{fd}").resolve())
        real(fd)

    monkeypatch.setattr(os, "fsync", fsync)
    with Writer(state) as writer:
        writer.turn(opened("s1", workspace), decided("a1", "s1"), decided("a2"))
        assert writer.sync([2, 3])
        expected = {
            workspace, workspace / "files", workspace / "files/tap",
            state.parent, state, state / "gateway",
        }  # fmt: skip
        assert expected <= set(folders)
        folders.clear()
        writer.turn(decided("a3", "s1"))
        assert writer.sync([4])
        assert folders == []


def test_the_answer_comes_after_the_sync_and_on_the_journals_thread(
    state: Path, syncs: Syncs
) -> None:
    answered = threading.Event()
    on: list[str] = []

    def done(ok: bool) -> None:
        on.append(f"{threading.current_thread().name} {ok} {len(syncs.names)}")
        answered.set()

    with Writer(state, sync=syncs.datasync) as writer:
        syncs.gate.clear()
        writer.turn(decided("a1"))
        writer.journal.sync(frozenset({1}), done)
        # Writing goes on while a sync is under way.
        assert writer.turn(refused("x"), refused("y")) == frozenset()
        assert not on
        syncs.gate.set()
        assert answered.wait(DEADLINE)
        assert on == ["tapui-records True 1"]


def test_records_that_were_never_written_are_not_safe(state: Path) -> None:
    with Writer(state) as writer:
        writer.turn(decided("a1"))
        assert writer.sync([])
        assert writer.sync([1])
        assert not writer.sync([1, 2])
        assert not writer.sync([99])


def test_a_failed_sync_is_answered_told_and_left_behind(state: Path, syncs: Syncs) -> None:
    with Writer(state, sync=syncs.datasync) as writer:
        writer.turn(decided("a1"))
        syncs.fails = True
        assert not writer.sync([1])
        syncs.fails = False
        # The lost pages are not in the file's later syncs: that record stays unsafe.
        assert not writer.sync([1])
        assert writer.turn(decided("a2")) == frozenset()
        assert writer.sync([2])
        [(level, told)] = writer.reports
        assert level == "error"
        assert "cannot be synced to the disk" in told


def test_a_group_sync_that_failed_makes_later_answers_honest(state: Path, syncs: Syncs) -> None:
    with Writer(state, sync=syncs.datasync) as writer:
        syncs.fails = True
        writer.turn(decided("a1"))
        wait_until(lambda: bool(writer.reports))
        syncs.fails = False
        assert not writer.sync([1])


def test_an_answer_that_nobody_takes_does_not_stop_the_thread(state: Path) -> None:
    def closed_loop(_ok: bool) -> None:
        raise RuntimeError("Event loop is closed")

    with Writer(state) as writer:
        writer.turn(decided("a1"))
        writer.journal.sync(frozenset({1}), closed_loop)
        assert writer.sync([1])
        assert [level for level, _ in writer.reports] == ["warning"]


@pytest.mark.expects_error_log("an answer about 1 files of records was not taken")
def test_an_answer_that_fails_at_its_taker_does_not_stop_the_thread(state: Path) -> None:
    def fails(_ok: bool) -> None:
        raise LookupError("not foreseen")

    with Writer(state) as writer:
        writer.turn(decided("a1"))
        writer.journal.sync(frozenset({1}), fails)
        assert writer.sync([1])


def test_close_syncs_what_is_left_and_answers_who_waits(state: Path, syncs: Syncs) -> None:
    answers: list[bool] = []
    writer = Writer(state, interval=3600, sync=syncs.datasync)
    writer.turn(decided("a1"), refused("x"))
    writer.journal.sync(frozenset({1}), answers.append)
    assert writer.journal.close(DEADLINE)
    assert answers == [True]
    assert sorted(set(syncs.names)) == ["approvals.jsonl", "errors.jsonl"]


def test_close_gives_up_at_its_deadline_and_says_so(state: Path, syncs: Syncs) -> None:
    writer = Writer(state, sync=syncs.datasync)
    syncs.gate.clear()
    writer.turn(refused("x"))
    assert not writer.journal.close(0.05)
    [(level, told)] = writer.reports
    assert level == "error"
    assert "after 0.05 s" in told
    syncs.gate.set()
    assert writer.journal.close(DEADLINE)


def test_a_flood_of_ended_sessions_keeps_few_files_open_and_nobody_waiting(
    state: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """While the disk is slow, the writer goes on, and what it wrote is safe in the end."""
    free = threading.Event()
    everything: list[None] = []

    def slow(fd: int) -> None:
        free.wait(DEADLINE)
        datasync(fd)

    monkeypatch.setattr(os, "sync", lambda: everything.append(None))
    before = len(list(Path("/dev/fd").iterdir()))
    with Writer(state, sync=slow) as writer:
        for number in range(300):
            writer.turn(opened(f"s{number}"), started(f"s{number}", "c"), closed(f"s{number}"))
        assert len(list(Path("/dev/fd").iterdir())) - before < 64 * 4 + 32
        free.set()
        assert writer.sync(None)
        assert everything
        assert writer.reports == []


def test_a_chore_that_fails_is_told_and_the_thread_lives_on(state: Path) -> None:
    def fails() -> None:
        raise PermissionError(13, "Permission denied", "a file")

    with Writer(state) as writer:
        writer.syncer.run(fails)
        wait_until(lambda: bool(writer.reports))
        assert writer.reports == [("warning", "a file: Permission denied")]
        writer.turn(refused("x"))
        assert writer.sync([1])


def test_a_descriptor_that_cannot_be_closed_ends_no_later_sync(tmp_path: Path) -> None:
    path = tmp_path / "calls.jsonl"
    synced = Syncer(lambda _text, _level: None, interval=0.0)
    never_open = 2**30
    synced.retire(Handle(never_open, path, [never_open + 1]))
    is_closed = threading.Event()
    synced.run(is_closed.set)  # after what waits to be closed
    assert is_closed.wait(DEADLINE)
    fd = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
    handle = Handle(fd, path, [])
    handle.dirty = True
    answers: list[bool] = []
    synced.request([handle], True, answers.append)
    wait_until(lambda: bool(answers))
    assert answers == [True]
    synced.retire(handle)
    assert synced.close(DEADLINE)
