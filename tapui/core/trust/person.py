"""Who is the person: the rule for a connection that answers, sends, starts or grants.

Answers come from the tower, and from shells that the person let in. Programs of one user cannot be
walled off from each other, but a process does not choose its session's leader, its parents and the
foreground group of its terminal. A name never lets a process in; some have it refused, or asked
about with a word of warning.
"""

from collections.abc import Container, Iterable
from dataclasses import dataclass
from enum import StrEnum
from itertools import takewhile

from tapui.core.effects import AgentProcess, Identified, SeenProcess, Sight
from tapui.wire.subjects import Asker, Program

ALWAYS = "always"
"""The value of `approvals.command-line` with which no process is looked at."""
_MANAGERS = frozenset({"systemd", "launchd"})
"""Names of user managers, which adopt orphans as the first process does. A program that takes such
a name is only asked about more often."""
YOUNG = 60.0
"""Seconds: a shell that is younger is shown with a warning."""
_DRIVERS = (
    *("script", "expect", "gdb", "lldb", "strace", "ltrace", "rr"),
    *("python", "pypy", "perl", "ruby", "node", "php", "lua", "tclsh", "java"),
)
"""How the names of programs begin that type into a shell below them, or run its code."""


class Case(StrEnum):
    """The outcome of a message."""

    REFUSED = "refused"
    TAKEN = "taken"
    SHELL = "shell"
    """The person is asked once for this shell."""
    COMMAND = "command"
    """The person is asked for this one message."""


@dataclass(frozen=True, slots=True)
class SessionShell:
    """The leader of a session: a shell, for as long as it lives and runs the same program."""

    pid: int
    start: float
    name: str


@dataclass(frozen=True, slots=True)
class PersonVerdict:
    """A case, and why it is this one."""

    case: Case
    why: str = ""
    is_inside: bool = False
    """Whether it is refused as an agent's."""
    shell: SessionShell | None = None
    """The one that the person is asked about."""


def judge(found: Identified, let_in: Container[SessionShell | None]) -> PersonVerdict:
    """Return the first case that fits. `let_in` are the shells that the person let in."""
    sight = found.sight
    if sight is None:
        return PersonVerdict(Case.REFUSED, "it cannot be found out which process asks")
    shell = shell_of(sight)
    is_let_in = shell is not None and shell in let_in
    why = inside(sight, found.agents, is_let_in=is_let_in)
    if why is not None:
        return PersonVerdict(Case.REFUSED, why, is_inside=True)
    process = f"process {sight.line[0].pid}"
    if sight.terminal is None:
        return PersonVerdict(Case.REFUSED, f"{process} has no terminal")
    if shell is None:
        return PersonVerdict(Case.COMMAND, f"the shell of {process} has ended")
    if not is_let_in:
        leader = sight.leader_line[0]
        words = f"{leader.name} (process {leader.pid}) on {short(sight.terminal)}"
        return PersonVerdict(Case.SHELL, f"{words} was not let in", shell=shell)
    agent = next((one for one in found.agents if one.session == sight.session), None)
    if agent is not None and (agent.pid, agent.start) != (shell.pid, shell.start):
        # What it starts can look like a child of the shell (CLONE_PARENT).
        words = f"{agent.what} (process {agent.pid}) runs in the terminal of {process}"
        return PersonVerdict(Case.COMMAND, words)
    why = _why_indirect(sight)
    return PersonVerdict(Case.TAKEN) if why is None else PersonVerdict(Case.COMMAND, why)


def shell_of(sight: Sight | None) -> SessionShell | None:
    """Return the leader of a process's session on its terminal; None where it has ended."""
    if sight is None or sight.terminal is None or not sight.leader_line:
        return None
    leader = sight.leader_line[0]
    return SessionShell(leader.pid, leader.start, leader.name)


def asker(sight: Sight) -> Asker:
    """Return the process as events have it."""
    first, *above = sight.line
    return Asker(
        first.pid, first.name, [Program(one.pid, one.name) for one in above], sight.terminal
    )


def short(device: str) -> str:
    """Return a terminal's name without its folder: `pts/7`."""
    return device.removeprefix("/dev/")


def shown_in(sight: Sight) -> SeenProcess | None:
    """Return the program that shows the terminal, as far as it started the shell."""
    above = sight.leader_line[1:2]
    return above[0] if above and not _adopts(above[0]) else None


def warning(sight: Sight, now: float) -> str | None:
    """Return what is odd about the shell of a process, in words; `now` in seconds since boot."""
    leader, *above = sight.leader_line
    driver = next((one for one in above if one.name.startswith(_DRIVERS)), None)
    if driver is not None:
        return f"below {driver.name} (process {driver.pid}), which can type into it"
    if leader.start > now - YOUNG:
        return f"opened less than {YOUNG:g} seconds ago"
    return None


def inside(sight: Sight, agents: Iterable[AgentProcess], *, is_let_in: bool = False) -> str | None:
    """Return why the process counts as an agent's, or None. What is not known here is asked about:
    this only gives the refusal its reason. A shell that was let in is none, nor what is above it,
    under any name that a host gives them."""
    line, leader_line = (_below_leader(sight), ()) if is_let_in else (sight.line, sight.leader_line)
    known = {(one.pid, one.start): one for one in agents}
    process = f"process {sight.line[0].pid}"
    for processes, how in (
        (line, f"{process} was started by"),
        (leader_line, f"the terminal of {process} was opened by"),
    ):
        for one in processes:
            agent = known.get((one.pid, one.start))
            if agent is not None:
                return f"{how} {agent.what} (process {agent.pid})"
    if sight.marked is not None:
        return f"{process} was started for an agent (process {sight.marked.pid} is marked as such)"
    return None


def _why_indirect(sight: Sight) -> str | None:
    """Return why a process is not what its shell has started in the foreground, or None."""
    asks, process = sight.line[0], f"process {sight.line[0].pid}"
    if sight.group != sight.foreground:
        return f"{process} runs in the background of its terminal"
    below = _below_leader(sight)
    for child, parent in zip(below, (*sight.line[1:], None), strict=False):
        # A parent that began after its child was given it: the first parent has ended.
        if parent is None or parent.start > child.start or _adopts(parent):
            return f"{process} was not started by the shell of its terminal, or outlived it"
    if not asks.is_tapui:
        return f"{process} ({asks.name}) is no command of tapui's"
    other = next((one for one in below if not one.is_tapui), None)
    if other is not None:
        return f"{process} was started by {other.name} (process {other.pid}), no shell"
    return None


def _below_leader(sight: Sight) -> tuple[SeenProcess, ...]:
    """Return the process and its ancestors up to the leader of its session, without that; all of
    them where the leader is none of them."""
    return tuple(takewhile(lambda process: process.pid != sight.session, sight.line))


def _adopts(parent: SeenProcess) -> bool:
    """Return whether a parent may have been given the process as an orphan.

    Also where it is the leader, as a container's first process may be: its own children cannot be
    told from orphans, which can put themselves into the foreground (`tcsetpgrp`).
    """
    return parent.is_first or parent.name in _MANAGERS
