"""`tapui mcp-door`: the MCP server that an MCP client starts."""

import argparse
import sys

from tapui.cli import output
from tapui.cli.context import home, loaded, port_is_explicit
from tapui.cli.failure import Failure
from tapui.hosts.mcp import package
from tapui.invocation import command


def run(args: argparse.Namespace) -> int:
    """Serve the client on standard input and output until it closes them."""
    if (fault := package.fault()) is not None:
        raise Failure(f"{fault}: {package.install_line()}")
    from tapui.hosts.mcp import process

    if sys.stdin.isatty():
        output.note(
            "this is a server for MCP clients, which start it themselves "
            f"({command('install mcp --dry-run')} prints their lines); Ctrl-C ends it"
        )
    found = loaded(args)
    process.run(home(), found.settings.port, is_explicit=port_is_explicit(found))
    return 0
