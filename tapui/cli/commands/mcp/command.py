"""`tapui mcp`: carries an action out."""

import argparse

from tapui.cli.commands.mcp import allow, own_file, table, trial


def run(args: argparse.Namespace) -> int:
    """Carry the action out."""
    actions = {
        "add": own_file.add,
        "remove": own_file.remove,
        "list": table.run,
        "test": trial.run,
        "allow": allow.run,
    }
    return actions[args.action](args)
