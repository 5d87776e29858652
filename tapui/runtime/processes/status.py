"""A process at one moment."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import PurePath

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
    """Return whether a command line is that of `tapui`, or of what launches it."""
    words = [PurePath(word).name for word in argv]
    if words and words[0].lower().startswith(("python", "pypy")):
        words = words[1:]
        while words and words[0] in _PYTHON_OPTIONS:
            words = words[1:]
        if words[:1] == ["-m"]:
            words = words[1:]
    is_launcher = words[:1] in _LAUNCHERS and "tapui" in words
    return is_launcher or words[:1] == ["tapui"]


_PYTHON_OPTIONS = frozenset(("-I", "-P", "-E", "-s", "-u", "-B", "-O", "-OO"))
_LAUNCHERS = (["uv"], ["uvx"], ["pipx"])
