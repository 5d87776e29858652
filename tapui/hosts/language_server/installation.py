"""Where the server's program is."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

PROGRAM = "copilot-language-server"
INSTALL = "npm install -g @github/copilot-language-server"


class NoProgramError(Exception):
    """There is no such program; the text says what to do."""


def found_program(named: str, environ: Mapping[str, str], folder: Path) -> str:
    """Return the path of the server's program: the one `named`, else that on the PATH.

    Nothing below `folder` is started, which others may have written. Raises `NoProgramError`.
    """
    if named:
        path = Path(named).expanduser()
        if not path.is_absolute():
            raise NoProgramError(f"the language server's program must be a whole path: {named}")
        if not (path.is_file() and os.access(path, os.X_OK)):
            raise NoProgramError(f"there is no program {path}")
        return str(path)
    inside = folder.resolve()
    for entry in environ.get("PATH", "").split(os.pathsep):
        if not entry.startswith("/") or Path(entry).resolve().is_relative_to(inside):
            continue
        if (program := shutil.which(PROGRAM, path=entry)) is not None:
            return program
    raise NoProgramError(f"there is no {PROGRAM} on the PATH: {INSTALL}")
