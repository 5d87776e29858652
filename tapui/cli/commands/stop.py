"""`tapui stop`: end the running gateway, after a question where sessions end with it."""

import argparse
import asyncio
import time
from collections.abc import Awaitable, Callable, Sequence

from tapui.cli import output
from tapui.cli.arguments import CommandParser, add_port
from tapui.cli.context import gateway, home
from tapui.cli.failure import FAILED, Failure
from tapui.client.connection import GatewayConnection
from tapui.client.gateways import FoundGateway, GatewayLost, Refused, still_runs
from tapui.projection.state import is_open
from tapui.wire.limits import SHUTDOWN_MS
from tapui.wire.message import Error
from tapui.wire.subjects import Session
from tapui.wire.tower import GatewayStop

COMMANDS = """
20 stop: end the running gateway
"""

DEADLINE = SHUTDOWN_MS / 1000 + 5
"""Seconds: providers may take ten of them to clean up."""
_POLL = 0.05


def arguments(stop: CommandParser) -> None:
    stop.runs(run)
    add_port(stop, "the port of the gateway to end")
    stop.add_argument(
        "--yes", action="store_true", help="do not ask, also where sessions end with it"
    )


def run(args: argparse.Namespace) -> int:
    """Ask the gateway to end, and wait until it has."""
    chosen = gateway(args, is_leaving=True)
    lost: list[str] = []

    async def look(connection: GatewayConnection) -> None:
        lost.extend(_ending(connection.snapshot.state.sessions))

    asyncio.run(_connected(chosen, look))
    for line in lost:
        output.note(line)
    if (
        lost
        and not args.yes
        and not output.is_agreed("end the gateway, and these sessions with it?")
    ):
        output.note("nothing was stopped")
        return FAILED
    folders = home()
    deadline = time.monotonic() + DEADLINE
    asyncio.run(_connected(chosen, _stop))
    while still_runs(folders, chosen):
        if time.monotonic() > deadline:
            raise _unended(chosen)
        time.sleep(_POLL)
    output.say(f"stopped {chosen.url} (pid {chosen.pid})")
    return 0


async def _connected(
    chosen: FoundGateway, does: Callable[[GatewayConnection], Awaitable[None]]
) -> None:
    """Do something at the gateway, which may be gone before that is done."""
    try:
        async with (
            asyncio.timeout(DEADLINE),
            await GatewayConnection.open(chosen, name="tapui stop") as connection,
        ):
            await does(connection)
    except GatewayLost:
        return
    except TimeoutError:
        raise _unended(chosen) from None


async def _stop(connection: GatewayConnection) -> None:
    await connection.send(GatewayStop())
    async for came in connection:
        if isinstance(came, Error) and came.reply_to == "gateway.stop":
            raise Refused(came.code, came.message)


def _ending(sessions: Sequence[Session]) -> list[str]:
    """Return a line for each session that ends with the gateway; all others go on without it."""
    lines = []
    for session in sessions:
        if session.headless and is_open(session):
            name = session.label or session.id
            does = "its turn is stopped" if session.state == "busy" else "it rests"
            lines.append(f"ends with it: headless session {name} ({does}); its id: {session.id}")
    return lines


def _unended(chosen: FoundGateway) -> Failure:
    return Failure(f"the gateway has not ended after {DEADLINE:g} s; `kill {chosen.pid}` ends it")
