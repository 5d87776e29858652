"""Questions on the command line that must be answered before something is gone for good."""

import sys

from tapui.cli.failure import WRONG_USE, Failure
from tapui.text import safe_text


def is_agreed(question: str) -> bool:
    """Ask the person, and return whether they say yes; raises `Failure` without a terminal."""
    if not sys.stdin.isatty():
        raise Failure(f"{question} Say so with --yes", WRONG_USE)
    sys.stderr.write(f"{safe_text(question)} [y/N] ")
    sys.stderr.flush()
    return sys.stdin.readline().strip().lower() in ("y", "yes")
