"""The servers that a command is about: the person's, and those of a folder's files."""

import argparse
import os

from tapui.cli import output
from tapui.cli.context import home
from tapui.cli.failure import Failure
from tapui.hosts.mcp import package
from tapui.mcp_servers.config.entries import ServerEntry
from tapui.mcp_servers.config.reading import read_folder, read_own
from tapui.text import safe_text


def folder_of(args: argparse.Namespace) -> str:
    """Return the folder that is meant, without links: this one unless another is named."""
    return os.path.realpath(args.folder or ".")


def configured(args: argparse.Namespace) -> list[ServerEntry]:
    """Return the servers of the person's file and of the folder's; what is wrong is noted.

    Of a name that the person's file has too, that one counts.
    """
    own = read_own(home())
    files = read_folder(folder_of(args))
    for file in (own, *files):
        for problem in file.problems:
            output.note(str(problem))
    names = {one.name for one in own.entries}
    found = [one for file in files for one in file.entries if one.name not in names]
    return [one for one in (*own.entries, *found) if args.name in (None, one.name)]


def the_one(args: argparse.Namespace) -> ServerEntry:
    """Return the server that is meant. Raises `Failure`."""
    found = configured(args)
    if found:
        return found[0]
    name = safe_text(args.name)
    raise Failure(f"there is no server {name} in your mcp.json or in {folder_of(args)}")


def note_package() -> None:
    """Say how the package is installed that servers need, where it is not there."""
    if (fault := package.fault("MCP servers need")) is not None:
        output.note(f"{fault}: {package.install_line()}")
