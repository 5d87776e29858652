"""`tapui provider dev`: a file that is taken over with each save."""

import argparse
import asyncio
import contextlib
import os
import signal
import sys

from tapui.authoring.dev.developing import Developing
from tapui.authoring.dev.showing import Printer
from tapui.cli import output
from tapui.cli.commands.provider.author_file import chosen
from tapui.cli.quiet import silence
from tapui.provider.finding import SESSION_VARIABLE, GatewayFinder


def run(args: argparse.Namespace) -> int:
    """Serve the file until Ctrl-C."""
    path = chosen(args.file)
    finder = GatewayFinder(os.environ, getattr(args, "port", None))
    developing = Developing(
        path,
        dial=finder.dial,
        token=finder.token,
        shows=Printer(path.name, _print, lambda: finder.port),
        prefix=args.prefix,
        session=args.session or os.environ.get(SESSION_VARIABLE),
    )
    output.note(f"serving {args.file}; each save is taken over. Ctrl-C ends it")
    asyncio.run(_until_interrupted(developing))
    return 0


async def _until_interrupted(developing: Developing) -> None:
    work = asyncio.ensure_future(developing.run())
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        asyncio.get_running_loop().add_signal_handler(number, work.cancel)
    with contextlib.suppress(asyncio.CancelledError):  # the way in which it ends
        await work


def _print(line: str) -> None:
    """Print a line that is safe for a screen already."""
    try:
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()
    except OSError:
        silence(sys.stdout)  # nobody reads it; the provider goes on
