"""What the command line hands down: one frozen value, made once."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from tapui.home.paths import MANAGED
from tapui.settings.settings import Settings
from tapui.station.shell_parent import ShellParent


@dataclass(frozen=True, slots=True)
class Options:
    """Everything that `tapui` and `tapui serve` need to start.

    `settings` already has flags and environment in it; the fields below say what settings
    cannot: which of several equal values was asked for, and where things are.
    """

    settings: Settings
    home: Path | None
    """`TAPUI_HOME`, or None for the platform's folders."""
    copilot_home: Path
    """`COPILOT_HOME`, or `~/.copilot`."""
    config_path: Path
    """The configuration file; it need not exist."""
    attach: bool
    """Whether to look for running Copilot sessions."""
    attach_port: int | None
    """Attach to the Copilot CLI on this port and to no other."""
    port: int
    """The gateway's port; 0 takes a free one."""
    port_is_explicit: bool
    """Whether the port was asked for by flag or environment, rather than by file or default."""
    theme: str
    """The name of the tower's theme."""
    faults: tuple[str, ...] = ()
    """Settings in whose place a stricter value holds, one line each, for the person to read."""
    json: bool = False
    """`serve`: print one JSON line when ready."""
    is_demo: bool = False
    """Whether the demonstration runs: its screen does not offer it once more."""
    on_demo: Callable[[], None] | None = None
    """Told when the person leaves an empty tower to see the demonstration; None: not offered."""
    parent: ShellParent | None = None
    """What the shell waits for in place of this process; None: it waits for this one."""
    managed_path: Path = MANAGED
    """The administrator's file; it need not exist."""
    is_private: bool = False
    """Whether only this process uses it: its address is not announced."""
    exit_when_idle: bool = False
    """`serve`: end some time after the last session ended."""
