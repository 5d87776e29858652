"""`tapui provider run`: a file as a program, with tapui's own Python."""

import argparse

from tapui.authoring import loading
from tapui.cli.commands.provider.author_file import chosen, told


def run(args: argparse.Namespace) -> int:
    """Run the file until it ends."""
    path = chosen(args.file)
    with told():
        # A `--` in front of the arguments is not one of them.
        loading.run(path, args.args[args.args[:1] == ["--"] :])
    return 0
