"""One connection to a server, and why a server cannot be used, in words for the person.

The package binds a connection to the task that opened it, and cancels that task when the server is
gone. So one task of its own holds each connection, and nothing else happens in it.
"""

import asyncio
import contextlib
import contextvars
import ssl
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Literal
from urllib.request import getproxies

import httpx2
import mcp_types as types
import msgspec
from mcp.client.client import Client
from mcp.client.session import ClientRequestContext, IncomingMessage
from mcp.client.subscriptions import SubscriptionLost
from mcp.shared.dispatcher import ProgressFnT
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED
from mcp_types.version import MODERN_PROTOCOL_VERSIONS
from msgspec import Raw
from pydantic import TypeAdapter, ValidationError

from tapui.mcp_servers.bridge.answers import SCHEMA, UNREAD
from tapui.mcp_servers.bridge.naming import ServerTool
from tapui.mcp_servers.bridge.transports import ServerAddress, UnusableEnvironment
from tapui.mcp_servers.messages import MOST_PATIENCE, ServerLost, ServerStart, Stage
from tapui.text import safe_text

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

MAX_WORDS = 500


class HandshakeTimeout(Exception):  # noqa: N818 - a state of the server
    """The server has not answered in time."""


class ServerEnded(Exception):  # noqa: N818 - a state of the server
    """The server ended, or closed the connection, while it was in use."""


def leaf(error: BaseException) -> BaseException:
    """Return what is behind groups of exceptions: the first that is no cancellation."""
    while isinstance(error, BaseExceptionGroup):
        inner = error.exceptions
        error = next(
            (one for one in inner if not isinstance(one, asyncio.CancelledError)), inner[0]
        )
    return error


def lost(
    error: BaseException,
    stage: Stage,
    start: ServerStart,
    address: ServerAddress | None,
    last_words: Iterable[str],
) -> ServerLost:
    """Return the message about a server that failed in `stage`."""
    why, hint, where = _words_of(leaf(error), stage, start, address)
    said = " / ".join(last_words)
    if said and address is None:
        why = f"{why}; it said: {said}"
    return ServerLost(where, safe_text(why)[:MAX_WORDS], hint)


def _words_of(
    error: BaseException, stage: Stage, start: ServerStart, address: ServerAddress | None
) -> tuple[str, str, Stage]:
    if address is not None:
        return _told_of_address(error, stage, address)
    match error:
        case FileNotFoundError() | NotADirectoryError() if error.filename == start.cwd:
            return f"the folder {start.cwd} is not there", "name another folder", "start"
        case FileNotFoundError():
            hint = "install it, or name it with its whole path"
            return f"the program {start.command} was not found", hint, "start"
        case PermissionError():
            return f"{start.command} may not be run", "make it executable", "start"
        case OSError() | ValueError() if stage == "start":
            return f"{start.command} cannot be started: {error}", "see its command", "start"
        case HandshakeTimeout():
            return (
                f"it did not answer the handshake within {start.patience:g} s",
                "run its command in a terminal, where it should wait without a word",
                "handshake",
            )
        case MCPError() if error.error.code != CONNECTION_CLOSED:
            pass
        case ServerEnded() | MCPError():
            where: Stage = "handshake" if stage == "start" else stage
            return "it ended", "run its command in a terminal to see why", where
    return _told_of_protocol(error, "handshake" if stage == "start" else stage)


def _told_of_address(
    error: BaseException, stage: Stage, address: ServerAddress
) -> tuple[str, str, Stage]:
    where = address.host
    if address.refused in (401, 403):
        return (
            f"{where} answered HTTP {address.refused}",
            "it wants a token: give it with --header, such as Authorization=${env:NAME}",
            "handshake",
        )
    match error:
        case httpx2.ConnectError() if (untrusted := _untrusted(error)) is not None:
            hint = "name a file that has your company's in SSL_CERT_FILE, and start tapui anew"
            return f"the certificate of {where} is not trusted: {untrusted}", hint, "start"
        case httpx2.ProxyError():
            return f"the proxy refused {where}: {error}", _PROXIES, "start"
        case httpx2.ConnectError() | httpx2.ConnectTimeout():
            hint = f"start the server, or mend the address; {_PROXIES}"
            is_direct = getproxies().keys() <= {"no"}
            return (
                f"nothing answers at {where}",
                hint.partition(";")[0] if is_direct else hint,
                "start",
            )
        case httpx2.UnsupportedProtocol() | httpx2.InvalidURL():
            return f"{where} is no address of a server", "mend the address", "start"
        case HandshakeTimeout():
            return f"{where} did not answer in time", "see whether the server works", "handshake"
        case httpx2.DecodingError():
            return f"{where}: {error}", "have it send answers as they were asked for", stage
        case UnusableEnvironment():
            hint = "see SSL_CERT_FILE, SSL_CERT_DIR, REQUESTS_CA_BUNDLE, HTTPS_PROXY and ALL_PROXY"
            return f"proxy or certificates of the environment: {error}", hint, "start"
        case httpx2.HTTPError() | ServerEnded():
            return f"the connection to {where} broke ({type(error).__name__})", "", stage
    if address.refused is not None:
        return (
            f"{where} answered HTTP {address.refused}",
            "see whether the address is that of an MCP server with streamable HTTP",
            stage,
        )
    return _told_of_protocol(error, stage)


_PROXIES = "see the proxy that HTTPS_PROXY, HTTP_PROXY or ALL_PROXY names, and NO_PROXY"


def _untrusted(error: BaseException | None) -> str | None:
    """Return why a certificate is not trusted, where that is behind an error."""
    while error is not None:
        if isinstance(error, ssl.SSLCertVerificationError):
            return error.verify_message
        error = error.__cause__ or error.__context__
    return None


def _told_of_protocol(error: BaseException, stage: Stage) -> tuple[str, str, Stage]:
    match error:
        case MCPError() if error.error.message.startswith(UNREAD):
            return error.error.message, "a newer version of the server may do it right", stage
        case ValidationError():
            return UNREAD, "a newer version of the server may do it right", stage
        case MCPError():
            return f"it refused: {error.error.message} ({error.error.code})", "", stage
        case TimeoutError():
            return "it did not answer in time", "see whether the server works", stage
    return f"{type(error).__name__}: {error}", "", stage


Transport = AbstractAsyncContextManager["TransportStreams"]

LIST_SECONDS = 30.0
"""For each page of the list of tools."""
MAX_PAGES = 100
MAX_LISTED = 1_000
MAX_LISTED_BYTES = 32 * 1024 * 1024
"""Of all definitions together; further pages of the list are not asked for."""
MAX_ROUNDS = 10
"""Answers to one call that ask for something first."""
CLOSE_SECONDS = 10.0
"""For the end of a connection, the process of the server included."""
LISTEN_PAUSE = 5.0
STATE_PAUSE = 0.25
SETTLE_SECONDS = 1.0
"""How long an error in a call waits for the news that the server is gone altogether."""

_ANSWER: TypeAdapter[types.CallToolResult | types.InputRequiredResult] = TypeAdapter(
    types.CallToolResult | types.InputRequiredResult
)
_BROKEN = "SSE stream "
"""How the package's error begins for an HTTP answer that broke off."""
_GONE = ("Session not found", "Session terminated", "Connection closed")

calling: contextvars.ContextVar[str | None] = contextvars.ContextVar("calling", default=None)
"""The session whose call the current task serves."""


class ServerConnection:
    """A connection that stands. Made by `connected`."""

    def __init__(self, client: Client, gone: asyncio.Event) -> None:
        self._client = client
        self.gone = gone
        """Set when the server will answer nothing more."""
        self.protocol = client.protocol_version
        self.is_legacy = self.protocol not in MODERN_PROTOCOL_VERSIONS
        info = client.server_info
        self.server_name = info.name if info is not None else ""
        self.server_version = info.version if info is not None else ""

    async def list_tools(self) -> list[ServerTool]:
        """Return all pages of the list. Raises what the package raises, and `TimeoutError`."""
        found: dict[str, ServerTool] = {}
        cursor: str | None = None
        size = 0
        for _ in range(MAX_PAGES):
            params = None if cursor is None else types.PaginatedRequestParams(cursor=cursor)
            async with asyncio.timeout(LIST_SECONDS):
                try:
                    page = await self._client.session.list_tools(params=params)
                except MCPError as error:
                    if error.error.code == types.METHOD_NOT_FOUND and cursor is None:
                        return []  # it has other things to offer, and no tools
                    raise
            for tool in page.tools:
                one = found.setdefault(tool.name, _told(tool))
                size += len(one.name) + len(one.description) + len(memoryview(one.parameters))
            following = page.next_cursor
            is_full = len(found) >= MAX_LISTED or size >= MAX_LISTED_BYTES
            if following is None or following == cursor or is_full:
                break
            cursor = following
        return list(found.values())[:MAX_LISTED]

    async def call(
        self, name: str, arguments: dict[str, object], progress: ProgressFnT
    ) -> types.CallToolResult:
        """Call a tool; answers what the server asks for meanwhile.

        Raises `MCPError` where the server refuses or answers what cannot be read, and
        `ServerEnded` where it is gone.
        """
        responses: types.InputResponses | None = None
        state: str | None = None
        for _ in range(MAX_ROUNDS):
            params = types.CallToolRequestParams(
                name=name, arguments=arguments, input_responses=responses, request_state=state
            )
            answer = await self._request(types.CallToolRequest(params=params), progress)
            if isinstance(answer, types.CallToolResult):
                return answer
            state = answer.request_state
            responses = None
            if answer.input_requests:
                responses = await self._inputs(answer.input_requests)
            else:
                await asyncio.sleep(STATE_PAUSE)
        raise MCPError(types.INTERNAL_ERROR, f"it asked for more {MAX_ROUNDS} times")

    async def _request(
        self, request: types.CallToolRequest, progress: ProgressFnT
    ) -> types.CallToolResult | types.InputRequiredResult:
        try:
            return await self._client.session.send_request(
                request, _ANSWER, progress_callback=progress
            )
        except ValidationError:  # what it wants to know first is no question
            raise MCPError(types.INTERNAL_ERROR, UNREAD) from None
        except MCPError as error:
            if await self._is_gone(error):
                raise ServerEnded from error
            raise

    async def _is_gone(self, error: MCPError) -> bool:
        """Return whether a call failed for the connection, not for the tool."""
        if error.error.message.startswith(_BROKEN):
            if self.is_legacy:
                self.gone.set()  # its session may be gone with the server
            return True
        if error.error.message not in _GONE:
            return False
        if error.error.code != types.CONNECTION_CLOSED:
            self.gone.set()  # a server at an address has forgotten the session
            return True
        with contextlib.suppress(TimeoutError):  # then that was the tool's own error
            async with asyncio.timeout(SETTLE_SECONDS):
                await self.gone.wait()
        return self.gone.is_set()

    async def _inputs(self, asked: types.InputRequests) -> types.InputResponses:
        session = self._client.session
        responses: types.InputResponses = {}
        for key, request in asked.items():
            context = ClientRequestContext(session=session, request_id=key)
            answer = await session.dispatch_input_request(context, request)
            if isinstance(answer, types.ErrorData):
                raise MCPError.from_error_data(answer)
            responses[key] = answer
        return responses

    async def check(self, name: str, answer: types.CallToolResult) -> str | None:
        """Return in which way an answer is not what the tool's output schema says, or None."""
        try:
            await self._client.session.validate_tool_result(name, answer)
        except Exception as error:  # noqa: BLE001 - it may ask for the list; the call has run
            return str(error).partition("\n")[0]
        return None

    async def tell_roots(self) -> None:
        """Tell the server that its folders are others now; newer servers ask when they need it."""
        if self.is_legacy:
            await self._client.session.send_notification(types.RootsListChangedNotification())

    async def listen(self, changed: Callable[[], None]) -> None:
        """Hear of changes of the list of tools until it is cancelled; older servers tell anyhow."""
        tools = self._client.server_capabilities.tools
        if self.is_legacy or tools is None or not tools.list_changed:
            return
        while True:
            try:
                async with self._client.listen(tools_list_changed=True) as subscription:
                    async for _ in subscription:
                        changed()
            except MCPError:
                return  # it announced list_changed without supporting it, or has closed
            except SubscriptionLost:
                changed()  # what happened meanwhile is not told again
            await asyncio.sleep(LISTEN_PAUSE)


@contextlib.asynccontextmanager
async def connected(
    transport: Transport,
    *,
    elicit: Callable[[types.ElicitRequestParams], Awaitable[types.ElicitResult | types.ErrorData]],
    folders: Callable[[], list[str]],
    on_log: Callable[[str], None],
    on_tools_changed: Callable[[], None],
    mode: Literal["auto", "legacy"],
    patience: float,
    spoke_at: Callable[[], float],
    ended: asyncio.Event,
    version: str,
) -> AsyncIterator[ServerConnection]:
    """Connect, and close the connection when the block is left.

    `elicit` asks the person for the server, which may work in the `folders`. It has `patience`
    seconds to answer, also after it last spoke (`spoke_at()`), and never more than `MOST_PATIENCE`.
    Raises what the transport and the package raise, and `HandshakeTimeout`. `ended` is set by the
    transport when the server says nothing more.
    """

    async def asked(
        context: ClientRequestContext,  # noqa: ARG001 - the package names it
        params: types.ElicitRequestParams,
    ) -> types.ElicitResult | types.ErrorData:
        return await elicit(params)

    async def roots(
        context: ClientRequestContext,  # noqa: ARG001
    ) -> types.ListRootsResult:
        paths = map(Path, folders())
        return types.ListRootsResult(
            roots=[
                types.Root.model_validate({"uri": one.as_uri(), "name": one.name}) for one in paths
            ]
        )

    async def logged(params: types.LoggingMessageNotificationParams) -> None:
        text = params.data if isinstance(params.data, str) else repr(params.data)
        on_log(f"{params.level}: {text}")

    async def came(message: IncomingMessage) -> None:
        if isinstance(message, types.ToolListChangedNotification):
            on_tools_changed()

    client = Client(
        transport,
        mode=mode,
        elicitation_callback=asked,
        list_roots_callback=roots,
        logging_callback=logged,
        message_handler=came,
        client_info=types.Implementation(name="tapui", version=version),
        cache=None,
    )
    stands: asyncio.Future[None] = asyncio.get_running_loop().create_future()
    leave = asyncio.Event()

    async def hold() -> None:
        try:
            async with client:
                stands.set_result(None)
                await leave.wait()
        finally:
            ended.set()

    holding = asyncio.create_task(hold(), name="the connection to the server")
    try:
        began = time.monotonic()
        last = began + max(patience, MOST_PATIENCE)
        while not (holding.done() or stands.done()):
            left = min(max(began, spoke_at()) + patience, last) - time.monotonic()
            if left <= 0:
                break
            await asyncio.wait({holding, stands}, timeout=left, return_when="FIRST_COMPLETED")
        if not stands.done():
            if not holding.done():
                raise HandshakeTimeout
            await holding
        yield ServerConnection(client, ended)
    finally:
        leave.set()
        stands.cancel()
        if not stands.cancelled():
            await asyncio.wait({holding}, timeout=CLOSE_SECONDS)
        holding.cancel()
        await asyncio.wait({holding}, timeout=CLOSE_SECONDS)
        if holding.done() and not holding.cancelled():
            holding.exception()  # why the connection broke was told where it was used


def _told(tool: types.Tool) -> ServerTool:
    annotations = None
    if tool.annotations is not None:
        shown = tool.annotations.model_dump(by_alias=True, mode="json", exclude_none=True)
        annotations = Raw(msgspec.json.encode(shown))
    return ServerTool(
        name=tool.name,
        description=tool.description or tool.title or "",
        parameters=Raw(msgspec.json.encode((tool.meta or {})[SCHEMA])),
        annotations=annotations,
    )
