"""A process at one moment."""

from collections.abc import Sequence
from dataclasses import dataclass

Key = tuple[int, float]
"""A process: its id, and when it began."""
Address = tuple[str, int]
"""An IP address and a port."""


@dataclass(frozen=True, slots=True)
class Status:
    """A process at one moment; `terminal` is a device number, 0 for none."""

    pid: int
    name: str
    parent: int
    group: int
    session: int
    terminal: int
    foreground: int
    start: float
    """Seconds since boot."""

    @property
    def key(self) -> Key:
        """What no other process has, before or after."""
        return self.pid, self.start


def is_tapui(argv: Sequence[str]) -> bool:
    """Return whether a command line is that of `tapui`, or of what launches it.

    `tapui provider` runs files of other people in its own process, and counts as another program.
    """
    words = list(argv)
    if words and _name(words[0]).lower().startswith(("python", "pypy")):
        words = words[1:]
        while words and words[0] in _PYTHON_OPTIONS:
            words = words[1:]
        if words[:1] == ["-m"]:
            words = words[1:]
    for launcher in _LAUNCHERS:
        if [_name(word) for word in words[:1]] + words[1 : len(launcher)] == launcher:
            words = words[len(launcher) :]
            break
    return [_name(word) for word in words[:1]] == ["tapui"] and "provider" not in words


def _name(word: str) -> str:
    return word.rpartition("/")[2]


_PYTHON_OPTIONS = frozenset(("-I", "-P", "-E", "-s", "-u", "-B", "-O", "-OO"))
_LAUNCHERS = (["uv", "run"], ["uvx"], ["uv", "tool", "run"], ["pipx", "run"])
