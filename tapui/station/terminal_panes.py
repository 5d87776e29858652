"""The panes of terminals and multiplexers: opening one, and going to the one of a process.

tmux, zellij, kitty and wezterm, known by what they leave in the environment of what they start.
"""

import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Protocol

_SECONDS = 5.0
"""How long a program may take to answer."""
_MOST_PANES = 10_000
_VARIABLES = (
    *("TMUX", "ZELLIJ", "ZELLIJ_SESSION_NAME", "KITTY_LISTEN_ON", "KITTY_WINDOW_ID"),
    *("WEZTERM_PANE", "WEZTERM_UNIX_SOCKET"),
)
"""What is read of a process' environment."""


class PaneFault(Exception):  # noqa: N818 - in words, for the person
    """It could not be done; the text says why."""


class Panes(Protocol):
    """The panes around a process. All methods block."""

    name: str

    def open(self, argv: Sequence[str], folder: str) -> None:
        """Run a command in a new pane, in a folder. Raises `PaneFault`."""

    def go_to(self, pid: int) -> None:
        """Show the pane in which a process runs, and select it. Raises `PaneFault`."""


def panes_around(environ: Mapping[str, str]) -> Panes | None:
    """Return the panes of the program that a process with this environment runs in; None in a plain
    terminal, and in one that takes no commands. The innermost comes first."""
    for variable, kind in _KINDS.items():
        program = shutil.which(kind.name, path=environ.get("PATH"))
        if environ.get(variable) and program is not None:
            return kind(program, environ)
    return None


def go_to_process(pid: int, environ: Mapping[str, str]) -> None:
    """Show the pane of a process; `environ` is that of this one. Raises `PaneFault`, which says
    where it runs."""
    theirs = _environ_of(pid)
    if _socket(theirs) == _socket(environ):
        theirs["TMUX"] = environ.get("TMUX", "")  # this client is to show the pane
    panes = panes_around({**environ, **dict.fromkeys(_VARIABLES, ""), **theirs})
    own = panes_around(environ) if panes is None else None
    if isinstance(own, (TmuxPanes, ZellijPanes)):
        panes = own  # the others know a pane by the environment of its process alone
    if panes is None:
        raise PaneFault(f"it runs in {_where(pid)}")
    try:
        panes.go_to(pid)
    except PaneFault as fault:
        raise PaneFault(f"{fault}; it runs in {_where(pid)}") from None


class TmuxPanes:
    """Panes of tmux."""

    name = "tmux"

    def __init__(self, program: str, environ: Mapping[str, str]) -> None:
        self._program = program
        self._environ = environ

    def open(self, argv: Sequence[str], folder: str) -> None:
        """Run a command in a new pane beside this one; in a new window where there is no room."""
        # Not by `-c`: there tmux runs what stands in `#(…)`, and the folder is a stranger's text.
        command = ("--", "sh", "-c", 'cd -- "$0" && exec "$@"', folder, *argv)
        try:
            self._run("split-window", "-h", *command)
        except PaneFault as fault:
            if "no space" not in str(fault):
                raise
            self._run("new-window", *command)

    def go_to(self, pid: int) -> None:
        """Show the pane of a process: what runs in it, or was started by that."""
        said = self._run("list-panes", "-a", "-F", "#{pane_pid} #{pane_id}")
        lines = (line.partition(" ") for line in said.splitlines()[:_MOST_PANES])
        panes = {int(number): pane for number, _, pane in lines if number.isdigit()}
        pane = next((panes[one] for one in _ancestry(pid) if one in panes), None)
        if pane is None:
            raise PaneFault(f"no pane of this tmux has process {pid}")
        self._run("select-window", "-t", pane)
        self._run("select-pane", "-t", pane)
        if _socket(self._environ) == _socket(os.environ):
            self._run("switch-client", "-t", pane)  # else the client is in another terminal

    def _run(self, *words: str) -> str:
        return _run(self._program, *words, environ=self._environ)


class ZellijPanes:
    """Panes of zellij."""

    name = "zellij"

    def __init__(self, program: str, environ: Mapping[str, str]) -> None:
        self._program = program
        self._environ = environ

    def open(self, argv: Sequence[str], folder: str) -> None:
        words = ("action", "new-pane", "--cwd", folder, "--", *argv)
        _run(self._program, *words, environ=self._environ)

    def go_to(self, pid: int) -> None:
        raise PaneFault(f"zellij does not tell which pane process {pid} runs in")


class KittyPanes:
    """Windows of kitty, where it takes commands (`listen_on`)."""

    name = "kitty"

    def __init__(self, program: str, environ: Mapping[str, str]) -> None:
        self._program = program
        self._environ = environ

    def open(self, argv: Sequence[str], folder: str) -> None:
        self._ask("launch", "--cwd", folder, "--", *argv)

    def go_to(self, pid: int) -> None:
        del pid
        self._ask("focus-window", "--match", f"id:{_number(self._environ, 'KITTY_WINDOW_ID')}")

    def _ask(self, *words: str) -> None:
        to = self._environ["KITTY_LISTEN_ON"]
        _run(self._program, "@", "--to", to, *words, environ=self._environ)


class WeztermPanes:
    """Panes of wezterm."""

    name = "wezterm"

    def __init__(self, program: str, environ: Mapping[str, str]) -> None:
        self._program = program
        self._environ = environ

    def open(self, argv: Sequence[str], folder: str) -> None:
        words = ("cli", "split-pane", "--right", "--cwd", folder, "--", *argv)
        _run(self._program, *words, environ=self._environ)

    def go_to(self, pid: int) -> None:
        del pid
        pane = _number(self._environ, "WEZTERM_PANE")
        _run(self._program, "cli", "activate-pane", "--pane-id", pane, environ=self._environ)


_KINDS: Mapping[str, type[TmuxPanes | ZellijPanes | KittyPanes | WeztermPanes]] = {
    "TMUX": TmuxPanes,
    "ZELLIJ": ZellijPanes,
    "KITTY_LISTEN_ON": KittyPanes,
    "WEZTERM_PANE": WeztermPanes,
}


def _socket(environ: Mapping[str, str]) -> str:
    """Return the socket of the tmux around a process; "" for none."""
    return environ.get("TMUX", "").partition(",")[0]


def _number(environ: Mapping[str, str], variable: str) -> str:
    text = environ.get(variable, "")
    if not (text.isascii() and text.isdigit()):
        raise PaneFault(f"its environment has no {variable}")
    return text


def _run(*argv: str, environ: Mapping[str, str]) -> str:
    """Return what the program says. Raises `PaneFault`."""
    program = Path(argv[0]).name
    known = {name: environ[name] for name in _VARIABLES if environ.get(name)}
    own = {name: value for name, value in os.environ.items() if name not in _VARIABLES}
    if _socket(environ) != _socket(os.environ):
        own.pop("TMUX_PANE", None)
    try:
        done = subprocess.run(
            argv,
            env={**own, **known},
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


def _environ_of(pid: int) -> dict[str, str]:
    """Return what is known of the terminal of a process, from its environment."""
    import psutil  # only here: not before the first frame

    try:
        environ = psutil.Process(pid).environ()
    except (psutil.Error, OSError):
        return {}
    return {name: environ[name] for name in _VARIABLES if name in environ}


def _where(pid: int) -> str:
    """Return the terminal of a process and its number: `pts/3, pid 1234`."""
    import psutil

    try:
        terminal = psutil.Process(pid).terminal()
    except (psutil.Error, OSError):
        terminal = None
    return f"{terminal.removeprefix('/dev/') if terminal else 'no terminal'}, pid {pid}"


def _ancestry(pid: int) -> list[int]:
    """Return a process and its ancestors, it first; empty when it has ended."""
    import psutil

    try:
        process = psutil.Process(pid)
        return [pid, *(one.pid for one in process.parents())]
    except psutil.Error:
        return []
