"""`tapui provider check`: what a model would not understand."""

import argparse
import asyncio

from tapui.authoring.linting import LintFinding, findings
from tapui.cli import output
from tapui.cli.commands.provider.author_file import loaded
from tapui.cli.context import loaded as loaded_settings
from tapui.cli.failure import FAILED
from tapui.text import few


def run(args: argparse.Namespace) -> int:
    """Print what there is to mend; 1 if there is any."""
    file = loaded(args.file)
    most = loaded_settings(args).settings.provider_tools
    found = asyncio.run(findings(file.provider.tools, most))
    if file.runs_at_import:
        problem = "it runs as soon as it is imported, also by its tests"
        fix = 'put run() below: if __name__ == "__main__":'
        found.insert(0, LintFinding(file.path.name, problem, fix))
    shown, rest = (found, []) if args.json or args.all else few(found)
    for one in shown:
        if args.json:
            output.say_json(one._asdict())
        else:
            output.say(f"{one.path}: {one.problem}")
            output.say(f"    {one.fix}")
    for more in rest:
        output.say(f"{more}: --all")
    if not args.json and not found:
        count = len(file.provider.tools)
        output.say(f"{file.provider.name}: {count} {'tool' if count == 1 else 'tools'}, all fine")
    return FAILED if found else 0
