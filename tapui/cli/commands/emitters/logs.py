"""`tapui emitters logs`: the lines of an emitter, from the gateway or the records."""

import argparse
import asyncio
from collections.abc import Iterable

import msgspec

from tapui import times
from tapui.cli import output
from tapui.cli.commands.emitters.table import chosen, the_one
from tapui.cli.context import gateway
from tapui.cli.failure import Failure
from tapui.cli.journals import folders_of
from tapui.client.connection import GatewayConnection
from tapui.client.gateways import FoundGateway, NoGateway
from tapui.projection.stream_words import LEVEL_WORDS
from tapui.records import reader
from tapui.records.reader import Damage, Record
from tapui.wire.events import StreamPosted
from tapui.wire.limits import MAX_HISTORY
from tapui.wire.message import BUILTIN_PROVIDER, Line
from tapui.wire.tower import StreamLines, StreamRead

LAST = 20
"""Lines that are printed when `--last` does not say how many."""
_RECORDS = 5_000
"""Records of a session's streams that are looked through."""


class _Origin(msgspec.Struct):
    emitter: str = ""
    source: str = ""


def run(args: argparse.Namespace) -> int:
    """Print the newest lines, oldest first."""
    last = args.last or LAST
    try:
        found = gateway(args)
    except NoGateway:
        lines = None
    else:
        lines = asyncio.run(_of_gateway(found, args))
    if lines is None:
        lines = _of_records(args, last)
    if not lines:
        output.note(f"{args.name} has no lines")
    for line in lines[-last:]:
        _print(line, args)
    return 0


def _print(line: Line, args: argparse.Namespace) -> None:
    source = _origin_of(line).source
    if args.json:
        output.say_json({"ts": line.ts, "level": line.level, "source": source, "event": line.event})
    else:
        words = LEVEL_WORDS[line.level]
        output.say(f"{times.date_and_time(line.ts)}  {words:<17}  {source:<6}  {line.event}")


def _origin_of(line: Line) -> _Origin:
    if line.metadata is None:
        return _Origin()
    try:
        return msgspec.json.decode(line.metadata, type=_Origin)
    except msgspec.MsgspecError:
        return _Origin()


async def _of_gateway(found: FoundGateway, args: argparse.Namespace) -> list[Line] | None:
    """Return the lines that the gateway has; None for an emitter that is not there."""
    async with await GatewayConnection.open(found, name="tapui emitters logs") as connection:
        state = connection.snapshot.state
        there = chosen(state.emitters, state.sessions, args)
        if not there:
            return None
        emitter = the_one(state.emitters, there, args)
        wanted = StreamRead(
            id="lines", stream=emitter.stream, session_id=emitter.session_id, last=MAX_HISTORY
        )
        answer = await connection.answer(wanted, StreamLines)
        return [line for line in answer.lines if _origin_of(line).emitter == emitter.name]


def _of_records(args: argparse.Namespace, last: int) -> list[Line]:
    damage = Damage()
    found: list[Record] = []
    for session_id, folders in folders_of(args.session):
        for folder in folders:
            records = reader.tail(folder, "streams", _RECORDS, session_id=session_id, damage=damage)
            found += [one for one in records if _is_of(one, args.name)]
    if damage.lines:
        output.note(f"damaged lines passed over: {damage.lines}")
    if not found:
        raise Failure(f"there is no emitter {args.name}, and no record of one")
    return list(_lines(reader.in_order(found)))[-last:]


def _is_of(record: Record, name: str) -> bool:
    event = record.event
    return (
        isinstance(event, StreamPosted)
        and event.stream.endswith(f"@{BUILTIN_PROVIDER}")
        and _origin_of(event.line).emitter == name
    )


def _lines(records: Iterable[Record]) -> Iterable[Line]:
    for record in records:
        if isinstance(record.event, StreamPosted):
            yield record.event.line
