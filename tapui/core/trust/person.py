"""Who is the person: the rule for a connection that answers, sends, starts or grants.

Programs of one user cannot be walled off from each other, but they can be told apart by what they
cannot choose: their ancestors, their terminal, and when these began. A process cannot enter the
session of an older process, so a terminal whose session began before the first agent is the
person's. A name never lets a process in; some names have it asked about.
"""

from collections.abc import Container
from dataclasses import dataclass
from enum import StrEnum

from tapui.core.effects import AgentProcess, Identified, SeenProcess, Sight
from tapui.wire.subjects import Asker, Program

ALWAYS = "always"
"""The value of `approvals.command-line` with which no process is looked at."""
_FIRST = 1
"""The process that orphans are given to."""
_MANAGERS = frozenset({"systemd", "launchd"})
"""Names of user managers, which adopt orphans as the first process does. A program that takes such
a name is only asked about more often."""

_CLIENTS = ("tmux", "screen", "zellij")
"""How the names of multiplexers' clients begin. Below its own client a multiplexer starts what it
was told to lock the screen with, and any process of the user can tell it."""


class Case(StrEnum):
    """The outcome of a message."""

    REFUSED = "refused"
    TAKEN = "taken"
    TERMINAL = "terminal"
    """The person is asked once for this terminal."""
    COMMAND = "command"
    """The person is asked for this one message."""


@dataclass(frozen=True, slots=True)
class TerminalKey:
    """A terminal while it is open: its device and the leader of its session."""

    device: str
    leader: int
    start: float


@dataclass(frozen=True, slots=True)
class PersonVerdict:
    """A case, and why it is this one."""

    case: Case
    why: str = ""


def judge(found: Identified, let_in: Container[TerminalKey]) -> PersonVerdict:
    """Return the first case that fits. `let_in` are the terminals that the person let in."""
    sight = found.sight
    if sight is None:
        return PersonVerdict(Case.REFUSED, "it cannot be found out which process asks")
    why = inside(sight, found.agents)
    if why is not None:
        return PersonVerdict(Case.REFUSED, why)
    process = f"process {sight.line[0].pid}"
    if sight.terminal is None:
        return PersonVerdict(Case.REFUSED, f"{process} has no terminal")
    if not _is_whole(sight):
        return PersonVerdict(
            Case.COMMAND, f"{process} was not started by the shell of its terminal, or outlived it"
        )
    agent = next((one for one in found.agents if one.session == sight.session), None)
    if agent is not None:
        # What it starts can look like a child of the shell: by CLONE_PARENT, or below a subreaper.
        return PersonVerdict(
            Case.COMMAND, f"{agent.what} (process {agent.pid}) runs in the terminal of {process}"
        )
    client = next((one for one in _within(sight) if one.name.startswith(_CLIENTS)), None)
    if client is not None:
        return PersonVerdict(
            Case.COMMAND, f"{process} was started by {client.name} (process {client.pid}), no shell"
        )
    if sight.group != sight.foreground:
        return PersonVerdict(Case.COMMAND, f"{process} runs in the background of its terminal")
    if terminal_key(sight) in let_in or _is_older(sight, found.earliest):
        return PersonVerdict(Case.TAKEN)
    return PersonVerdict(
        Case.TERMINAL, f"{short(sight.terminal)} was opened after {found.earliest_what} began"
    )


def terminal_key(sight: Sight) -> TerminalKey:
    """Return the key of the terminal of a process whose line is whole."""
    leader = sight.leader_line[0]
    return TerminalKey(sight.terminal or "", leader.pid, leader.start)


def asker(sight: Sight) -> Asker:
    """Return the process as events have it."""
    first, *above = sight.line
    return Asker(
        first.pid, first.name, [Program(one.pid, one.name) for one in above], sight.terminal
    )


def short(device: str) -> str:
    """Return a terminal's name without its folder: `pts/7`."""
    return device.removeprefix("/dev/")


def inside(sight: Sight, agents: tuple[AgentProcess, ...]) -> str | None:
    """Return why the process counts as an agent's, or None."""
    known = {(one.pid, one.start): one for one in agents}
    process = f"process {sight.line[0].pid}"
    for line, how in (
        (sight.line, f"{process} was started by"),
        (sight.leader_line, f"the terminal of {process} was opened by"),
        (sight.holder_line, f"the terminal of {process} was opened by"),
    ):
        for one in line:
            agent = known.get((one.pid, one.start))
            if agent is not None:
                return f"{how} {agent.what} (process {agent.pid})"
    for agent in agents:
        if agent.group == sight.group:
            return f"{process} was started together with {agent.what} (process {agent.pid})"
        if sight.terminal is not None and agent.group == sight.foreground:
            return f"{agent.what} (process {agent.pid}) has the terminal of {process}"
    if sight.marked is not None:
        return f"{process} was started for an agent (process {sight.marked.pid} is marked as such)"
    return None


def _is_whole(sight: Sight) -> bool:
    """Return whether the line leads from the process to its session's leader without a gap.

    A parent that began after its child is not the one that started it: the first parent has ended,
    and the process was given to another one.
    """
    for child, parent in zip(sight.line, (*sight.line[1:], None), strict=True):
        if child.pid == sight.session:
            return bool(sight.leader_line)
        if parent is None or parent.start > child.start or _adopts(parent):
            return False
    return False


def _within(sight: Sight) -> tuple[SeenProcess, ...]:
    """Return the part of a whole line that is in the session, its leader included."""
    return sight.line[: [one.pid for one in sight.line].index(sight.session) + 1]


def _adopts(parent: SeenProcess) -> bool:
    """Return whether a parent may have been given the process as an orphan.

    Also where it is the leader, as a container's first process may be: its own children cannot be
    told from orphans, which can put themselves into the foreground (`tcsetpgrp`).
    """
    return parent.pid == _FIRST or parent.name in _MANAGERS


def _is_older(sight: Sight, earliest: float | None) -> bool:
    """Return whether the terminal is older than every agent."""
    if earliest is None:
        return True
    if not sight.leader_line or sight.leader_line[0].start >= earliest:
        return False
    # The holder is above the leader that it has started. An old process elsewhere was handed the
    # other end, and so may an old leader without a terminal have been given this one.
    if not sight.holder_line or sight.holder_line[0] not in sight.leader_line[1:]:
        return False
    holder = sight.holder_line[0]
    return holder.uid == 0 or holder.start < earliest
