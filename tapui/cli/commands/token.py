"""`tapui token`: a provider token for one session."""

import argparse
import asyncio

from tapui.cli import output
from tapui.cli.arguments import CommandParser, add_port
from tapui.cli.context import gateway
from tapui.client.connection import GatewayConnection
from tapui.client.gateways import FoundGateway
from tapui.wire.tower import TokenMint, TokenMinted

COMMANDS = """
70 token: make a provider token that is good for one session
"""

REQUEST_ID = "token"


def arguments(token: CommandParser) -> None:
    token.runs(run, "For a process that others start, in its environment as TAP_PROVIDER_TOKEN.")
    token.add_argument("--session", metavar="ID", required=True, help="the session")
    token.add_argument("--json", action="store_true", help="print session and token as JSON")
    add_port(token, "the gateway's port")


def run(args: argparse.Namespace) -> int:
    """Print a fresh token; it binds this session alone, and dies with it."""
    token = asyncio.run(_mint(gateway(args), args.session))
    if args.json:
        output.say_json({"session": args.session, "token": token})
    else:
        output.say(token)
    return 0


async def _mint(chosen: FoundGateway, session: str) -> str:
    async with await GatewayConnection.open(
        chosen, name="tapui token", on_waits=output.note
    ) as connection:
        wanted = TokenMint(id=REQUEST_ID, session_id=session)
        return (await connection.answer(wanted, TokenMinted)).token
