"""Which processes may be agents, and what is known of them when their file is not what it was."""

import os
import pty
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec
import pytest

from tapui.runtime.agents import FILE, Agents
from tapui.runtime.processes.sights import system
from tests.rig.machine import need
from tests.rig.waiting import until

WAITS = "import time; time.sleep(1000)"
SHOWS = """
import os, pty, sys, time
pid, master = pty.fork()
if pid == 0:
    os.execvpe("sh", ["sh"], {**os.environ, **dict(one.split("=") for one in sys.argv[1:])})
os.read(master, 1)  # its prompt: until `execve` is done, its environment reads as empty
print(pid, flush=True)
time.sleep(1000)
"""
"""Opens a terminal, as tmux does, or Copilot's shell tool (with a mark)."""


@contextmanager
def terminal_of(*argv: str) -> Iterator[int]:
    """Run a program on a new terminal until it is there; yield its id."""
    pid, master = pty.fork()
    if pid == 0:
        os.execvp(argv[0], argv)
    name = Path(shutil.which(argv[0]) or "").resolve().name
    try:
        until(lambda: system.program(pid) == name, what=f"{name} runs")
        yield pid
    finally:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        os.close(master)


@contextmanager
def shows_a_shell(*marks: str) -> Iterator[int]:
    """Run a program without a terminal that shows a shell on one; yield its id."""
    with subprocess.Popen(
        [sys.executable, "-c", SHOWS, *marks],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        start_new_session=True,
        text=True,
    ) as process:
        assert process.stdout is not None
        shell = int(process.stdout.readline())
        try:
            yield process.pid
        finally:
            os.kill(shell, signal.SIGKILL)
            process.kill()


@pytest.fixture
def told() -> list[str]:
    """What the person is told."""
    return []


@pytest.fixture
def agents(tmp_path: Path, told: list[str]) -> Agents:
    return Agents(tmp_path, os.getpid(), told.append)


def known(agents: Agents) -> tuple[set[int], float | None]:
    found = agents.identified(None)
    return {one.pid for one in found.agents}, found.earliest


def start_of(pid: int) -> float:
    found = system.status(pid)
    assert found is not None
    return found.start


def written(state: Path, *pids: int) -> None:
    """Write the file as if these were agents."""
    running = [{"pid": pid, "start": start_of(pid), "what": "x"} for pid in pids]
    kept = {"boot": system.boot(), "start": None, "what": "", "version": 1, "running": running}
    (state / FILE).write_bytes(msgspec.json.encode(kept))
    (state / FILE).chmod(0o600)


@pytest.mark.parametrize("way", ["named", "written"])
def test_a_shell_of_the_person_the_first_process_and_the_gateway_are_no_agents(
    agents: Agents, told: list[str], tmp_path: Path, way: str
) -> None:
    with terminal_of("sh") as shell, terminal_of(sys.executable, "-c", WAITS) as agent:
        if way == "named":
            for pid in (1, os.getpid(), shell, agent):
                agents.note(pid, "session 'x'")
        else:
            written(tmp_path, 1, os.getpid(), shell, agent)
        assert known(agents) == ({agent}, None if way == "written" else start_of(agent))
        assert [one.partition("which is ")[2].partition(":")[0] for one in told] == [
            "none of your processes",
            "this gateway",
            "a shell of yours",
        ]
        agents.note(shell, "session 'y'")
        assert len(told) == 3


def test_what_shows_terminals_is_no_agent_but_they_count_as_new(
    agents: Agents, told: list[str]
) -> None:
    with shows_a_shell() as tmux:
        agents.note(tmux, "session 'x'")
        assert known(agents) == (set(), start_of(tmux))
        assert "what shows terminals of yours" in told[0]
    with shows_a_shell("COPILOT_CLI=1") as copilot:
        agents.note(copilot, "session 'y'")
        assert known(agents)[0] == {copilot}


# The file


def test_a_file_that_is_taken_away_or_put_back_comes_again(agents: Agents, tmp_path: Path) -> None:
    file = tmp_path / FILE
    agents.begin()
    before = file.read_bytes()
    with terminal_of(sys.executable, "-c", WAITS) as agent:
        agents.note(agent, "session 'x'")
        for spoil in (file.unlink, lambda: file.write_bytes(before), lambda: old_copy(file)):
            spoil()
            assert known(agents) == ({agent}, start_of(agent))
            assert known(Agents(tmp_path)) == ({agent}, start_of(agent))


def old_copy(file: Path) -> None:
    kept = msgspec.json.decode(file.read_bytes())
    file.write_bytes(msgspec.json.encode({**kept, "boot": "another"}))


LOOKS = """
import sys
from pathlib import Path
from tapui.runtime.agents import Agents
agents = Agents(Path(sys.argv[1]))
agents.begin()
print(agents.identified(None).earliest)
"""


def earliest_of_a_new_gateway(state: Path) -> str:
    done = subprocess.run(
        [sys.executable, "-c", LOOKS, str(state)], capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


@pytest.mark.parametrize("is_old", [False, True], ids=["gone", "of another boot"])
def test_without_the_file_records_of_this_boot_make_every_terminal_younger(
    tmp_path: Path, is_old: bool
) -> None:
    assert earliest_of_a_new_gateway(tmp_path) == "None"
    assert earliest_of_a_new_gateway(tmp_path) == "None"  # restarted, with no agent so far
    (tmp_path / "sessions").mkdir()
    if is_old:
        old_copy(tmp_path / FILE)
    else:
        (tmp_path / FILE).unlink()
    made = (tmp_path / "sessions").stat().st_ctime
    until(lambda: time.time() > made + 0.05, what="the next process is younger")
    for _ in range(2):
        assert earliest_of_a_new_gateway(tmp_path) == "0.0"
    written(tmp_path)  # the way out that is told
    assert earliest_of_a_new_gateway(tmp_path) == "None"


@pytest.mark.expects_error_log("agents.json cannot be read, remove it")
@pytest.mark.parametrize("what", ["a folder", "a FIFO", "a link"])
def test_what_is_no_file_makes_every_terminal_younger(tmp_path: Path, what: str) -> None:
    file = tmp_path / FILE
    if what == "a link":
        written(tmp_path)
        file.rename(tmp_path / "elsewhere")
        file.symlink_to("elsewhere")
    else:
        file.mkdir() if what == "a folder" else os.mkfifo(file)
    agents = Agents(tmp_path)
    assert known(agents) == (set(), 0.0)
    file.rmdir() if what == "a folder" else file.unlink()
    assert known(agents) == (set(), 0.0)
    assert earliest_of_a_new_gateway(tmp_path) == "0.0"


HIDDEN = r"""
mount -t proc -o hidepid=$1 proc /proc
shift
exec setpriv --reuid 65534 --regid 65534 --clear-groups \
    --inh-caps +dac_read_search --ambient-caps +dac_read_search "$@"
"""
SEES = """
import os, pty, signal, sys, time
from pathlib import Path
from tapui.core.trust.person import judge
from tapui.runtime.agents import Agents
from tapui.runtime.processes.sights import look
pid, master = pty.fork()
if pid == 0:
    print(flush=True)
    time.sleep(1000)
os.read(master, 1)
sight = look(pid)
assert sight is not None
print([one.pid for one in sight.line][2:])
print(judge(Agents(Path("/nowhere")).identified(sight), ()).case)
os.kill(pid, signal.SIGKILL)
"""


@pytest.mark.parametrize("hides", ["1", "2"])
def test_where_others_processes_are_hidden_the_persons_own_are_seen(hides: str) -> None:
    need("root", "unshare", "setpriv")
    done = subprocess.run(
        ["unshare", "-m", "sh", "-ec", HIDDEN, "sh", hides, sys.executable, "-c", SEES],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.stdout, done.stderr) == ("[]\ntaken\n", "")
