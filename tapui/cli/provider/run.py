"""`tapui provider run`: a file as a program, with tapui's own Python."""

import argparse

from tapui.authoring import loading
from tapui.cli.provider.author_file import chosen, told


def run(args: argparse.Namespace) -> int:
    """Run the file until it ends."""
    path = chosen(args.file)
    with told():
        loading.run(path, args.args)
    return 0
