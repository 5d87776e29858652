"""What the tower needs of stored sessions: Copilot's files, the panes around, our own command."""

import json
import os
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tapui import invocation
from tapui.station.terminal_panes import PaneFault, go_to_process, panes_around
from tapui.tower.app.services import (
    AgentOnDisk,
    FolderHead,
    IgnoredFiles,
    PastChecks,
    SessionOnDisk,
    StoreFault,
    WorktreeState,
)

_DELETING_SECONDS = 120.0
"""How long deleting may take: the CLI's server is started for it, and may unpack itself first."""
_WORKTREE_SECONDS = 130.0


class CopilotSessions:
    """Copilot's stored sessions in `copilot_home` (`tower.app.services.SessionStore`)."""

    def __init__(self, copilot_home: Path, environ: Mapping[str, str]) -> None:
        self._copilot_home = copilot_home
        self._environ = environ
        self._panes = panes_around(environ)

    @property
    def panes(self) -> str:
        return "" if self._panes is None else self._panes.name

    def sessions(self) -> list[SessionOnDisk]:
        from tapui.hosts.copilot.finding.stored_sessions import stored_sessions

        try:
            found = stored_sessions(self._copilot_home)
        except OSError as error:
            raise StoreFault(f"they cannot be read: {error.strerror}") from None
        return [
            SessionOnDisk(
                one.id, one.title, one.cwd, one.branch, one.used_at.timestamp(), one.size, one.pid
            )
            for one in found
        ]

    def past_checks(self, since: float, goes_on: Callable[[], bool]) -> PastChecks:
        from tapui.hosts.copilot.finding.past_files import PastSessions

        past = PastSessions(self._copilot_home, since)
        try:
            for _turn in past.turns():
                if not goes_on():
                    break
        except OSError as error:
            raise StoreFault(f"they cannot be read: {error.strerror}") from None
        return PastChecks(past.counts.turns, past.counts.unchecked)

    def resume_line(self, session: SessionOnDisk) -> str:
        return f"cd {shlex.quote(_folder(session))} && {invocation.command(_resuming(session))}"

    def resume(self, session: SessionOnDisk) -> None:
        if self._panes is None:
            raise StoreFault("this terminal has no panes that tapui can open")
        try:
            self._panes.open(shlex.split(invocation.command(_resuming(session))), _folder(session))
        except PaneFault as fault:
            raise StoreFault(str(fault)) from None

    def go_to(self, session_id: str) -> None:
        pid = next((one.pid for one in self.sessions() if one.id == session_id), None)
        if pid is None:
            raise StoreFault(f"no program on this machine has session {session_id} open")
        self.go_to_process(pid)

    def go_to_process(self, pid: int) -> None:
        try:
            go_to_process(pid, self._environ)
        except PaneFault as fault:
            raise StoreFault(str(fault)) from None

    def head(self, folder: str) -> FolderHead:
        from tapui.runtime.folders.git_folders import find_git_folders

        try:
            path = os.fsencode(folder)
        except ValueError:
            return FolderHead()  # a name that no folder can have
        found = find_git_folders(path) if path.startswith(b"/") else None
        if found is None:
            return FolderHead()
        return FolderHead(os.fsdecode(os.path.realpath(found.shared)), found.branch())

    def agents(self, folder: str) -> list[AgentOnDisk]:
        from tapui.hosts.copilot.finding.custom_agents import custom_agents

        return [AgentOnDisk(*one) for one in custom_agents(self._copilot_home, folder)]

    def delete(self, session: SessionOnDisk) -> None:
        """Run `tapui sessions delete`: it starts a CLI, and waits for it."""
        argv = [sys.executable, "-P", "-m", "tapui", "sessions", "delete", session.id, "--yes"]
        try:
            done = subprocess.run(
                argv,
                env={**self._environ, "COPILOT_HOME": str(self._copilot_home)},
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.PIPE,
                timeout=_DELETING_SECONDS,
                check=False,
                cwd=os.sep,
            )
        except subprocess.TimeoutExpired:
            raise StoreFault(f"it was not deleted within {_DELETING_SECONDS:g} s") from None
        except OSError as error:
            raise StoreFault(f"it cannot be deleted: {error}") from None
        if done.returncode:
            said = done.stderr.decode(errors="replace").strip()
            raise StoreFault(said.removeprefix("tapui: ") or f"exit code {done.returncode}")

    # Work trees

    def add_worktree(self, folder: str, branch: str) -> str:
        place: str = self._worktree("add", folder, branch)["folder"]
        return place

    def worktree(self, folder: str) -> WorktreeState:
        try:
            found = self._worktree("check", folder)
        except WorktreeFault as fault:
            return WorktreeState(fault.folder, str(fault))
        ignored = found["ignored"]
        names = tuple(ignored.pop("names"))
        return WorktreeState(found["folder"], "", IgnoredFiles(**ignored, names=names))

    def remove_worktree(self, folder: str, seal: str = "") -> None:
        self._worktree("remove", folder, seal)

    def _worktree(self, *args: str) -> dict[str, Any]:
        """Run the program that makes them: a repository could have it hang, or take much memory."""
        argv = [sys.executable, "-P", "-m", "tapui.runtime.folders.worktrees", *args]
        try:
            done = subprocess.run(
                argv,
                env=dict(self._environ),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                timeout=_WORKTREE_SECONDS,
                check=False,
                cwd=os.sep,
            )
            answer = json.loads(done.stdout or b"null")
        except subprocess.TimeoutExpired:
            raise WorktreeFault(f"it was not done within {_WORKTREE_SECONDS:g} s") from None
        except (OSError, ValueError) as error:  # a NUL in the folder's name
            raise WorktreeFault(f"it cannot be done: {error}") from None
        if not isinstance(answer, dict):
            raise WorktreeFault(f"its program ended with exit code {done.returncode}")
        if "fault" in answer:
            raise WorktreeFault(answer["fault"], answer.get("folder", ""))
        return answer


class WorktreeFault(StoreFault):
    """A work tree cannot be made or removed. `folder` is one that tapui has made, "" otherwise."""

    def __init__(self, text: str, folder: str = "") -> None:
        super().__init__(text)
        self.folder = folder


def _folder(session: SessionOnDisk) -> str:
    return session.cwd or str(Path.home())


def _resuming(session: SessionOnDisk) -> str:
    return shlex.join(("copilot", "--resume", session.id))
