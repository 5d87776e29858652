"""`tapui status`: the gateway's state, once, in a few characters, or as it changes."""

import argparse

from tapui.cli import output
from tapui.cli.arguments import CommandParser, add_port
from tapui.cli.context import gateway
from tapui.client.glance import glance
from tapui.projection.state import State, is_open, is_waiting

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
        help="print how many requests wait and calls failed, such as !2 ✗1; nothing for none",
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
        overview.show(chosen, as_json=args.json)
    return 0


def in_short(state: State) -> str:
    """Return how many requests wait, and how many steps failed in the newest turns of the open
    sessions, `!2 ✗1`; empty for nothing."""
    waiting = sum(is_waiting(one) for one in state.approvals.values())
    sessions = (one for one in state.sessions.values() if is_open(one))
    known = (state.turns[one.id] for one in sessions if one.id in state.turns)
    failed = sum(one.latest.failed for one in known if one.latest is not None)
    counts = ((waiting, "!"), (failed, "✗"))
    return " ".join(f"{sign}{count}" for count, sign in counts if count)
