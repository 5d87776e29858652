"""`tapui tail`: the last lines of a stream, and those that follow."""

import argparse
import asyncio
from dataclasses import dataclass

from tapui import times
from tapui.cli import output
from tapui.cli.arguments import CommandParser, add_port
from tapui.cli.context import gateway
from tapui.cli.failure import WRONG_USE, Failure
from tapui.client.connection import GatewayConnection
from tapui.client.gateways import FoundGateway
from tapui.client.glance import glance
from tapui.projection.state import State, StreamKey
from tapui.projection.stream_words import LEVEL_WORDS
from tapui.wire.events import Entry, SessionClosed, SessionReplaced, StreamPosted
from tapui.wire.limits import MAX_HISTORY
from tapui.wire.message import Line
from tapui.wire.tower import GatewayStopping, StreamLines, StreamRead, TowerSnapshot

COMMANDS = """
60 tail: print the last lines of an event stream
"""
_NONE = "no stream has a line yet"


def arguments(tail: CommandParser) -> None:
    tail.runs(run, "Without a stream it lists those that there are.")
    tail.add_argument(
        "stream",
        metavar="STREAM",
        nargs="?",
        help="stream@provider, or the stream's name alone",
    )
    tail.add_argument("--session", metavar="ID", help="the session, if several have the stream")
    tail.add_argument("--follow", action="store_true", help="go on with every line that is posted")
    tail.add_argument("--json", action="store_true", help="print a JSON object a line")
    add_port(tail, "the gateway's port")


def run(args: argparse.Namespace) -> int:
    """Print the stream's last lines, oldest first; with `--follow` until the session ends."""
    if args.stream is None:
        return _list(args)
    asyncio.run(_tail(gateway(args), args))
    return 0


def _list(args: argparse.Namespace) -> int:
    if args.follow or args.json:
        raise Failure("--follow and --json are of a stream: name one", WRONG_USE)
    state = glance(gateway(args), name="tapui tail").state
    labels = {session.id: session.label for session in state.sessions}
    rows = [
        [stream.name, labels.get(stream.session_id, stream.session_id), f"{stream.count:,}"]
        for stream in sorted(state.streams, key=lambda stream: (stream.name, stream.session_id))
        if args.session in (None, stream.session_id)
    ]
    if rows:
        output.table(("STREAM", "SESSION", "LINES"), rows, margin="", numbers=(2,), is_cut=True)
    else:
        is_none = args.session is None or not state.streams
        output.note(_NONE if is_none else f"no stream of session {args.session} has a line")
    return 0


@dataclass(slots=True)
class _Reader:
    """Prints lines of one stream, each once, in order."""

    session_id: str
    stream: str
    is_json: bool
    seen: int = 0

    def print(self, line: Line) -> None:
        if line.seq <= self.seen:
            return
        self.seen = line.seq
        if self.is_json:
            output.say_json(
                {
                    "stream": self.stream,
                    "sessionId": self.session_id,
                    "seq": line.seq,
                    "ts": line.ts,
                    "level": line.level,
                    "event": line.event,
                    "metadata": line.metadata,
                }
            )
        else:
            words = LEVEL_WORDS[line.level]
            output.say(f"{times.date_and_time(line.ts)}  {words:<17}  {line.event}")


async def _tail(chosen: FoundGateway, args: argparse.Namespace) -> None:
    async with await GatewayConnection.open(chosen, name="tapui tail") as connection:
        state = State.of(connection.snapshot.state)
        key = _find(state, args.stream, args.session)
        if key is None and not args.follow:
            raise Failure(_unknown(state, args.stream))
        if key is None:
            output.note(f"waiting for stream {args.stream}")
            first = await _first_line(connection, args.stream, args.session)
            key = (first.session_id, first.stream)
        reader = _Reader(*key, is_json=args.json)
        await _read_held(connection, reader)
        if args.follow:
            await _follow(connection, reader)


def _fits(key: StreamKey, name: str, session: str | None) -> bool:
    session_id, stream = key
    named = stream == name or ("@" not in name and stream.rpartition("@")[0] == name)
    return named and session in (None, session_id)


def _find(state: State, name: str, session: str | None) -> StreamKey | None:
    found = [key for key in state.streams if _fits(key, name, session)]
    if len(found) > 1:
        listed = ", ".join(f"{stream} in session {session_id}" for session_id, stream in found)
        raise Failure(f"{name} could be several streams; name one and its --session: {listed}")
    return found[0] if found else None


def _unknown(state: State, name: str) -> str:
    known = sorted({stream for _, stream in state.streams})
    return f"there is no stream {name}; " + (f"there are: {', '.join(known)}" if known else _NONE)


async def _first_line(
    connection: GatewayConnection, name: str, session: str | None
) -> StreamPosted:
    async for came in connection:
        match came:
            case Entry(event=StreamPosted() as posted) if _fits(
                (posted.session_id, posted.stream), name, session
            ):
                return posted
            case _:
                pass
    raise AssertionError("a connection ends by raising GatewayLost")


async def _read_held(connection: GatewayConnection, reader: _Reader) -> None:
    wanted = StreamRead(
        id="lines", stream=reader.stream, session_id=reader.session_id, last=MAX_HISTORY
    )
    for line in (await connection.answer(wanted, StreamLines)).lines:
        reader.print(line)
    output.flush()


async def _follow(connection: GatewayConnection, reader: _Reader) -> None:
    async for came in connection:
        match came:
            case Entry(event=StreamPosted() as posted):
                if (posted.session_id, posted.stream) == (reader.session_id, reader.stream):
                    reader.print(posted.line)
                    output.flush()
            case Entry(event=SessionReplaced() as replaced):
                if replaced.replaces == reader.session_id:
                    reader.session_id = replaced.session.id
            case Entry(event=SessionClosed() as closed):
                if closed.session_id == reader.session_id:
                    output.note("the session ended")
                    return
            case TowerSnapshot():
                # Events were left out because we read too slowly: read what was missed.
                await _read_held(connection, reader)
            case GatewayStopping():
                output.note("the gateway is stopping")
                return
