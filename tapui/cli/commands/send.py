"""`tapui send`: say something to a session."""

import argparse

from tapui.cli.commands.steering import ORDER_ID, carry_out
from tapui.cli.failure import WRONG_USE, Failure
from tapui.wire.limits import MAX_TELL
from tapui.wire.steering import SessionTell, Way


def run(args: argparse.Namespace) -> int:
    """Send the text; print whether it is delivered, or waits for the turn's end. With `--now` it
    waits until the turn has taken it."""
    text = " ".join(args.text)
    if not text.strip():
        raise Failure("there is no text to send", WRONG_USE)
    if len(text) > MAX_TELL:
        raise Failure(f"a text has at most {MAX_TELL:,} characters", WRONG_USE)
    way: Way = "now" if args.now else "stopFirst" if args.stop_first else "after"
    return carry_out(args, SessionTell(ORDER_ID, "", text, way))
