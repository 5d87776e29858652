"""`tapui show`: a request or a turn in full, as the tower's detail has it."""

import argparse
import asyncio

from tapui import times
from tapui.cli import output
from tapui.cli.approvals import ways_to_answer, whole
from tapui.cli.arguments import CommandParser, add_port
from tapui.cli.context import gateway, session_here, session_of
from tapui.cli.failure import WRONG_USE, Failure
from tapui.client.connection import GatewayConnection
from tapui.client.gateways import FoundGateway
from tapui.projection import approvals
from tapui.projection.requests.kinds import kind_of
from tapui.projection.requests.known import known
from tapui.projection.requests.request_kind import AskedRequest, RequestContext, detail_of
from tapui.projection.state import State, is_waiting
from tapui.projection.turns.turn_page import PageTimes, as_markdown
from tapui.text import revealed, safe_text
from tapui.wire.subjects import Approval
from tapui.wire.tower import TurnsList, TurnsRead
from tapui.wire.turns import Turn


def arguments(show: CommandParser) -> None:
    show.runs(
        run,
        "A request is shown as the tower's detail has it, with the commands that answer\n"
        "it; a turn as a page of Markdown.",
    )
    show.add_argument(
        "what",
        metavar="ID|TURN",
        help="a request's id, or a beginning that fits only one; a turn's number, or last",
    )
    show.add_argument(
        "--session", metavar="ID", help="the session of the turn (the one in this folder)"
    )
    form = show.add_mutually_exclusive_group()
    form.add_argument("--md", action="store_true", help="print the turn as Markdown (as without)")
    form.add_argument("--json", action="store_true", help="print a JSON object")
    add_port(show, "the gateway's port")


def run(args: argparse.Namespace) -> int:
    """Print what is meant; 1 where there is none."""
    asyncio.run(_show(gateway(args), args))
    return 0


async def _show(chosen: FoundGateway, args: argparse.Namespace) -> None:
    async with await GatewayConnection.open(
        chosen, name="tapui show", on_waits=output.note
    ) as connection:
        state = State.of(connection.snapshot.state)
        if args.what == "last" or (args.what.isascii() and args.what.isdigit()):
            await _show_turn(connection, state, args)
        elif args.session is not None or args.md:
            raise Failure("--session and --md are for turns", WRONG_USE)
        else:
            approval = await whole(connection, _approval(state, args.what))
            if args.json:
                output.say_json(approval, indent=2)
            else:
                _say_request(state, approval)


def _approval(state: State, wanted: str) -> Approval:
    """Return the request with this id, or the one whose id begins so. Raises `Failure`."""
    if wanted in state.approvals:
        return state.approvals[wanted]
    found = [one for id_, one in state.approvals.items() if id_.startswith(wanted)]
    if len(found) == 1:
        return found[0]
    if found:
        raise Failure(f"{wanted} fits several: {', '.join(one.id for one in found)}")
    waiting = [one.id for one in state.approvals.values() if is_waiting(one)]
    raise Failure(f"there is no request {wanted}; waiting are: {', '.join(waiting) or 'none'}")


def _say_request(state: State, approval: Approval) -> None:
    asked = [AskedRequest(approval, detail_of(approval))]
    kind = kind_of(approval)
    context = RequestContext(state, times.date_and_time, is_whole=True)
    output.say(safe_text(kind.headline(state, asked)))
    output.say("")
    for part in (*kind.explained(context, asked), *known(state, asked)):
        shown = revealed if part.margin and not part.is_laid_out else safe_text
        for line in shown(part.text, newlines=True).split("\n"):
            output.say(f"{part.margin}{line}".rstrip())
    output.say("")
    waits = f"waits: {ways_to_answer(approval)}"
    output.say(safe_text(waits if is_waiting(approval) else approvals.outcome(approval)))


async def _show_turn(connection: GatewayConnection, state: State, args: argparse.Namespace) -> None:
    sessions = list(state.sessions.values())
    session = session_of(sessions, args.session) if args.session else session_here(sessions)
    number = None if args.what == "last" else int(args.what[:9])
    wanted = TurnsRead("show", session.id, before=None if number is None else number + 1)
    found = await connection.ask(
        wanted, lambda came: isinstance(came, TurnsList) and came.id == wanted.id
    )
    turns: list[Turn] = found.turns if isinstance(found, TurnsList) else []
    if not turns or number not in (None, turns[-1].head.number):
        what = "no turn" if number is None else f"no turn {number} that is kept"
        raise Failure(f"session {session.id} has {what}")
    if args.json:
        output.say_json(turns[-1], indent=2)
        return
    name = session.label or session.id
    shown = PageTimes(times.date_and_time, times.lasting)
    for line in as_markdown(turns[-1], name, session.cwd or "", shown):
        output.say(safe_text(line))
