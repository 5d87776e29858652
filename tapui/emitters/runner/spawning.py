"""How an emitter's command is started."""

import os
import subprocess
from pathlib import Path

from tapui.emitters.runner.messages import (
    RunStart,
)
from tapui.emitters.runner.processes import MARK
from tapui.runtime.processes.reaping import die_with_parent
from tapui.runtime.processes.status import INSIDE

_LOGIN_SHELLS = frozenset({"bash", "fish", "ksh", "zsh"})
"""Shells that read the person's profile with `-l`."""


class SpawnError(Exception):
    """A command that cannot be started; the text says why."""


def spawn(start: RunStart, mark: str) -> "subprocess.Popen[bytes]":
    """Start a command in a session of its own, without input. Raises `SpawnError`."""
    check_folder(start.cwd)
    if start.args is not None:
        ways = [(start.command, *start.args)]
    else:
        shells = [start.shell] if start.shell else ["bash", "sh"]
        ways = [(shell, _option(shell), start.command) for shell in shells]
    for argv in ways:
        try:
            return subprocess.Popen(
                argv,
                env={**start.env, MARK: mark, INSIDE: "1"},
                cwd=start.cwd,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                bufsize=0,
                start_new_session=True,
                # The helper has one thread, so that code may run between fork and exec.
                preexec_fn=die_with_parent,  # noqa: PLW1509
            )
        except FileNotFoundError:
            continue  # with the next shell
        except PermissionError:
            raise SpawnError(f"the {_what(start)} {argv[0]} may not be run") from None
        except OSError as error:
            raise SpawnError(f"it cannot be started: {error.strerror or error}") from None
        except (ValueError, subprocess.SubprocessError) as error:
            raise SpawnError(f"it cannot be started: {error}") from None
    raise SpawnError(f"there is no {_what(start)} {' or '.join(argv[0] for argv in ways)}")


def _option(shell: str) -> str:
    return "-lc" if Path(shell).name in _LOGIN_SHELLS else "-c"


def _what(start: RunStart) -> str:
    return "shell" if start.args is None else "program"


def check_folder(folder: str) -> None:
    """Raises `SpawnError` for a folder in which nothing can be run."""
    try:
        is_folder = Path(folder).is_dir()
    except (OSError, ValueError):
        is_folder = False
    if not is_folder:
        is_there = os.path.lexists(folder) if "\0" not in folder else False
        what = "is not a folder" if is_there else "is not there"
        raise SpawnError(f"the folder {folder} {what}")
    if not os.access(folder, os.X_OK):
        raise SpawnError(f"the folder {folder} may not be entered")
