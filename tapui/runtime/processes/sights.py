"""What the rule about the person needs to know of a process, read anew each time."""

import sys

from tapui.core.effects import SeenProcess, Sight
from tapui.runtime.processes.status import Status
from tapui.text import safe_name

if sys.platform == "darwin":
    from tapui.runtime.processes import macos as system
else:
    from tapui.runtime.processes import linux as system

__all__ = ["look", "system"]

_MAX_LINE = 4_096
"""Processes of a line at most: above that it is a circle of ids that were used again."""
_LOOKS = 3
"""Times that a line is read at most while it changes."""


def look(pid: int) -> Sight | None:
    """Return a process with its ancestors and its terminal; None where that cannot be found.

    All of it is read twice: an id that is used again meanwhile does not pass for the process.
    """
    for _ in range(_LOOKS):
        seen = _line(pid)
        sight = _sight(seen) if seen else None
        if [one.key for one in _line(pid)] == [one.key for one in seen]:
            return sight
    return None


def _line(pid: int) -> list[Status]:
    line: list[Status] = []
    while pid > 0 and len(line) < _MAX_LINE:
        one = system.status(pid)
        if one is None:
            break
        line.append(one)
        pid = one.parent
    return line


def _sight(seen: list[Status]) -> Sight:
    first = seen[0]
    leaders = next((seen[at:] for at, one in enumerate(seen) if one.pid == first.session), None)
    if leaders is None:
        leaders = _line(first.session)
        if leaders and leaders[0].session != first.session:
            leaders = []  # the leader has ended, and its id was used again
    below = seen[: len(seen) - len(leaders)] if leaders and leaders[0] in seen else seen
    holders: list[Status] = []
    if first.terminal:
        holder = system.holder(leaders, first)
        holders = _line(holder) if holder is not None else []
    marked = next(
        (one for one in (*below, *leaders[:1], *holders[:1]) if system.is_marked(one.pid)),
        None,
    )
    return Sight(
        line=_processes(seen),
        group=first.group,
        session=first.session,
        leader_line=_processes(leaders),
        terminal=system.terminal_name(first.terminal) if first.terminal else None,
        foreground=first.foreground,
        holder_line=_processes(holders),
        marked=_process(marked) if marked is not None else None,
    )


def _processes(line: list[Status]) -> tuple[SeenProcess, ...]:
    return tuple(map(_process, line))


def _process(one: Status) -> SeenProcess:
    return SeenProcess(one.pid, safe_name(one.name), one.start, system.uid(one.pid))
