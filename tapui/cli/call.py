"""`tapui call`: the person calls a tool."""

import argparse
import asyncio
import contextlib
import difflib
from collections.abc import Iterator

import msgspec
from msgspec import UNSET, Raw

from tapui.cli import output
from tapui.cli.failure import FAILED, WRONG_USE, Failure
from tapui.cli.starting import gateway
from tapui.client.connection import GatewayConnection
from tapui.client.errors import GatewayError, Refused
from tapui.client.gateways import FoundGateway
from tapui.schemas import arguments as schemas
from tapui.schemas.arguments import SchemaUnusable, Unfit
from tapui.wire.events import Entry
from tapui.wire.limits import MAX_MESSAGE_BYTES
from tapui.wire.message import (
    Error,
    Message,
    OfferedTool,
    ToolAbort,
    ToolInvoke,
    ToolOutcome,
    ToolProgress,
)
from tapui.wire.tower import GatewayStopping, ToolsList, ToolsRead

CALL_ID = "call"


def run(args: argparse.Namespace) -> int:
    """Call the tool; its result goes to stdout as JSON, what else is said to stderr."""
    arguments = _object(args.args)
    outcome = asyncio.run(outcome_of(gateway(args), args.tool, args.session, arguments))
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


async def outcome_of(
    chosen: FoundGateway, tool: str, session: str | None, arguments: Raw
) -> ToolOutcome:
    """Call the tool in a session (None: the foreground one) and return how the call ended.

    When it is cancelled, the call is, too, and is told why.
    """
    async with await GatewayConnection.open(chosen, name="tapui call") as connection:
        if session is None:
            if not connection.sessions:
                raise Failure("there is no session in which the tool could be called")
            session = connection.sessions[0].id
        await _check(tool, arguments, await _tools(connection, session))
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
    """Return the tools that the session has now."""

    def is_answer(came: Message | Entry) -> bool:
        return isinstance(came, ToolsList) and came.id == CALL_ID

    answer = await connection.ask(ToolsRead(id=CALL_ID, session_id=session), is_answer)
    assert isinstance(answer, ToolsList)
    return answer.tools


async def _check(name: str, arguments: Raw, tools: list[OfferedTool]) -> None:
    """Raise `Failure` for a tool that does not exist, or arguments that do not fit its schema.

    A schema that cannot be applied is for the tool to answer for: the call is sent, with a note.
    """
    tool = next((one for one in tools if one.name == name), None)
    if tool is None:
        raise Failure(f"there is no tool {name}; {_there_are(name, [one.name for one in tools])}")
    try:
        found = await schemas.faults(tool.parameters, arguments)
    except SchemaUnusable as error:
        output.note(f"the arguments are not checked: the schema of {name} cannot be used: {error}")
        return
    if found:
        raise Failure("\n".join(_told(name, found, tool.parameters)), WRONG_USE)


def _there_are(wanted: str, names: list[str]) -> str:
    if not names:
        return "this session has none"
    near = difflib.get_close_matches(wanted, names, n=1)
    return f"{f'did you mean {near[0]}? ' if near else ''}there are: {', '.join(names)}"


def _told(name: str, found: list[Unfit], parameters: Raw) -> Iterator[str]:
    """Yield a line a fault; what is missing at the top is one line, with types."""
    missing = [one for one in found if one.keyword == "required" and len(one.path) == 1]
    if missing:
        schema = msgspec.json.decode(parameters)
        kinds = ((one.name, schemas.described(schema, one.name)) for one in missing)
        listed = ", ".join(f"{about} ({kind})" if kind else about for about, kind in kinds)
        them = "it" if len(missing) == 1 else "them"
        yield f"{name} requires {listed}; give {them} with --args".replace("\n", " ")
    for one in found:
        if one not in missing:
            where = f"{one.name}: " if one.path else ""
            yield f"{name}: {where}{one.text}".replace("\n", " ")


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
