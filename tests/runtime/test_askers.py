"""Which process is behind a connection, which are agents', and since when there are any."""

import os
import pty
import resource
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from tapui.core.trust.person import Case, judge
from tapui.runtime import askers
from tapui.runtime.agents import FILE, Agents
from tapui.runtime.processes.sights import look, system
from tests.runtime.house import House, until


@contextmanager
def on_a_terminal(*argv: str, env: dict[str, str] | None = None) -> Iterator[int]:
    """Run a program on a new pseudo-terminal, whose master this process holds."""
    pid, master = pty.fork()
    if pid == 0:
        os.execvpe(argv[0], argv, {**os.environ, **(env or {})})
    try:
        os.read(master, 1)  # it runs
        yield pid
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(master)


READY = (sys.executable, "-c", "print('x', flush=True); import time; time.sleep(1000)")
BELOW = f"import subprocess, sys; subprocess.run([{READY[0]!r}, '-c', {READY[2]!r}])"


def test_terminals_that_are_opened_one_after_the_other_are_each_found() -> None:
    for _ in range(3):
        with on_a_terminal(*READY) as pid:
            sight = look(pid)
            assert sight is not None
            assert sight.terminal == str(Path(f"/proc/{pid}/fd/0").readlink())
            assert sight.session == sight.leader_line[0].pid == sight.line[0].pid == pid
            assert sight.holder_line[0].pid == os.getpid()
            assert sight.foreground == sight.group == pid


def test_a_line_goes_up_to_the_first_process() -> None:
    with on_a_terminal(sys.executable, "-c", BELOW) as pid:
        child = int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])
        sight = look(child)
        assert sight is not None
        assert [one.pid for one in sight.line[:3]] == [child, pid, os.getpid()]
        assert sight.leader_line == sight.line[1:]
        starts = [one.start for one in sight.line]
        assert starts == sorted(starts, reverse=True)
        assert sight.line[0].uid == os.getuid()


HANDS_OVER = f"""
import fcntl, os, subprocess, termios
master, slave = os.openpty()
holder = subprocess.Popen(["sleep", "1000"], pass_fds=[master])
os.close(master)
shell = subprocess.Popen({["sleep", "1000"]}, stdin=slave, start_new_session=True,
    preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0))
print(holder.pid, shell.pid, flush=True)
input()
"""
"""Opens a terminal for one program and hands its master to another."""


def test_a_holder_that_is_not_above_the_leader_is_found() -> None:
    with subprocess.Popen(
        [sys.executable, "-c", HANDS_OVER],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout is not None
        holder, shell = map(int, process.stdout.readline().split())
        try:
            sight = look(shell)
            assert sight is not None
            assert sight.holder_line[0].pid == holder
        finally:
            for pid in (holder, shell):
                os.kill(pid, signal.SIGKILL)
            process.communicate("\n")


@pytest.mark.parametrize("name", ["TAPUI_INSIDE", "COPILOT_CLI", "COPILOT_AGENT_SESSION_ID"])
def test_a_mark_in_the_environment_is_seen(name: str) -> None:
    with on_a_terminal(*READY, env={name: "1"}) as pid:
        sight = look(pid)
        assert sight is not None
        assert sight.marked is not None
        assert sight.marked.pid == pid


def test_a_process_that_has_ended_is_not_found() -> None:
    with on_a_terminal(*READY) as pid:
        pass
    assert look(pid) is None


# The first agent


def own_start() -> float:
    found = system.status(os.getpid())
    assert found is not None
    return found.start


def test_agents_are_known_while_they_run_and_the_first_start_for_good(tmp_path: Path) -> None:
    agents = Agents(tmp_path)
    agents.note(os.getpid(), "session 'first'")
    with on_a_terminal(*READY) as pid:
        agents.note(pid, "provider 'ci'")
        found = agents.identified(look(pid))
        assert {one.pid for one in found.agents} == {os.getpid(), pid}
    found = agents.identified(None)
    assert [one.what for one in found.agents] == ["session 'first'"]
    assert (found.earliest, found.earliest_what) == (own_start(), "session 'first'")
    later = Agents(tmp_path).identified(None)  # of a gateway that was started anew
    assert (later.agents, later.earliest) == (found.agents, own_start())


def test_gateways_of_one_person_know_the_agents_of_each_other(tmp_path: Path) -> None:
    one, other = Agents(tmp_path), Agents(tmp_path)
    assert other.identified(None).agents == ()
    with on_a_terminal(*READY) as pid:
        one.note(pid, "session 'first'")
        assert [each.pid for each in other.identified(None).agents] == [pid]
        other.note(os.getpid(), "session 'second'")
        assert {each.pid for each in one.identified(None).agents} == {pid, os.getpid()}
    assert [each.pid for each in other.identified(None).agents] == [os.getpid()]


def test_before_any_agent_nothing_is_younger(tmp_path: Path) -> None:
    assert Agents(tmp_path).identified(None).earliest is None
    kept = {"boot": "another boot", "start": 1.0, "what": "session 'x'", "version": 1}
    (tmp_path / FILE).write_bytes(msgspec.json.encode(kept))
    assert Agents(tmp_path).identified(None).earliest is None


@pytest.mark.parametrize(
    "data",
    [b"", b'{"boot": "', b"\xff", b"[]", b'{"boot": "b", "start": 5.0, "what": "w", "version": 2}'],
    ids=["empty", "torn", "no text", "no object", "newer"],
)
@pytest.mark.expects_error_log("agents.json cannot be read, remove it")
def test_a_file_that_cannot_be_read_makes_every_terminal_younger(
    tmp_path: Path, data: bytes
) -> None:
    (tmp_path / FILE).write_bytes(data)
    with on_a_terminal(*READY) as pid:
        found = Agents(tmp_path).identified(look(pid))
        assert found.earliest == 0.0
        assert judge(found, ()).case is Case.TERMINAL


@pytest.mark.expects_error_log("agents.json cannot be written")
def test_a_file_that_cannot_be_written_costs_nothing_else(tmp_path: Path) -> None:
    (tmp_path / f"{FILE}.new").mkdir()  # in the way of the file that is written first
    agents = Agents(tmp_path)
    agents.note(os.getpid(), "session 'x'")
    assert agents.identified(None).earliest == own_start()


@contextmanager
def without_descriptors() -> Iterator[None]:
    """Let this process open nothing more."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with open(os.devnull) as free:  # noqa: PTH123 - the lowest number that is free
        resource.setrlimit(resource.RLIMIT_NOFILE, (free.fileno(), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


def test_without_descriptors_no_agent_looks_ended_and_no_file_damaged(tmp_path: Path) -> None:
    agents = Agents(tmp_path)
    agents.note(os.getpid(), "session 'x'")
    with without_descriptors():
        for asked in (
            agents.identified,
            lambda _: agents.note(1, "y"),
            lambda _: look(os.getpid()),
        ):
            with pytest.raises(OSError, match="Too many open files"):
                asked(None)
    found = agents.identified(None)
    assert [one.what for one in found.agents] == ["session 'x'"]
    assert found.earliest == own_start()


async def test_an_agent_that_cannot_be_looked_at_is_noted_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(askers, "_AGAIN", 0.01)
    house = House(tmp_path)
    with without_descriptors():
        house.turn.note_agent(os.getpid(), "session 'x'")
    await until((tmp_path / FILE).exists)
    assert "session 'x'" in (tmp_path / FILE).read_text()
    house.turn.close()
    house.journal.close(1.0)
