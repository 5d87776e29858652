"""Which process is behind a connection, and what is seen of it."""

import os
import pty
import resource
import shutil
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path

import psutil
import pytest

from tapui.runtime.processes.sights import look, system
from tapui.runtime.processes.status import is_tapui
from tests.rig.processes import has_ended
from tests.rig.waiting import until


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
        below = psutil.Process(pid).children(recursive=True)
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(master)
        for process in below:  # which may ignore the end of its terminal, as below `nohup`
            with suppress(psutil.NoSuchProcess):
                process.kill()
            until(partial(has_ended, process.pid), what="what ran below it has ended")


READY = (sys.executable, "-c", "print('x', flush=True); import time; time.sleep(1000)")
BELOW = f"import subprocess, sys; subprocess.run([{READY[0]!r}, '-c', {READY[2]!r}])"


def test_terminals_that_are_opened_one_after_the_other_are_each_found() -> None:
    for _ in range(3):
        with on_a_terminal(*READY) as pid:
            sight = look(pid)
            assert sight is not None
            assert sight.terminal == str(Path(f"/proc/{pid}/fd/0").readlink())
            assert sight.session == sight.leader_line[0].pid == sight.line[0].pid == pid
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
        assert [one.pid for one in sight.line if one.is_first] == [sight.line[-1].pid]


def test_the_first_process_of_a_namespace_is_seen_from_outside() -> None:
    apart = ("unshare", "--user", "--map-root-user", "--pid", "--fork", "--kill-child")
    tried = shutil.which("unshare") and subprocess.run([*apart, "true"], check=False)
    if not tried or tried.returncode != 0:
        pytest.skip("namespaces cannot be made here")
    with on_a_terminal(*apart, *READY) as pid:
        child = int(Path(f"/proc/{pid}/task/{pid}/children").read_text().split()[0])
        sight = look(child)
        assert sight is not None
        assert [one.is_first for one in sight.line[:2]] == [True, False]


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


# Command lines


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("tapui approve a-1", True),
        ("/home/me/.venv/bin/python3.11 /home/me/.venv/bin/tapui approve a-1", True),
        ("python3 -P -m tapui status", True),
        ("pypy3 -I -m tapui", True),
        ("uvx tapui", True),
        ("/usr/bin/uv run tapui approve a-1", True),
        ("uv tool run tapui approve a-1", True),
        ("python3 /home/me/.local/bin/pipx run tapui", True),
        ("uv run pytest tests/tapui tapui", False),
        ("uv run --directory tapui make", False),
        ("uvx --from tapui evil", False),
        ("python3 tapui/", False),
        ("tapui provider run evil.py", False),
        ("python3 -m tapui --port 9400 provider check evil.py", False),
        ("python3 -c tapui", False),
        ("python3 evil.py tapui", False),
        ("python3 -m evil tapui", False),
        ("sh tapui", False),
        ("xargs tapui approve", False),
        ("", False),
    ],
)
def test_a_command_of_tapui_and_what_launches_it_is_told_by_its_words(
    line: str, expected: bool
) -> None:
    assert is_tapui(line.split()) is expected


# Sockets

SHARES = """
import os, socket, sys
family, host, port = int(sys.argv[1]), sys.argv[2], int(sys.argv[3])
opened = socket.create_connection((host, port)) if family == socket.AF_INET else None
if opened is None:
    opened = socket.socket(socket.AF_INET6)
    opened.connect((host, port))
for _ in range(int(sys.argv[4])):
    if os.fork() == 0:
        break
print("x", flush=True)
sys.stdin.read()
"""


@pytest.mark.parametrize(
    ("family", "host"),
    [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::ffff:127.0.0.1")],
    ids=["IPv4", "mapped into IPv6"],
)
@pytest.mark.parametrize("others", [0, 2])
def test_all_holders_of_a_socket_are_found(family: int, host: str, others: int) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        argv = [sys.executable, "-c", SHARES, str(int(family)), host, str(port), str(others)]
        with subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            assert process.stdin is not None
            accepted, client = server.accept()
            with accepted:
                for _ in range(others + 1):
                    process.stdout.readline()
                found = set(system.socket_holders(client, ("127.0.0.1", port)))
            assert process.pid in found
            assert len(found) == others + 1
            process.stdin.close()


# What is known of agents


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


def test_without_descriptors_no_process_looks_ended() -> None:
    with without_descriptors(), pytest.raises(OSError, match="Too many open files"):
        look(os.getpid())
