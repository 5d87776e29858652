"""`tapui status`: the gateway's state, once, in a few characters, or as it changes."""

import argparse

from tapui.cli import output
from tapui.cli.arguments import CommandParser, add_port
from tapui.cli.context import gateway, loaded
from tapui.client.glance import glance
from tapui.projection.counts import counts_of
from tapui.projection.state import State

COMMANDS = """
40 status: show what waits for you, sessions, providers, calls and streams
"""


def arguments(status: CommandParser) -> None:
    status.runs(
        run,
        "--line prints nothing for nothing to tell, and for no gateway (exit code 3).\n"
        "For tmux:  set -g status-right '#(tapui status --line)'",
    )
    add_port(status, "the gateway's port")
    form = status.add_mutually_exclusive_group()
    form.add_argument("--json", action="store_true", help="print the whole state as JSON")
    form.add_argument(
        "--line",
        action="store_true",
        help="print how many requests wait, calls failed and sessions are unchecked: !2 ✗1 ○1",
    )
    form.add_argument(
        "--watch",
        action="store_true",
        help="go on, and print a plain line for each change (for pipes and screen readers)",
    )


def run(args: argparse.Namespace) -> int:
    """Print the state. A status bar asks every few seconds: for `--line` no event loop and no table
    is imported."""
    chosen = gateway(args)
    if args.line:
        if line := in_short(State.of(glance(chosen, name="tapui status").state)):
            output.say(line)
        return 0
    from tapui.cli import overview

    if args.watch:
        overview.watch(chosen)
    else:
        overview.show(chosen, loaded(args).settings if args.json else None)
    return 0


def in_short(state: State) -> str:
    """Return what is to be looked at, `!2 ✗1 ○1 ▮1`; empty for nothing."""
    found = counts_of(state)
    signs = (
        (found.waiting, "!"),
        (found.failed, "✗"),
        (found.unchecked, "○"),
        (found.nearly_full, "▮"),
    )
    return " ".join(f"{sign}{count}" for count, sign in signs if count)
