"""What `send` and `stop-turn` share: which session is meant, and seeing an order through."""

import argparse
import asyncio
from collections.abc import Sequence
from typing import Any

from msgspec.structs import replace

from tapui.cli import output
from tapui.cli.context import gateway
from tapui.cli.failure import FAILED
from tapui.cli.meant import session_meant
from tapui.client.connection import GatewayConnection
from tapui.client.gateways import FoundGateway
from tapui.projection.orders import became, changed, wanted
from tapui.projection.state import is_open
from tapui.wire.events import Entry, OrderChanged, OrderGiven
from tapui.wire.message import Message
from tapui.wire.steering import Order, SessionOrdered, SessionStop, SessionTell
from tapui.wire.subjects import Session

ORDER_ID = "order"
_SETTLED = ("done", "failed")
"""States at which a command ends; with `queued` only what is for after the turn, which may take
hours. A text for now is queued for a moment, or until a permission is answered."""


def carry_out(args: argparse.Namespace, order: SessionTell | SessionStop) -> int:
    """Give an order to the session that the arguments name, and print what became of it."""
    became_of_it = asyncio.run(_order(gateway(args), args.session, order))
    if args.json:
        output.say_json(_all(became_of_it))
    else:
        output.say(f"{became(became_of_it)}  ({wanted(became_of_it)})")
    return FAILED if became_of_it.state == "failed" else 0


def _all(order: Order) -> dict[str, Any]:
    """Return an order with every field, those that are empty too."""
    return {
        "id": order.id,
        "sessionId": order.session_id,
        "kind": order.kind,
        "state": order.state,
        "text": order.text,
        "way": order.way,
        "by": order.by,
        "at": order.at,
        "error": order.error,
        "running": order.running,
        "dropped": order.dropped,
    }


def session_of(sessions: Sequence[Session], name: str) -> Session:
    """Return the open session with this id, or whose id alone begins so; raises `Failure`."""
    there = {one.id: one for one in sessions if is_open(one)}
    listed = ", ".join(f"{one.id} ({one.label})" for one in there.values()) or "none"
    none = f"there is no session {name}; open are: {listed}"
    return there[session_meant(there, name, otherwise=none)]


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
