"""The sessions that are stored on disk: what the tower needs for them. The station has them."""

from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class SessionOnDisk:
    """A session on disk. `used_at` is in seconds since the epoch, `size` in bytes.

    `pid` is the program that has it open, None when it can be resumed.
    """

    id: str
    title: str
    cwd: str
    branch: str
    used_at: float
    size: int
    pid: int | None


class StoreFault(Exception):  # noqa: N818 - in words, for the person
    """It could not be done; the text says why."""


class SessionStore(Protocol):
    """Stored sessions. All methods but `resume_line` take a while: they are called on a thread."""

    @property
    def panes(self) -> str:
        """What has panes here: `tmux`, `zellij`; "" in a plain terminal."""

    def sessions(self) -> list[SessionOnDisk]:
        """Return them, the one used last first. Raises `StoreFault`."""

    def resume_line(self, session: SessionOnDisk) -> str:
        """Return the line that resumes one in any terminal."""

    def resume(self, session: SessionOnDisk) -> None:
        """Resume one in a new pane. Raises `StoreFault`."""

    def go_to(self, session_id: str) -> None:
        """Go to the pane of the program that has a session open. Raises `StoreFault`."""

    def delete(self, session: SessionOnDisk) -> None:
        """Delete one for good. Raises `StoreFault`."""
