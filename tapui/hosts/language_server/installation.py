"""Whether what this host needs is there: its packages, an extra (`tapui[language-server]`), and the
server's program."""

import os
import re
import shutil
from collections.abc import Mapping
from importlib import metadata
from pathlib import Path

from tapui import invocation

NEEDED = {"pygls": 2, "lsprotocol": 2025}
"""The packages, and their oldest major versions that will do."""
PROGRAM = "copilot-language-server"
INSTALL = "npm install -g @github/copilot-language-server"


class NoProgramError(Exception):
    """There is no such program; the text says what to do."""


def install_line() -> str:
    """Return the command that installs the packages where this tapui is."""
    return invocation.install_line("tapui[language-server]")


def fault() -> str | None:
    """Return what is wrong with the packages, or None."""
    for name, oldest in NEEDED.items():
        version = installed(name)
        if version is None:
            return f"the package {name} is not installed, which the language server's host needs"
        found = re.match(r"\d{1,9}", version)
        if found is None or int(found[0]) < oldest:
            return f"the package {name} is {version}; the language server's host needs {oldest}"
    return None


def installed(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


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
