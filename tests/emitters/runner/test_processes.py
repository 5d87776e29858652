"""Processes are told apart by when they started, and found by session, descent and mark."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from tapui.emitters.runner.processes import (
    MARK,
    ProcessEntry,
    ProcessTable,
    entry,
    kill_leftovers,
    mark_of,
    send,
)
from tests.rig.processes import has_ended

WAITS = (sys.executable, "-c", "print(flush=True); import signal; signal.pause()")


@pytest.fixture
def child() -> Iterator["subprocess.Popen[bytes]"]:
    """A process that leads a session and bears a mark."""
    with subprocess.Popen(
        WAITS, env={MARK: "7.8/run"}, stdout=subprocess.PIPE, start_new_session=True
    ) as process:
        assert process.stdout is not None
        process.stdout.readline()
        yield process
        process.kill()


def test_process_is_described(child: "subprocess.Popen[bytes]") -> None:
    found = entry(child.pid)
    assert found is not None
    assert (found.pid, found.parent, found.session) == (child.pid, os.getpid(), child.pid)
    assert not found.is_dead
    assert mark_of(child.pid) == "7.8/run"
    child.kill()
    child.wait()
    assert entry(child.pid) is None
    assert mark_of(child.pid) is None


def test_name_with_parentheses_hides_nothing(tmp_path: Path) -> None:
    program = tmp_path / "a) R 1 (b"
    program.symlink_to(sys.executable)
    with subprocess.Popen((program, *WAITS[1:]), stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        process.stdout.readline()
        found = entry(process.pid)
        process.kill()
    assert found is not None
    assert (found.name, found.parent) == ("a) R 1 (b", os.getpid())


def test_who_got_the_id_of_an_earlier_process_is_not_signalled(
    child: "subprocess.Popen[bytes]",
) -> None:
    found = entry(child.pid)
    assert found is not None
    earlier = replace(found, started=found.started - 1)
    send([earlier], signal.SIGKILL)
    assert kill_leftovers({child.pid: earlier.started}, ["other"]) == 0
    assert not has_ended(child.pid)
    send([found], signal.SIGKILL)
    child.wait()


@pytest.mark.parametrize("by", ["session", "mark"])
def test_leftovers_are_killed(child: "subprocess.Popen[bytes]", by: str) -> None:
    found = entry(child.pid)
    assert found is not None
    leaders = {child.pid: found.started} if by == "session" else {}
    assert kill_leftovers(leaders, ["7.8/run"] if by == "mark" else []) == 1
    assert child.wait() == -signal.SIGKILL


def test_members_are_the_session_and_all_that_descend_from_it() -> None:
    def process(pid: int, parent: int, session: int, *, is_dead: bool = False) -> ProcessEntry:
        return ProcessEntry(pid, parent, session, session, 0, is_dead, "x")

    processes = ProcessTable(
        (
            process(1, 0, 1),
            process(10, 1, 10),  # the helper
            process(20, 10, 20),  # a leader
            process(21, 20, 20),
            process(22, 21, 22),  # has a session of its own
            process(23, 22, 22),
            process(24, 10, 20),  # lost its parent
            process(25, 10, 20, is_dead=True),
            process(30, 10, 30),  # another leader
            process(31, 30, 30),
        )
    )
    found = processes.members(20, "mark", 10)
    assert [one.pid for one in found] == [20, 21, 22, 23, 24]


def test_the_marks_are_read_once_for_all_runs(monkeypatch: pytest.MonkeyPatch) -> None:
    read: list[int] = []
    monkeypatch.setattr("tapui.emitters.runner.processes.mark_of", read.append)
    leaders = range(20, 40)
    table = ProcessTable(ProcessEntry(pid, 10, pid, pid, 0, False, "x") for pid in leaders)
    found = [table.members(leader, f"mark {leader}", 10) for leader in leaders]
    assert [[one.pid for one in each] for each in found] == [[leader] for leader in leaders]
    assert sorted(read) == list(leaders)
