"""Stored sessions that a test scripts."""

import shlex
from collections.abc import Callable

from tapui.tower.app.services import (
    AgentOnDisk,
    FolderHead,
    IgnoredFiles,
    PastChecks,
    SessionOnDisk,
    StoreFault,
    WorktreeState,
)
from tests.tower.scripted import START


def stored(id_: str, title: str, *, ago: float = 0.0, pid: int | None = None) -> SessionOnDisk:
    return SessionOnDisk(id_, title, f"/work/{id_}", "main", START - ago, 56_031, pid)


STORED = (
    stored("s1", "Fix flaky pairing test", ago=4, pid=4711),
    stored("s2", "Release notes for 1.4", ago=7_200),
    stored("s3", "Why is the nightly build red?", ago=86_400 * 2, pid=4712),
)


class ScriptedStore:
    """Keeps what was asked of it in `asked`; `fault` is what each request but reading meets."""

    def __init__(self, *sessions: SessionOnDisk, panes: str = "tmux") -> None:
        self.found = list(sessions)
        self.panes = panes
        self.fault = ""
        self.heads: dict[str, FolderHead] = {}
        self.past = PastChecks(0, 0)
        self.agents_found: list[AgentOnDisk] = []
        self.agents_asked: list[str] = []
        self.past_asked: list[float] = []
        """Days of which the past was read."""
        self.asked: list[tuple[str, str]] = []
        self.worktrees: dict[str, str] = {}
        """Those that tapui has made, with why each cannot be removed."""
        self.ignored = IgnoredFiles()
        """What git ignores in each of them."""

    def sessions(self) -> list[SessionOnDisk]:
        if self.fault and not self.found:
            raise StoreFault(self.fault)
        return list(self.found)

    def past_checks(self, since: float, goes_on: Callable[[], bool]) -> PastChecks:
        assert goes_on()
        self.past_asked.append(round((START - since) / 86_400))
        return self.past

    def agents(self, folder: str) -> list[AgentOnDisk]:
        self.agents_asked.append(folder)
        return list(self.agents_found)

    def resume_line(self, session: SessionOnDisk) -> str:
        return f"cd {shlex.quote(session.cwd)} && tapui copilot --resume {shlex.quote(session.id)}"

    def resume(self, session: SessionOnDisk) -> None:
        self._ask("resume", session.id)

    def go_to(self, session_id: str) -> None:
        self._ask("go_to", session_id)

    def go_to_process(self, pid: int) -> None:
        self._ask("go_to_process", str(pid))

    def head(self, folder: str) -> FolderHead:
        return self.heads.get(folder, FolderHead())

    def delete(self, session: SessionOnDisk) -> None:
        self._ask("delete", session.id)
        self.found.remove(session)

    def add_worktree(self, folder: str, branch: str) -> str:
        self._ask("add_worktree", f"{folder} {branch}")
        place = f"{folder}.worktrees/{branch}"
        self.worktrees[place] = ""
        return place

    def worktree(self, folder: str) -> WorktreeState:
        known = self.worktrees.get(folder)
        return WorktreeState() if known is None else WorktreeState(folder, known, self.ignored)

    def remove_worktree(self, folder: str, seal: str = "") -> None:
        self._ask("remove_worktree", f"{folder} {seal}".rstrip())
        del self.worktrees[folder]

    def _ask(self, what: str, session_id: str) -> None:
        self.asked.append((what, session_id))
        if self.fault:
            raise StoreFault(self.fault)
