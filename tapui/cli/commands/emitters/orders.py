"""`tapui emitters start`, `stop`, `pause`, `resume`, `run` and `keep`: orders to the gateway."""

import argparse
import asyncio
import contextlib

from tapui.cli import output
from tapui.cli.commands.emitters.table import as_json, chosen, the_one
from tapui.cli.context import gateway
from tapui.cli.failure import FAILED, Failure
from tapui.client.connection import GatewayConnection
from tapui.client.gateways import FoundGateway
from tapui.invocation import command
from tapui.wire.emitters import (
    Emitter,
    EmitterKeep,
    EmitterKept,
    EmitterPause,
    EmitterResume,
    EmitterRun,
    EmitterStart,
    EmitterStop,
)
from tapui.wire.events import EmitterChanged, EmitterGone, Entry
from tapui.wire.message import Message

_SECONDS = 15.0
"""How long to wait for the outcome of an order."""
_ENDED = ("configured", "stopped", "exited", "completed", "error")
_ORDERS = {
    "start": EmitterStart,
    "stop": EmitterStop,
    "pause": EmitterPause,
    "resume": EmitterResume,
    "run": EmitterRun,
}
_PASSING = ("queued", "stopping")


def run(args: argparse.Namespace) -> int:
    return asyncio.run(_order(gateway(args), args))


def keep(args: argparse.Namespace) -> int:
    return asyncio.run(_keep(gateway(args), args))


async def _order(found: FoundGateway, args: argparse.Namespace) -> int:
    by = f"tapui emitters {args.action}"
    async with await GatewayConnection.open(found, name=by, on_waits=output.note) as connection:
        state = connection.snapshot.state
        emitter = the_one(state.emitters, chosen(state.emitters, state.sessions, args), args)
        if args.action == "stop" and emitter.state in _ENDED:
            return _said(emitter, args)
        return _said(await _followed(connection, emitter, args.action), args)


async def _followed(connection: GatewayConnection, emitter: Emitter, action: str) -> Emitter:
    """Give an order; return the emitter once nothing more is to be waited for."""
    last = [emitter]

    def is_settled(came: Message | Entry) -> bool:
        if not isinstance(came, Entry):
            return False
        event = came.event
        if isinstance(event, EmitterGone) and event.emitter_id == emitter.id:
            raise Failure(f"{emitter.name} is there no more: {event.reason}")
        if not isinstance(event, EmitterChanged) or event.emitter.id != emitter.id:
            return False
        last[0] = event.emitter
        state = event.emitter.state
        return state in _ENDED if action == "stop" else state not in _PASSING

    with contextlib.suppress(TimeoutError):  # it goes on: its state now is printed
        async with asyncio.timeout(_SECONDS) as limit:

            def waits(text: str) -> None:
                output.note(text)
                limit.reschedule(None)  # the gateway answers once the person has

            connection.on_waits = waits
            await connection.ask(_ORDERS[action](emitter.id), is_settled)
    return last[0]


def _said(emitter: Emitter, args: argparse.Namespace) -> int:
    if args.json:
        output.say_json(as_json(emitter))
    else:
        why = emitter.error or emitter.why
        output.say(f"{emitter.name}: {emitter.state}" + (f" ({why})" if why else ""))
    if emitter.state == "asking":
        output.note(f"it waits for you: {command(f'emitters allow {emitter.name}')}")
    is_bad = emitter.state == "error" or (args.action != "stop" and emitter.state == "configured")
    return FAILED if is_bad else 0


async def _keep(found: FoundGateway, args: argparse.Namespace) -> int:
    async with await GatewayConnection.open(
        found, name="tapui emitters keep", on_waits=output.note
    ) as connection:
        state = connection.snapshot.state
        emitter = the_one(state.emitters, chosen(state.emitters, state.sessions, args), args)
        kept = await connection.answer(EmitterKeep(id="keep", emitter_id=emitter.id), EmitterKept)
    if kept.error is not None:
        raise Failure(f"{emitter.name} was not kept: {kept.error}")
    if args.json:
        output.say_json({"name": emitter.name, "path": kept.path, "note": kept.note})
    else:
        output.say(f"{emitter.name} is in {kept.path}")
        if kept.note:
            output.note(kept.note)
    return 0
