"""`tapui provider describe`: what a provider offers."""

import argparse

from tapui.authoring import describing
from tapui.cli import output
from tapui.cli.commands.provider.author_file import loaded


def run(args: argparse.Namespace) -> int:
    """Print the tools of the file's provider."""
    provider = loaded(args.file).provider
    if args.json:
        output.say_json({"name": provider.name, "tools": provider.tools}, indent=2)
        return 0
    if args.markdown:
        lines = describing.as_markdown(provider.name, provider.tools)
    else:
        lines = describing.as_text(provider.name, provider.tools, is_all=args.all)
    for line in lines:
        output.say(line)
    return 0
