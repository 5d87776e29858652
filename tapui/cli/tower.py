"""`tapui`: the tower on this terminal."""

import argparse
import os
import sys

from tapui.cli.failure import WRONG_USE, Failure
from tapui.cli.starting import options
from tapui.invocation import command


def need_terminal() -> None:
    """Raise `Failure` unless the person can see the screen and type."""
    instead = f"`{command('status --watch')}` tells what happens line by line"
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise Failure(f"the tower needs a terminal; {instead}", WRONG_USE)
    if os.environ.get("TERM", "dumb") in ("", "dumb"):
        raise Failure(f"this terminal (TERM=dumb) cannot show the tower; {instead}", WRONG_USE)


def run(args: argparse.Namespace) -> int:
    """Show the tower, with a gateway of its own or on the one that runs."""
    from tapui.runtime import tuning

    tuning.start()
    chosen = options(args)
    need_terminal()
    from tapui.station import tower

    return tower.run(chosen)
