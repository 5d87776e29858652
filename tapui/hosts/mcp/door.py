"""The MCP server on standard input and output, over a link to the gateway.

Both protocol eras are served: the handshake up to 2025-11-25, and 2026-07-28. The list of tools is
answered out of what is known, so it never waits for a call, a gateway or anything else.

The package `mcp` drops a line that it cannot read, and its sender waits for the answer:
`ClientLines` bounds the client's lines, and answers those itself.
"""

import asyncio
import base64
import json
import logging
import math
import os
import re
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from pathlib import Path
from typing import Any, Protocol, TypeAlias, cast

import msgspec
from anyio import AsyncFile
from anyio.to_thread import run_sync
from mcp.server.context import ServerRequestContext
from mcp.server.lowlevel import NotificationOptions, Server
from mcp.server.session import ServerSession
from mcp.server.stdio import stdio_server
from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler, ToolsListChanged
from mcp.shared.message import SessionMessage
from mcp_types import (
    INVALID_REQUEST,
    PARSE_ERROR,
    AudioContent,
    CallToolRequestParams,
    CallToolResult,
    ContentBlock,
    ErrorData,
    ImageContent,
    JSONRPCError,
    JSONRPCNotification,
    ListToolsResult,
    NotificationParams,
    PaginatedRequestParams,
    ResourceLink,
    TextContent,
    Tool,
    ToolAnnotations,
    jsonrpc_message_adapter,
)
from mcp_types.methods import validate_server_result
from mcp_types.version import LATEST_HANDSHAKE_VERSION, LATEST_MODERN_VERSION
from msgspec import UNSET
from pydantic import ValidationError

from tapui import __version__
from tapui.hosts.for_models import IMAGES, description_for_model, media_of, text_for_model
from tapui.runtime.children.lines import MAX_LINE_BYTES, LineSplitter, LongLine
from tapui.text import safe_name, safe_text
from tapui.wire.message import FileResult, OfferedTool, ToolOutcome, ToolProgress

_PIECE = 256 * 1024
_ID = rb'"id"\s*:\s*(-?\d{1,18}|"[^"\\]{1,100}")\s*'
_FIRST = re.compile(rb'\s*\{\s*(?:"jsonrpc"\s*:\s*"2\.0"\s*,\s*)?' + _ID + rb",")
_LAST = re.compile(rb",\s*" + _ID + rb"\}\s*\Z")

Refuse = Callable[[JSONRPCError], Awaitable[None]]


class ClientLines:
    """The lines of `descriptor` that hold a message; the others are refused by `refuse`."""

    def __init__(self, descriptor: int, refuse: Refuse) -> None:
        self._descriptor = descriptor
        self._refuse = refuse

    async def __aiter__(self) -> AsyncIterator[str]:
        lines = LineSplitter()
        while piece := await run_sync(os.read, self._descriptor, _PIECE):
            for line in lines.feed(piece):
                if text := await self._taken(line):
                    yield text
        for line in lines.finish():
            if text := await self._taken(line):
                yield text

    async def _taken(self, line: bytes | LongLine) -> str:
        """Return what the package reads of a line; one that it cannot read is refused."""
        if isinstance(line, LongLine):
            await self._refuse(_too_long(line))
        elif (fault := _fault_of(line)) is not None:
            await self._refuse(fault)
        elif line.strip():
            return line.decode("utf-8", "replace")
        return ""


def _too_long(line: LongLine) -> JSONRPCError:
    found = _FIRST.match(line.first) or _LAST.search(line.last)
    said = f"a message has at most {MAX_LINE_BYTES} bytes, this one has {line.size}"
    return _error(json.loads(found[1]) if found is not None else None, INVALID_REQUEST, said)


def _fault_of(line: bytes) -> JSONRPCError | None:
    """Return what to answer to a line that the package cannot read, None where it can.

    A response, or a notification, is never answered.
    """
    text = line.decode("utf-8", "replace")
    if not text.strip():
        return None
    try:
        message = jsonrpc_message_adapter.validate_json(text, by_name=False)
    except ValidationError:
        message = None
    # The package reads a request with an id that is none as a notification.
    may_be_wrong = '"id"' in text if isinstance(message, JSONRPCNotification) else message is None
    if not may_be_wrong:
        return None
    try:
        found = json.loads(text)  # it takes halves of characters, and more depth
    except (ValueError, RecursionError):
        return _error(None, PARSE_ERROR, "this is no JSON")
    if not isinstance(found, dict):
        return _error(None, INVALID_REQUEST, "a message is an object")
    if "id" not in found or "method" not in found:
        return None
    known = found["id"] if type(found["id"]) in (int, str) else None
    said = "this is no request, or has half of a character, or is nested too deeply"
    return _error(known, INVALID_REQUEST, said)


def _error(known: int | str | None, code: int, said: str) -> JSONRPCError:
    if isinstance(known, str) and not known.isprintable():
        known = None
    return JSONRPCError(jsonrpc="2.0", id=known, error=ErrorData(code=code, message=said))


_STANDARD_INPUT = 0
QUIET = 0.1
"""Seconds without a further change of the tools after which the client hears of it."""

Context: TypeAlias = ServerRequestContext[Any, Any]
_log = logging.getLogger(__name__)


class ToolSource(Protocol):
    """Where the tools are: a gateway, or one provider."""

    @property
    def tools(self) -> Iterable[OfferedTool]:
        """The tools that there are now."""

    def set_label(self, label: str) -> None:
        """Take the client's name."""

    async def call(
        self, tool: str, arguments: dict[str, Any], tell: Callable[[ToolProgress], Awaitable[None]]
    ) -> ToolOutcome:
        """Call a tool; `tell` takes its progress."""


class McpDoor:
    """One MCP connection: the server's handlers, and what tells the client of changes."""

    def __init__(
        self,
        link: ToolSource,
        *,
        name: str = "tapui",
        instructions: str = "Tools of the providers that are bound to this session in tapui.",
    ) -> None:
        self._link = link
        self._tools: list[Tool] = listed(link.tools)
        self._bus = InMemorySubscriptionBus()
        self._session: ServerSession | None = None
        """That of a client of the handshake era, once its handshake is done."""
        self._news = asyncio.Event()
        self.server: Server[Any] = Server(
            name,
            version=__version__,
            title=name,
            instructions=instructions,
            on_list_tools=self._list,
            on_call_tool=self._call,
            on_subscriptions_listen=ListenHandler(self._bus),
        )
        self.server.add_notification_handler(
            "notifications/initialized", NotificationParams, self._initialized
        )

    async def serve(self) -> None:
        async def refuse(error: JSONRPCError) -> None:
            await write.send(SessionMessage(error))

        lines = cast("AsyncFile[str]", ClientLines(_STANDARD_INPUT, refuse))  # only gone through
        options = self.server.create_initialization_options(NotificationOptions(tools_changed=True))
        telling = asyncio.create_task(self._tell_of_changes(), name="tell of the tools")
        try:
            async with stdio_server(stdin=lines) as (read, write):
                await self.server.run(read, write, options)
        finally:
            telling.cancel()
            await asyncio.wait([telling])

    # What the client asks

    async def _initialized(self, context: Context, _params: NotificationParams) -> None:
        self._session = context.session
        self._named(context)

    def _named(self, context: Context) -> None:
        """Call the session by the client's name."""
        client = context.session.client_params
        if client is not None and client.client_info.name:
            self._link.set_label(f"MCP: {safe_name(client.client_info.name)}")

    async def _list(
        self, context: Context, _params: PaginatedRequestParams | None
    ) -> ListToolsResult:
        self._named(context)
        return ListToolsResult(tools=self._tools, ttl_ms=0, cache_scope="private")

    async def _call(self, context: Context, params: CallToolRequestParams) -> CallToolResult:
        self._named(context)
        last: float | None = None

        async def tell(told: ToolProgress) -> None:
            nonlocal last
            last, total, text = progress_of(told, last)
            await context.session.report_progress(last, total, text)

        try:
            outcome = await self._link.call(params.name, params.arguments or {}, tell)
            return await result_of(outcome)
        except Exception as error:  # noqa: BLE001 - logged, and told as the result that it is
            _log.exception("a call of %s failed", safe_name(params.name))
            text = f"INTERNAL: {type(error).__name__}"
            return CallToolResult(content=[TextContent(text=text)], is_error=True)

    # Changes of the tools

    def tools_changed(self) -> None:
        """Take the tools that the link has now; the client hears of them once they rest."""
        tools = listed(self._link.tools)
        if tools != self._tools:
            self._tools = tools
            self._news.set()

    async def _tell_of_changes(self) -> None:
        """Tell the client of other tools, in the way of its era. Never returns."""
        while True:
            await self._news.wait()
            while self._news.is_set():
                self._news.clear()
                await asyncio.sleep(QUIET)
            await self._bus.publish(ToolsListChanged())
            if self._session is not None:
                await self._session.send_tool_list_changed()


DESCRIPTION_LENGTH = 16_384
"""Characters of a tool's description; clients hand all of them to their model with each request."""
_NAME = re.compile(r"[A-Za-z0-9._-]{1,128}\Z")
_ERAS = (LATEST_HANDSHAKE_VERSION, LATEST_MODERN_VERSION)


def progress_of(told: ToolProgress, last: float | None) -> tuple[float, float | None, str]:
    """Return progress, total and text of a call's news; `last` is the progress before it.

    Each progress must be larger than the last one: where the tool counts otherwise, hardly so.
    """
    if told.done is None or not math.isfinite(told.done):
        return (0 if last is None else last) + 1, None, told.message
    done = told.done if last is None or told.done > last else math.nextafter(last, math.inf)
    count = f"{told.done:g}" if told.total is None else f"{told.done:g}/{told.total:g}"
    first, _, text = told.message.partition(" ")
    return done, told.total, (text if first == count else "") or told.message


def listed(tools: Iterable[OfferedTool]) -> list[Tool]:
    """Return the tools that every client can read; one that no client could is left out.

    One tool that does not fit would make the whole list an error.
    """
    found = (_tool(tool) for tool in tools)
    return [tool for tool in found if tool is not None]


def _tool(tool: OfferedTool) -> Tool | None:
    try:
        if not _NAME.match(tool.name):
            raise ValueError("its name is not one of MCP")
        shown = Tool(
            name=tool.name,
            description=safe_text(
                description_for_model(tool), limit=DESCRIPTION_LENGTH, newlines=True
            ),
            input_schema={
                **msgspec.json.decode(tool.parameters, type=dict[str, object]),
                "type": "object",
            },
            annotations=ToolAnnotations(read_only_hint=True) if tool.read_only else None,
        )
        one = ListToolsResult(tools=[shown], ttl_ms=0, cache_scope="private")
        dumped = one.model_dump(by_alias=True, mode="json", exclude_none=True)
        for era in _ERAS:
            validate_server_result("tools/list", era, dumped)
    except (ValueError, ValidationError, msgspec.DecodeError, RecursionError) as error:
        text = safe_text(f"tool {tool.name} is left out: {error}", limit=500)
        _log.warning("%s", text)
        return None
    return shown


async def result_of(outcome: ToolOutcome) -> CallToolResult:
    """Return an outcome as a result; an error is one, too, with its code and text."""
    text, is_ok = text_for_model(outcome)
    content: list[ContentBlock] = [TextContent(text=_encodable(text))]
    structured = None
    if is_ok and outcome.file is not None:
        content.append(await _file(outcome.file))
    elif is_ok and outcome.data is not UNSET and bytes(outcome.data).lstrip()[:1] == b"{":
        structured = msgspec.json.decode(outcome.data)
    return CallToolResult(content=content, structured_content=structured, is_error=not is_ok)


async def _file(file: FileResult) -> ContentBlock:
    """Return an image or a sound as such, any other file as a link to where it is."""
    kind = file.mime_type.partition("/")[0]
    if file.mime_type in IMAGES or kind == "audio":
        data = await asyncio.to_thread(media_of, file)
        if data is not None:
            coded = base64.b64encode(data).decode()
            if kind == "audio":
                return AudioContent(data=coded, mime_type=file.mime_type)
            return ImageContent(data=coded, mime_type=file.mime_type)
    path = Path(file.path)
    return ResourceLink(
        name=_encodable(path.name),
        uri=path.as_uri(),
        mime_type=_encodable(file.mime_type),
        size=file.size,
    )


def _encodable(text: str) -> str:
    """Return text without halves of characters, which would end the connection."""
    return text.encode("utf-8", "replace").decode()
