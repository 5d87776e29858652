"""Why a server cannot be used, in words for the person, and what to do about it."""

import asyncio
from collections.abc import Iterable

import httpx2
from mcp.shared.exceptions import MCPError
from mcp_types import CONNECTION_CLOSED
from pydantic import ValidationError

from tapui.mcp_servers.bridge.http import ServerAddress
from tapui.mcp_servers.messages import ServerLost, ServerStart, Stage
from tapui.text import safe_text

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
    """Return what is told of a server that failed in `stage`."""
    why, hint, where = _told(leaf(error), stage, start, address)
    said = " / ".join(last_words)
    if said and address is None:
        why = f"{why}; it said: {said}"
    return ServerLost(where, safe_text(why)[:MAX_WORDS], hint)


def _told(
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
        case ValidationError():
            return _told_of_protocol(error, "handshake" if stage == "start" else stage)
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
        case httpx2.ConnectError() | httpx2.ConnectTimeout():
            return f"nothing answers at {where}", "start the server, or mend the address", "start"
        case httpx2.UnsupportedProtocol() | httpx2.InvalidURL():
            return f"{where} is no address of a server", "mend the address", "start"
        case HandshakeTimeout():
            return f"{where} did not answer in time", "see whether the server works", "handshake"
        case httpx2.HTTPError() | ServerEnded():
            return f"the connection to {where} broke ({type(error).__name__})", "", stage
    if address.refused is not None:
        return (
            f"{where} answered HTTP {address.refused}",
            "see whether the address is that of an MCP server with streamable HTTP",
            stage,
        )
    return _told_of_protocol(error, stage)


def _told_of_protocol(error: BaseException, stage: Stage) -> tuple[str, str, Stage]:
    match error:
        case MCPError():
            return f"it refused: {error.error.message} ({error.error.code})", "", stage
        case ValidationError():
            hint = "a newer version of the server may do it right"
            place = ".".join(str(part) for part in error.errors(include_input=False)[0]["loc"])
            return f"what it answered is not what the protocol says: {place}", hint, stage
        case TimeoutError():
            return "it did not answer in time", "see whether the server works", stage
    return f"{type(error).__name__}: {error}", "", stage
