"""`tapui stop-turn`: stop what a session does."""

import argparse

from tapui.cli.commands.steering import ORDER_ID, carry_out
from tapui.wire.steering import SessionStop


def run(args: argparse.Namespace) -> int:
    """Stop the turn; return when the session rests."""
    return carry_out(args, SessionStop(ORDER_ID, ""))
