"""`tapui status`: the gateway's state, once, in a few characters, or as it changes."""

import argparse

from tapui.cli.context import gateway


def run(args: argparse.Namespace) -> int:
    """Print what is asked for. A status bar asks every few seconds: nothing else is imported."""
    chosen = gateway(args)
    if args.line:
        from tapui.cli import status_line

        status_line.run(chosen)
    elif args.watch:
        import asyncio

        from tapui.cli import watching

        asyncio.run(watching.watch(chosen))
    else:
        from tapui.cli import overview

        overview.run(chosen, as_json=args.json)
    return 0
