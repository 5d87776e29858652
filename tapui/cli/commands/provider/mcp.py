"""`tapui provider mcp`: the tools of a file for an MCP client."""

import argparse
import sys

from tapui.cli import output
from tapui.cli.commands.provider.author_file import chosen, told
from tapui.cli.failure import Failure
from tapui.hosts.mcp import package


def run(args: argparse.Namespace) -> int:
    """Serve the client on standard input and output until it closes them."""
    if (fault := package.fault()) is not None:
        raise Failure(f"{fault}: {package.install_line()}")
    path = chosen(args.file)
    from tapui.authoring import mcp_server

    if sys.stdin.isatty():
        output.note("this is a server for MCP clients, which start it themselves; Ctrl-C ends it")
    with told():
        mcp_server.run(path)
    return 0
