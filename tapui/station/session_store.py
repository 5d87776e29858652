"""What the tower needs of stored sessions: Copilot's files, the panes around, our own command."""

import os
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

from tapui import invocation
from tapui.tower.app.services import SessionOnDisk, StoreFault

_DELETING_SECONDS = 120.0
"""How long deleting may take: the CLI's server is started for it, and may unpack itself first."""
_SECONDS = 5.0
"""How long tmux or zellij may take to answer."""
_MOST_PANES = 10_000


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

    def resume_line(self, session: SessionOnDisk) -> str:
        return f"cd {shlex.quote(_folder(session))} && {invocation.command(_resuming(session))}"

    def resume(self, session: SessionOnDisk) -> None:
        if self._panes is None:
            raise StoreFault("there is no tmux or zellij around this terminal")
        self._panes.open(shlex.split(invocation.command(_resuming(session))), _folder(session))

    def go_to(self, session_id: str) -> None:
        pid = next((one.pid for one in self.sessions() if one.id == session_id), None)
        if pid is None:
            raise StoreFault(f"no program on this machine has session {session_id} open")
        if self._panes is None:
            raise StoreFault(f"it is open in process {pid}; inside tmux tapui could go there")
        self._panes.go_to(pid)

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


class PaneFault(StoreFault):
    """The multiplexer could not do it; the text says why."""


class Panes(Protocol):
    """The panes of the terminal multiplexer around this process. All methods block."""

    name: str

    def open(self, argv: Sequence[str], folder: str) -> None:
        """Run a command in a new pane, in a folder. Raises `PaneFault`."""

    def go_to(self, pid: int) -> None:
        """Show the pane in which a process runs, and select it. Raises `PaneFault`."""


def panes_around(environ: Mapping[str, str]) -> Panes | None:
    """Return the panes of the multiplexer that this process runs in; None in a plain terminal."""
    for variable, kind in (("TMUX", TmuxPanes), ("ZELLIJ", ZellijPanes)):
        program = shutil.which(kind.name, path=environ.get("PATH"))
        if variable in environ and program is not None:
            return kind(program)
    return None


class TmuxPanes:
    """Panes of tmux."""

    name = "tmux"

    def __init__(self, program: str) -> None:
        self._program = program

    def open(self, argv: Sequence[str], folder: str) -> None:
        """Run a command in a new pane beside this one; in a new window where there is no room."""
        # Not by `-c`: there tmux runs what stands in `#(…)`, and the folder is a stranger's text.
        command = ("--", "sh", "-c", 'cd -- "$0" && exec "$@"', folder, *argv)
        try:
            _run(self._program, "split-window", "-h", *command)
        except PaneFault as fault:
            if "no space" not in str(fault):
                raise
            _run(self._program, "new-window", *command)

    def go_to(self, pid: int) -> None:
        """Show the pane of a process: what runs in it, or was started by that."""
        said = _run(self._program, "list-panes", "-a", "-F", "#{pane_pid} #{pane_id}")
        lines = (line.partition(" ") for line in said.splitlines()[:_MOST_PANES])
        panes = {int(number): pane for number, _, pane in lines if number.isdigit()}
        pane = next((panes[one] for one in _ancestry(pid) if one in panes), None)
        if pane is None:
            raise PaneFault(f"no pane of this tmux has process {pid}")
        _run(self._program, "switch-client", "-t", pane)
        _run(self._program, "select-pane", "-t", pane)


class ZellijPanes:
    """Panes of zellij."""

    name = "zellij"

    def __init__(self, program: str) -> None:
        self._program = program

    def open(self, argv: Sequence[str], folder: str) -> None:
        _run(self._program, "action", "new-pane", "--cwd", folder, "--", *argv)

    def go_to(self, pid: int) -> None:
        raise PaneFault(f"zellij does not tell which pane process {pid} runs in")


def _run(*argv: str) -> str:
    """Return what the multiplexer says. Raises `PaneFault`."""
    program = Path(argv[0]).name
    try:
        done = subprocess.run(
            argv,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            timeout=_SECONDS,
            check=False,
            encoding="utf-8",
            errors="replace",
        )
    except subprocess.TimeoutExpired:
        raise PaneFault(f"{program} did not answer within {_SECONDS:g} s") from None
    except (OSError, ValueError) as error:  # a NUL in the folder's name
        raise PaneFault(f"{program} could not be run: {error}") from None
    if done.returncode:
        said = (done.stderr or done.stdout).strip() or f"exit code {done.returncode}"
        raise PaneFault(f"{program}: {said}")
    return done.stdout


def _ancestry(pid: int) -> list[int]:
    """Return a process and its ancestors, it first; empty when it has ended."""
    import psutil  # only here: not before the first frame

    try:
        process = psutil.Process(pid)
        return [pid, *(one.pid for one in process.parents())]
    except psutil.Error:
        return []
