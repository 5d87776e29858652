"""What the tower needs of stored sessions: Copilot's files, the panes around, our own command."""

import os
import shlex
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tapui import invocation
from tapui.station.panes import PaneFault, panes_around
from tapui.tower.app.services import SessionOnDisk, StoreFault

_DELETING_SECONDS = 120.0
"""How long deleting may take: the CLI's server is started for it, and may unpack itself first."""


class CopilotSessions:
    """The sessions that Copilot has stored in `copilot_home` (`tower.stored.SessionStore`)."""

    def __init__(self, copilot_home: Path, environ: Mapping[str, str]) -> None:
        self._copilot_home = copilot_home
        self._environ = environ
        self._panes = panes_around(environ)

    @property
    def panes(self) -> str:
        return "" if self._panes is None else self._panes.name

    def sessions(self) -> list[SessionOnDisk]:
        from tapui.hosts.copilot.finding.stored import stored_sessions

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

    def resume_line(self, session: SessionOnDisk) -> str:
        return f"cd {shlex.quote(_folder(session))} && {invocation.command(_resuming(session))}"

    def resume(self, session: SessionOnDisk) -> None:
        if self._panes is None:
            raise StoreFault("there is no tmux or zellij around this terminal")
        argv = shlex.split(invocation.command(_resuming(session)))
        try:
            self._panes.open(argv, _folder(session))
        except PaneFault as fault:
            raise StoreFault(str(fault)) from None

    def go_to(self, session_id: str) -> None:
        pid = next((one.pid for one in self.sessions() if one.id == session_id), None)
        if pid is None:
            raise StoreFault(f"no program on this machine has session {session_id} open")
        if self._panes is None:
            raise StoreFault(f"it is open in process {pid}; inside tmux tapui could go there")
        try:
            self._panes.go_to(pid)
        except PaneFault as fault:
            raise StoreFault(str(fault)) from None

    def delete(self, session: SessionOnDisk) -> None:
        """Run `tapui sessions delete`: the SDK that it needs is never loaded in this process."""
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


def _folder(session: SessionOnDisk) -> str:
    return session.cwd or str(Path.home())


def _resuming(session: SessionOnDisk) -> str:
    return shlex.join(("copilot", "--resume", session.id))
