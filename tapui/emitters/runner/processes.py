"""The processes of a run: found by session, by descent and by a mark, and ended.

On Linux the helper is the reaper of its descendants (`PR_SET_CHILD_SUBREAPER`): what loses its
parent becomes a child of the helper, and none gets away. Which run a process belongs to, once it
has left the run's session, is known by the variable `MARK` in the environment that it was started
with; one that was started without it, and has lost its parent, belongs to no run. Elsewhere only
the process group that a run began with is known.
"""

import contextlib
import os
import signal
import subprocess
import sys
from collections.abc import Collection, Iterable
from dataclasses import dataclass
from pathlib import Path

from tapui.emitters.runner.messages import (
    RunStart,
)
from tapui.invocation import INSIDE
from tapui.runtime.processes.reaping import die_with_parent, signal_group

MARK = "TAP_RUN"
"""The variable that a run's processes bear: the helper's mark, `/`, the run's id."""
_PROC = Path("/proc")
_SWEEPS = 10
"""Times that leftovers are looked for: what forks meanwhile is found the next time."""

HAS_PROC = sys.platform == "linux" and (_PROC / "self" / "stat").exists()


@dataclass(frozen=True, slots=True)
class ProcessEntry:
    """A process. `started` is in clock ticks since the boot."""

    pid: int
    parent: int
    group: int
    session: int
    started: int
    is_dead: bool
    """Whether it has ended, and only waits to be asked for its exit code."""
    name: str


class ProcessTable:
    """All processes as they were at one moment.

    One table serves many runs: what is asked of it for each is found out once.
    """

    def __init__(self, processes: Iterable[ProcessEntry] = ()) -> None:
        self._processes = {process.pid: process for process in processes}
        self._below: dict[int, list[int]] = {}
        self._in_session: dict[int, list[int]] = {}
        for process in self._processes.values():
            self._below.setdefault(process.parent, []).append(process.pid)
            self._in_session.setdefault(process.session, []).append(process.pid)
        self._marked: dict[str | None, list[int]] | None = None
        """The reaper's children by their marks."""

    def members(self, leader: int, mark: str, reaper: int) -> list[ProcessEntry]:
        """Return the living processes of a run: of its leader's session, marked orphans, and all
        that descend from these. Orphans are children of `reaper`, always the same one."""
        if self._marked is None:
            self._marked = {}
            for pid in self._below.get(reaper, ()):
                self._marked.setdefault(mark_of(pid), []).append(pid)
        waiting = [*self._in_session.get(leader, ()), *self._marked.get(mark, ())]
        found: set[int] = set()
        while waiting:
            pid = waiting.pop()
            if pid not in found:
                found.add(pid)
                waiting += self._below.get(pid, ())
        alive = [self._processes[pid] for pid in sorted(found)]
        return [process for process in alive if not process.is_dead]


def entry(pid: int) -> ProcessEntry | None:
    """Return a process, or None where it, or `/proc`, is not there."""
    try:
        text = (_PROC / str(pid) / "stat").read_bytes()
    except OSError:
        return None  # it has ended
    # The name stands in parentheses, and may hold some itself.
    name, _, rest = text.partition(b"(")[2].rpartition(b")")
    state, parent, group, session, *others = rest.split(None, 20)
    return ProcessEntry(
        pid=pid,
        parent=int(parent),
        group=int(group),
        session=int(session),
        started=int(others[15]),
        is_dead=state in (b"Z", b"X"),
        name=name.decode("utf-8", "replace"),
    )


def processes() -> list[ProcessEntry]:
    """Return all processes; none without `/proc`."""
    if not HAS_PROC:
        return []
    found = (entry(int(at.name)) for at in _PROC.iterdir() if at.name.isdigit())
    return [process for process in found if process is not None]


def mark_of(pid: int) -> str | None:
    """Return the mark that a process was started with, or None."""
    try:
        environ = (_PROC / str(pid) / "environ").read_bytes()
    except OSError:
        return None  # it has ended, or is not ours
    start = f"{MARK}=".encode()
    for variable in environ.split(b"\0"):
        if variable.startswith(start):
            return variable[len(start) :].decode("utf-8", "replace")
    return None


def send(to: Iterable[ProcessEntry], number: signal.Signals) -> None:
    """Send a signal to processes, unless their ids have another owner by now."""
    for process in to:
        now = entry(process.pid)
        if now is not None and now.started == process.started:
            # It has just ended, or has become another user's.
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(process.pid, number)


def kill_leftovers(leaders: dict[int, int | None], marks: Collection[str]) -> int:
    """Kill what is left of runs whose helper is dead; return how many processes that were.

    `leaders` has the ids of the runs' leaders, and when they started. The id of a leader that is
    dead has no other owner while a process of its session lives. May take a while: not for an
    event loop.
    """
    if not HAS_PROC:
        for leader in leaders:
            signal_group(leader, signal.SIGKILL)
        return len(leaders)
    killed: set[int] = set()
    for _ in range(_SWEEPS):
        there = processes()
        foreign = {
            process.pid
            for process in there
            if process.pid in leaders and process.started != leaders[process.pid]
        }
        wanted = leaders.keys() - foreign
        left = [
            process
            for process in there
            if not process.is_dead and (process.session in wanted or mark_of(process.pid) in marks)
        ]
        if not left:
            break
        send(left, signal.SIGKILL)
        killed.update(process.pid for process in left)
    return len(killed)


_LOGIN_SHELLS = frozenset({"bash", "fish", "ksh", "zsh"})
"""Shells that read the person's profile with `-l`."""


class SpawnError(Exception):
    """A command that cannot be started; the text says why."""


def spawn(start: RunStart, mark: str) -> "subprocess.Popen[bytes]":
    """Start a command in a session of its own, without input. Raises `SpawnError`."""
    check_folder(start.cwd)
    if start.args is not None:
        ways = [(start.command, *start.args)]
    else:
        shells = [start.shell] if start.shell else ["bash", "sh"]
        ways = [(shell, _option(shell), start.command) for shell in shells]
    for argv in ways:
        try:
            return subprocess.Popen(
                argv,
                env={**start.env, MARK: mark, INSIDE: "1"},
                cwd=start.cwd,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
                # The helper has one thread, so that code may run between fork and exec.
                preexec_fn=die_with_parent,  # noqa: PLW1509
            )
        except FileNotFoundError:
            continue  # with the next shell
        except PermissionError:
            raise SpawnError(f"the {_what(start)} {argv[0]} may not be run") from None
        except OSError as error:
            raise SpawnError(f"it cannot be started: {error.strerror or error}") from None
        except (ValueError, subprocess.SubprocessError) as error:
            raise SpawnError(f"it cannot be started: {error}") from None
    raise SpawnError(f"there is no {_what(start)} {' or '.join(argv[0] for argv in ways)}")


def _option(shell: str) -> str:
    return "-lc" if Path(shell).name in _LOGIN_SHELLS else "-c"


def _what(start: RunStart) -> str:
    return "shell" if start.args is None else "program"


def check_folder(folder: str) -> None:
    """Raises `SpawnError` for a folder in which nothing can be run."""
    try:
        is_folder = Path(folder).is_dir()
    except (OSError, ValueError):
        is_folder = False
    if not is_folder:
        is_there = os.path.lexists(folder) if "\0" not in folder else False
        what = "is not a folder" if is_there else "is not there"
        raise SpawnError(f"the folder {folder} {what}")
    if not os.access(folder, os.X_OK):
        raise SpawnError(f"the folder {folder} may not be entered")
