"""A web page that asks to pair: it has an Origin, no token, and a form for the code.

Its address is the Origin that tapui shows: open it and enter the six digits. For a person without a
browser a provider of the demo types the code into it; its stream lists what a visitor can do.
"""

import asyncio
import contextlib
import os
import shlex
from collections.abc import AsyncIterator
from urllib.parse import parse_qs, urlsplit

from websockets.exceptions import ConnectionClosed

from tapui.cli.demo.line import (
    COMMAND,
    HOME,
    URL,
    GatewayLine,
    Json,
    ended,
    is_farewell,
    pace,
    post_until_farewell,
    provide,
    run,
)

FIRST = 22.0
"""Seconds until it asks for the first time."""
PAUSE = 20.0
"""Seconds until a visitor that was turned away asks again; after a wrong code it asks at once."""
POST_EVERY = 10.0
SESSION = "demo-pairing"
TOOL: Json = {
    "name": "enter_code",
    "description": "Type the six digits that tapui shows into the web page that asks to pair",
    "parameters": {
        "type": "object",
        "properties": {"code": {"type": "string", "pattern": "^[0-9]{6}$"}},
        "required": ["code"],
    },
}
_REQUEST_BYTES = 16 * 1024
_REQUEST_SECONDS = 5.0
_FORM = (
    "<form><label>The code that tapui shows: "
    '<input name="code" inputmode="numeric" pattern="[0-9]{6}" required autofocus></label> '
    "<button>Pair</button></form>"
)


# The page


class Page:
    """The page at 127.0.0.1: `codes` holds what was entered, `news` is shown above the form."""

    def __init__(self, server: asyncio.Server) -> None:
        self.codes: asyncio.Queue[str] = asyncio.Queue(1)
        self.news = ""
        self.is_paired = False
        self._server = server

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            async with asyncio.timeout(_REQUEST_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
                target = head.split(b" ", 2)[1].decode("ascii")
                for code in parse_qs(urlsplit(target).query).get("code", [])[:1]:
                    self.enter(code)
                form = "" if self.is_paired else _FORM
                body = f"<!doctype html><title>Dashboard</title><p>{self.news}</p>{form}".encode()
                writer.write(
                    b"HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=utf-8\r\n"
                    b"Content-Length: %d\r\nConnection: close\r\n\r\n%b" % (len(body), body)
                )
                await writer.drain()
        except (OSError, TimeoutError, EOFError, ValueError, IndexError, asyncio.LimitOverrunError):
            pass  # a browser that left, or something else than a browser
        finally:
            writer.close()

    def enter(self, code: str) -> None:
        if not self.is_paired and not self.codes.full():
            self.codes.put_nowait(code)
            self.news = "The code was sent. <a href='/'>Has it paired?</a>"


@contextlib.asynccontextmanager
async def _served() -> AsyncIterator[Page]:
    pages: list[Page] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await pages[0].answer(reader, writer)

    server = await asyncio.start_server(answer, "127.0.0.1", 0, limit=_REQUEST_BYTES)
    async with server:
        pages.append(Page(server))
        yield pages[0]


# The visitor


async def visit() -> None:
    """Serve the page, and type codes into it for those without a browser."""
    async with _served() as page:
        both = [asyncio.create_task(_visit(page)), asyncio.create_task(_receive(page))]
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_EXCEPTION)
        finally:
            await ended(both)


async def _visit(page: Page) -> None:
    """Ask to pair until it succeeds, then post to the session."""
    await asyncio.sleep(FIRST * pace())
    while True:
        line = await GatewayLine.open(os.environ[URL], {"mode": "pair"}, origin=page.origin)
        try:
            paired = await _pair(line, page)
            if isinstance(paired, str):
                await _post(line, paired)
                return
        finally:
            await line.close()
        await asyncio.sleep(0 if paired is None else PAUSE * pace())


async def _pair(line: GatewayLine, page: Page) -> str | bool | None:
    """Wait for the code and send it. Returns the session when paired, None when the code was
    wrong, and False when the request was denied or has expired."""
    while not page.codes.empty():
        page.codes.get_nowait()  # of a request before
    entered = asyncio.ensure_future(page.codes.get())
    answered = asyncio.ensure_future(line.until("error"))
    try:
        await asyncio.wait([entered, answered], return_when=asyncio.FIRST_COMPLETED)
    finally:
        await ended([entered, answered])
    if not answered.cancelled():
        answered.result()
        return False
    await line.send("auth.confirm", code=entered.result())
    said = await line.until("sessions", "error")
    if said["type"] == "error":
        page.news = "That was not the code. Wait for the next request in tapui."
        return None
    page.is_paired, page.news = True, "Paired with tapui."
    session: str = said["active"][0]["id"]
    return session


async def _post(line: GatewayLine, session: str) -> None:
    """Be a provider of the session until it ends."""
    await line.send("hello", name="dashboard", protocolVersion=2, session=session, tools=[])
    await post_until_farewell(line, _posts(line))


async def _posts(line: GatewayLine) -> None:
    with contextlib.suppress(ConnectionClosed):  # the reader notices it, too
        while True:
            await line.send("push", level="keep", stream="visits", event="a visitor looks at main")
            await asyncio.sleep(POST_EVERY * pace())


# The provider that types the code


async def _receive(page: Page) -> None:
    line = await provide("reception", SESSION, [TOOL])
    try:
        for text in _welcome(page):
            await line.send("push", level="surface", stream="welcome", event=text)
        async for message in line:
            if message["type"] == "tool.call":
                await _enter(line, message, page)
            elif is_farewell(message):
                await line.send("goodbye", reason="the session ends")
                return
    finally:
        await line.close()


def _welcome(page: Page) -> list[str]:
    command, home = os.environ.get(COMMAND, "tapui"), os.environ[HOME]
    port = os.environ[URL].rpartition(":")[2].partition("/")[0]
    enter = f'{command} call enter_code --port {port} --args \'{{"code": "CODE"}}\''
    search = f"TAPUI_HOME={shlex.quote(home)} {command} search pairing"
    return [
        "This is a demonstration: scripts play the sessions; no model and no command runs.",
        f"To look at it from another terminal: {command} status --port {port}",
        f"To find something in its records: {search}",
        f"{page.origin} asks to pair. Enter its code there, or run: {enter}",
    ]


async def _enter(line: GatewayLine, call: Json, page: Page) -> None:
    if page.is_paired:
        await line.send(
            "tool.result", id=call["id"], error="the page is paired already", errorCode="CONFLICT"
        )
        return
    page.enter(call["args"]["code"])
    await line.send("tool.result", id=call["id"], data={"entered": page.origin})


if __name__ == "__main__":
    run(visit())
