"""`tapui mcp`: carries an action out."""

import argparse

from tapui.cli.mcp import adding, allowing, listing, testing


def run(args: argparse.Namespace) -> int:
    """Carry the action out."""
    actions = {
        "add": adding.add,
        "remove": adding.remove,
        "list": listing.run,
        "test": testing.run,
        "allow": allowing.run,
    }
    return actions[args.action](args)
