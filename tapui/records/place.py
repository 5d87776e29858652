"""Where the records of one session go: its workspace, or what stands in for it."""

import os
from collections.abc import Iterator
from pathlib import Path

from tapui.files.locked_folder import LockedFolder, folder_name
from tapui.records import register

_STAND_INS = 3


class Place:
    """The folders for the records of one session, or of the gateway (no id), best first.

    `position` is the one in use. `is_noted`: the register has it.
    """

    def __init__(self, session_id: str | None, candidates: list[LockedFolder]) -> None:
        self.session_id = session_id
        self.candidates = candidates
        self.position = 0
        self.is_noted = session_id is None
        self._awaited: Path | None = None

    @classmethod
    def of_session(cls, state_dir: Path, session_id: str, workspace: str | None) -> "Place":
        """Return the place of a session; `workspace` is its host's folder for it, if it has one."""
        name = folder_name(session_id)
        own = list(_own_folders(state_dir, register.SESSIONS_FOLDER, name))
        if workspace is None:
            return cls(session_id, own)
        base = Path(workspace)
        if base.is_absolute() and "\0" not in workspace:
            base = Path(os.path.realpath(workspace))
        return cls(session_id, [LockedFolder(base, "files", "tap"), *own])

    @classmethod
    def of_gateway(cls, state_dir: Path) -> "Place":
        return cls(None, list(_own_folders(state_dir, register.GATEWAY_FOLDER)))

    @property
    def path(self) -> Path:
        return self.candidates[self.position].path

    @property
    def name(self) -> str:
        return "the gateway" if self.session_id is None else f"session {self.session_id}"

    def move(self, position: int, refusal: OSError) -> None:
        """Use another candidate, because of `refusal`."""
        if isinstance(refusal, FileNotFoundError) and self.position == 0:
            self._awaited = self.candidates[0].path.parents[1]
        self.position = position
        self.is_noted = self.session_id is None

    def returns(self) -> bool:
        """Go back to the workspace if it was missing and is there by now; say whether it was."""
        if self._awaited is None or not self._awaited.is_dir():
            return False
        self._awaited = None
        self.position = 0
        self.is_noted = False
        return True


def _own_folders(state_dir: Path, *parts: str) -> Iterator[LockedFolder]:
    """Yield the folder below the state folder, and those for when another process holds it."""
    *above, name = parts
    yield LockedFolder(state_dir, *above, name, makes_base=True)
    for number in range(_STAND_INS):
        other = f"{name}{register.ELSEWHERE}{os.getpid()}" + (f"-{number + 1}" if number else "")
        yield LockedFolder(state_dir, *above, other, makes_base=True)
