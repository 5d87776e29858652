"""How the person can run tapui from where they are: what every hint prints."""

import os
import shlex
import shutil
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path

_PR_SET_DUMPABLE = 4
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


def command(words: str = "") -> str:
    """Return a command line that can be typed as printed, such as `tapui status --watch`.

    `words` are put behind the program as they are.
    """
    return f"{_program()} {words}".rstrip()


def install_line(requirement: str, *options: str) -> str:
    """Return the command that installs a package for this very Python. One that `uv` made has no
    pip."""
    python = shlex.quote(sys.executable)
    words = " ".join((*options, shlex.quote(requirement)))
    if find_spec("pip") is None:
        return f"uv pip install --python {python} {words}"
    return f"{python} -m pip install {words}"


@cache
def _program() -> str:
    return program(sys.argv[0], Path.cwd() if _has_folder() else None)


def _has_folder() -> bool:
    try:
        Path.cwd()
    except OSError:  # the working folder was removed
        return False
    return True


def program(argv0: str, folder: Path | None) -> str:
    """Return what to type for the program that was started as `argv0`, in `folder`.

    It is the bare name where that finds this very program, else the shorter of its absolute path
    and its path in `folder`. Something that only uses this package is not tapui: the name it is.
    """
    path = Path(argv0)
    if path.parts[-2:] == ("tapui", "__main__.py"):
        return f"{shlex.quote(_shorter(Path(sys.executable), folder))} -P -m tapui"
    if path.name != "tapui":
        return "tapui"
    found = shutil.which("tapui")
    if os.sep not in argv0 or (found and path.exists() and path.samefile(found)):
        return "tapui"
    return shlex.quote(_shorter(path, folder))


def _shorter(path: Path, folder: Path | None) -> str:
    """Return a path as one types it in `folder`. Links are not followed: one may be a venv's."""
    if folder is None or not path.is_absolute():
        return str(path)
    if folder != Path(folder.anchor) and path.is_relative_to(folder):
        inside = path.relative_to(folder)
        return str(inside) if len(inside.parts) > 1 else f"./{inside}"
    return str(path)


def hide() -> None:
    """Have no other process of this user trace this one, read its memory and environment or take
    its sockets, where the system can forbid it; it leaves no core dump then."""
    if sys.platform == "linux":
        import ctypes

        ctypes.CDLL(None).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def is_inside() -> bool:
    """Return whether the environment of this process says that an agent started it. Others cannot
    read it: tapui's own processes do not show theirs."""
    return not os.environ.keys().isdisjoint(MARKS)
