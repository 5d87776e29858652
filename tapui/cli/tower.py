"""`tapui`: the tower on this terminal."""

import argparse
from dataclasses import replace

from tapui.cli.starting import need_terminal, options


def run(args: argparse.Namespace) -> int:
    """Show the tower, with a gateway of its own or on the one that runs."""
    from tapui.runtime import tuning

    tuning.start()
    chosen = options(args)
    need_terminal()
    from tapui.station import tower

    wanted: list[bool] = []
    code = tower.run(replace(chosen, on_demo=lambda: wanted.append(True)))
    if code or not wanted:
        return code
    from tapui.cli.demo import command

    return command.run(args)
