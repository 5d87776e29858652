"""`tapui call`: the person calls a tool."""

import argparse
import asyncio
import contextlib

from tapui.cli import output
from tapui.cli.arguments import CommandParser, add_arguments_of_a_call, add_port
from tapui.cli.context import gateway, session_of
from tapui.cli.failure import Failure
from tapui.cli.tool_call import GivenArguments, check_arguments, find_tool, object_of, print_outcome
from tapui.client.connection import GatewayConnection
from tapui.client.gateways import FoundGateway, GatewayError, Refused
from tapui.wire.message import (
    Error,
    OfferedTool,
    ToolAbort,
    ToolInvoke,
    ToolOutcome,
    ToolProgress,
)
from tapui.wire.tower import GatewayStopping, ToolsList, ToolsRead

COMMANDS = """
50 call: call a tool and print its result as JSON
"""

CALL_ID = "call"


def arguments(call: CommandParser) -> None:
    call.runs(
        run,
        "The arguments are read by the tool's schema: `tapui call greet name=Ada`.\n"
        "Progress goes to stderr. Ctrl-C cancels the call.",
    )
    call.add_argument("tool", metavar="TOOL", help="the tool's name")
    add_arguments_of_a_call(call)
    call.add_argument("--session", metavar="ID", help="the session (the foreground one)")
    add_port(call, "the gateway's port")


def run(args: argparse.Namespace) -> int:
    """Call the tool; its result goes to stdout as JSON, what else is said to stderr."""
    given = GivenArguments(object_of(args.args), tuple(args.values))
    outcome = asyncio.run(outcome_of(gateway(args), args.tool, args.session, given))
    return print_outcome(outcome)


async def outcome_of(
    chosen: FoundGateway, tool: str, session: str | None, given: GivenArguments
) -> ToolOutcome:
    """Call the tool in a session (None: the foreground one) and return how the call ended.

    When it is cancelled, the call is, too, with a reason.
    """
    async with await GatewayConnection.open(chosen, name="tapui call") as connection:
        if session is None:
            if not connection.sessions:
                raise Failure("there is no session in which the tool could be called")
            session = connection.sessions[0].id
        else:
            session = session_of(connection.snapshot.state.sessions, session).id
        offered = find_tool(tool, await _tools(connection, session))
        arguments = given.read(offered.parameters)
        await check_arguments(tool, arguments, offered.parameters)
        try:
            await connection.send(
                ToolInvoke(id=CALL_ID, session_id=session, tool=tool, args=arguments)
            )
            return await _outcome(connection)
        except asyncio.CancelledError:
            with contextlib.suppress(GatewayError):  # the connection's end aborts it, too
                await connection.send(ToolAbort(id=CALL_ID, reason="interrupted by the person"))
            raise


async def _tools(connection: GatewayConnection, session: str) -> list[OfferedTool]:
    wanted = ToolsRead(id=CALL_ID, session_id=session)
    return (await connection.answer(wanted, ToolsList)).tools


async def _outcome(connection: GatewayConnection) -> ToolOutcome:
    async for came in connection:
        match came:
            case ToolOutcome(id="call"):
                return came
            case ToolProgress(id="call", message=message):
                output.note(message)
            case Error(reply_to="tool.invoke", code=code, message=message):
                raise Refused(code, message)
            case GatewayStopping():
                output.note("the gateway is stopping")
    raise AssertionError("a connection ends by raising GatewayLost")
