"""`tapui mcp-door`: the MCP server that an MCP client starts."""

import argparse

from tapui.cli.failure import Failure
from tapui.cli.starting import home, loaded, port_is_explicit
from tapui.hosts.mcp import package


def run(args: argparse.Namespace) -> int:
    """Serve the client on standard input and output until it closes them."""
    if (fault := package.fault()) is not None:
        raise Failure(f"{fault}: {package.INSTALL}")
    from tapui.hosts.mcp import process

    found = loaded(args)
    process.run(home(), found.settings.port, is_explicit=port_is_explicit(found))
    return 0
