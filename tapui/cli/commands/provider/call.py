"""`tapui provider call`: a tool of a file, without a gateway."""

import argparse
import asyncio
import contextlib
import logging
import sys

import msgspec
from msgspec import Raw

from tapui.cli.commands.provider.author_file import loaded
from tapui.cli.tool_call import Given, check_arguments, find_tool, object_of, print_outcome
from tapui.provider.alone import outcome_of


def run(args: argparse.Namespace) -> int:
    """Call the tool; its result goes to stdout as JSON, what else is said to stderr."""
    given = Given(object_of(args.args), tuple(args.values))
    provider = loaded(args.file).provider
    logging.basicConfig(stream=sys.stderr, level=logging.INFO, format="%(message)s")
    tool = find_tool(args.tool, provider.tools)
    arguments = given.read(tool.parameters)

    async def call() -> int:
        await check_arguments(tool.name, arguments, tool.parameters)
        with contextlib.redirect_stdout(sys.stderr):
            outcome = await outcome_of(provider, tool.name, _decoded(arguments))
        return print_outcome(outcome)

    return asyncio.run(call())


def _decoded(arguments: Raw) -> dict[str, object]:
    return msgspec.json.decode(arguments, type=dict[str, object])
