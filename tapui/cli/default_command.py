"""`tapui`: the tower on this terminal."""

import argparse
import sys
from dataclasses import replace

from tapui.station.shell_parent import below_the_shell


def run(args: argparse.Namespace) -> int:
    """Show the tower, with a gateway of its own or on the one that runs."""
    parent = below_the_shell() if sys.stdin.isatty() else None
    from tapui.runtime import tuning

    tuning.start()
    from tapui.cli.context import need_terminal, options
    from tapui.cli.person import refuse_agents

    chosen = options(args)
    need_terminal()
    refuse_agents(args)
    from tapui.station import tower

    wanted: list[bool] = []
    code = tower.run(replace(chosen, parent=parent, on_demo=lambda: wanted.append(True)))
    if code or not wanted:
        return code
    from tapui.cli.commands import demo

    return demo.run(args)
