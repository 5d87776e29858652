"""`tapui provider describe`: what a provider offers."""

import argparse

from tapui.authoring import describing
from tapui.cli import output
from tapui.cli.provider.author_file import loaded


def run(args: argparse.Namespace) -> int:
    """Print the tools of the file's provider."""
    provider = loaded(args.file).provider
    if args.json:
        output.say_json({"name": provider.name, "tools": provider.tools}, indent=2)
        return 0
    form = describing.as_markdown if args.markdown else describing.as_text
    for line in form(provider.name, provider.tools):
        output.say(line)
    return 0
