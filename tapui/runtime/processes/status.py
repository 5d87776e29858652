"""A process at one moment."""

from dataclasses import dataclass

INSIDE = "TAPUI_INSIDE"
"""The variable that tapui puts into the environment of what it starts for agents."""
MARKS = (
    INSIDE,
    "COPILOT_CLI",
    "COPILOT_AGENT_SESSION_ID",
    "COPILOT_EXTENSION_PARENT_PID",
    "COPILOT_HOOK_DIR",
)
"""Variables that stand only in the environment of what an agent has started: tapui's own, and those
that Copilot CLI 1.0.102 gives its commands, MCP and language servers, extensions and hooks, but not
the person's editor. Processes can take them away: that one is missing proves nothing."""


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
    def key(self) -> tuple[int, float]:
        """What no other process has, before or after."""
        return self.pid, self.start
