"""`tapui completion`: what a shell reads to complete commands and options."""

import argparse
import sys

from tapui.cli import parser


def run(args: argparse.Namespace) -> int:
    """Print the script for a shell. It is complete: no key press starts tapui."""
    import shtab

    sys.stdout.write(shtab.complete(parser.build(), shell=args.shell).rstrip("\n") + "\n")
    return 0
