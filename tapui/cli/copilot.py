"""`tapui copilot`: start Copilot CLI in a way that lets tapui attach to it."""

import argparse
import os
import shutil

from tapui.cli.failure import Failure


def run(args: argparse.Namespace) -> int:
    """Replace this process by Copilot CLI; raises `Failure` when there is none."""
    program = shutil.which("copilot")
    if program is None:
        raise Failure(
            "Copilot CLI was not found on PATH; install it with: npm install -g @github/copilot"
        )
    given: list[str] = args.args
    asked = [] if "--ui-server" in given else ["--ui-server"]
    os.execv(program, [program, *asked, *given])  # noqa: S606 - replaces us; no shell is meant
