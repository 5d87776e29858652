"""`tapui call`: the person calls a tool."""

import argparse
import asyncio
import contextlib

import msgspec
from msgspec import UNSET, Raw

from tapui.cli import output
from tapui.cli.failure import FAILED, WRONG_USE, Failure
from tapui.cli.starting import gateway
from tapui.client.connection import GatewayConnection
from tapui.client.errors import GatewayError, Refused
from tapui.client.gateways import FoundGateway
from tapui.wire.limits import MAX_MESSAGE_BYTES
from tapui.wire.message import Error, ToolAbort, ToolInvoke, ToolOutcome, ToolProgress
from tapui.wire.tower import GatewayStopping

CALL_ID = "call"


def run(args: argparse.Namespace) -> int:
    """Call the tool; its result goes to stdout as JSON, what else is said to stderr."""
    arguments = _object(args.args)
    outcome = asyncio.run(_call(gateway(args), args.tool, args.session, arguments))
    for text in outcome.context or ():
        output.note(text)
    if outcome.error is not None or outcome.error_code is not None:
        code = outcome.error_code or "INTERNAL"
        output.fail(f"{code}: {outcome.error or code}".replace("\n", " "))
        return FAILED
    if outcome.file is not None:
        output.say_json(outcome.file, indent=2)
    else:
        output.say_json(None if outcome.data is UNSET else outcome.data, indent=2)
    return 0


def _object(text: str) -> Raw:
    try:
        value = msgspec.json.decode(text)
    except (msgspec.DecodeError, RecursionError) as error:
        raise Failure(f"--args is not valid JSON: {error}", WRONG_USE) from None
    except UnicodeEncodeError:
        raise Failure("--args is not valid UTF-8", WRONG_USE) from None
    if not isinstance(value, dict):
        raise Failure('--args must be a JSON object, such as \'{"name": "Ada"}\'', WRONG_USE)
    data = text.encode()
    if len(data) > MAX_MESSAGE_BYTES:
        raise Failure(f"--args is larger than {MAX_MESSAGE_BYTES} bytes", WRONG_USE)
    return Raw(data)


async def _call(
    chosen: FoundGateway, tool: str, session: str | None, arguments: Raw
) -> ToolOutcome:
    async with await GatewayConnection.open(chosen, name="tapui call") as connection:
        if session is None:
            if not connection.sessions:
                raise Failure("there is no session in which the tool could be called")
            session = connection.sessions[0].id
        await connection.send(ToolInvoke(id=CALL_ID, session_id=session, tool=tool, args=arguments))
        try:
            return await _outcome(connection)
        except asyncio.CancelledError:
            with contextlib.suppress(GatewayError):
                await connection.send(ToolAbort(id=CALL_ID, reason="interrupted by the person"))
            raise


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
