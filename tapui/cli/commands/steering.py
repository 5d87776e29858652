"""`tapui send` and `tapui stop-turn`: an order to a session, seen through."""

import argparse
import asyncio

from msgspec.structs import replace

from tapui.cli import output
from tapui.cli.arguments import CommandParser, add_port
from tapui.cli.context import gateway, session_of
from tapui.cli.failure import FAILED, WRONG_USE, Failure
from tapui.client.connection import GatewayConnection
from tapui.client.gateways import FoundGateway
from tapui.projection.words import became, changed, order_words
from tapui.wire.events import Entry, OrderChanged, OrderGiven
from tapui.wire.limits import MAX_TELL
from tapui.wire.message import Message
from tapui.wire.steering import Order, SessionOrdered, SessionStop, SessionTell, Way

COMMANDS = """
80 send: say something to a session, as a prompt of yours
90 stop-turn: stop what a session does, and wait until it rests
"""

_ORDER_ID = "order"
_SETTLED = ("done", "failed")
"""States at which a command ends; with `queued` only what is for after the turn, which may take
hours. A text for now is queued for a moment, or until a permission is answered."""


def arguments(send: CommandParser, stop: CommandParser) -> None:
    send.runs(
        run_send,
        "Without an option it waits for the end of the turn under way. It is sent\n"
        "unchanged: a text that begins with / is never run as a command.",
    )
    stop.runs(run_stop, "Commands that go on in the background are named.")
    for parser in (send, stop):
        parser.add_argument(
            "session", metavar="SESSION", help="its id, or a beginning that fits only one"
        )
    send.add_argument("text", metavar="TEXT", nargs="+", help="what to say")
    way = send.add_mutually_exclusive_group()
    way.add_argument(
        "--now",
        action="store_true",
        help="into the turn under way; a command that runs goes on in the background",
    )
    way.add_argument("--stop-first", action="store_true", help="stop the turn, then send")
    for parser in (send, stop):
        parser.add_argument("--json", action="store_true", help="print the order as JSON")
        add_port(parser, "the gateway's port")


def run_send(args: argparse.Namespace) -> int:
    """Send the text; print whether it is delivered, or waits for the turn's end. With `--now` it
    waits until the turn has taken it."""
    text = " ".join(args.text)
    if not text.strip():
        raise Failure("there is no text to send", WRONG_USE)
    if len(text) > MAX_TELL:
        raise Failure(f"a text has at most {MAX_TELL:,} characters", WRONG_USE)
    way: Way = "now" if args.now else "stopFirst" if args.stop_first else "after"
    return _carry_out(args, SessionTell(_ORDER_ID, "", text, way))


def run_stop(args: argparse.Namespace) -> int:
    """Stop the turn; return when the session rests."""
    return _carry_out(args, SessionStop(_ORDER_ID, ""))


def _carry_out(args: argparse.Namespace, order: SessionTell | SessionStop) -> int:
    """Give an order to the session that the arguments name, and print what became of it."""
    settled = asyncio.run(_order(gateway(args), args.session, order))
    if args.json:
        output.say_json(output.all_fields(settled))
    else:
        output.say(f"{became(settled)}  ({order_words(settled)})")
    return FAILED if settled.state == "failed" else 0


async def _order(chosen: FoundGateway, name: str, order: SessionTell | SessionStop) -> Order:
    """Give an order; return it as it stands when nothing more is to be waited for."""
    by = "tapui send" if isinstance(order, SessionTell) else "tapui stop-turn"
    async with await GatewayConnection.open(chosen, name=by, on_waits=output.note) as connection:
        session = session_of(connection.snapshot.state.sessions, name)
        return await _followed(connection, replace(order, session_id=session.id))


def _note_wait(order: Order) -> None:
    """Tell why the command does not end yet, and that it need not be waited for."""
    if not _is_settled(order):
        output.note(f"{became(order)}; it is delivered then, also if this command is interrupted")


def _is_settled(order: Order) -> bool:
    is_for_later = order.kind != "tell" or order.way == "after"
    return order.state in _SETTLED or (order.state == "queued" and is_for_later)


async def _followed(connection: GatewayConnection, order: SessionTell | SessionStop) -> Order:
    given: dict[str, Order] = {}
    told: list[str] = []

    def is_settled(came: Message | Entry) -> bool:
        if isinstance(came, SessionOrdered) and came.id == order.id:
            told.append(came.order_id)
        elif isinstance(came, Entry) and isinstance(came.event, OrderGiven):
            given[came.event.order.id] = came.event.order
        elif isinstance(came, Entry) and isinstance(came.event, OrderChanged):
            change = came.event
            if change.order_id in given:
                order_now = given[change.order_id] = changed(given[change.order_id], change)
                if order_now.state == "queued" and change.order_id in told:
                    _note_wait(order_now)
        return bool(told) and told[0] in given and _is_settled(given[told[0]])

    await connection.ask(order, is_settled)
    return given[told[0]]
