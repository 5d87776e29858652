"""Whether the package that the door needs is there: it is an extra, `tapui[mcp]`."""

import re
from importlib import metadata

from tapui import invocation

NAME = "mcp"
_MAJOR = 2


def install_line() -> str:
    """Return the command that installs the package where this tapui is."""
    return invocation.install_line("tapui[mcp]")


def fault(user: str = "the MCP door needs") -> str | None:
    """Return what is wrong with the package for its `user`, or None."""
    try:
        version = metadata.version(NAME)
    except metadata.PackageNotFoundError:
        return f"the package {NAME} is not installed, which {user}"
    found = re.match(r"\d{1,9}", version)
    if found is None or int(found[0]) != _MAJOR:
        return f"the package {NAME} is {version}, and {user} {_MAJOR}"
    return None


def installed() -> str | None:
    try:
        return metadata.version(NAME)
    except metadata.PackageNotFoundError:
        return None
