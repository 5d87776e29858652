"""A web page that asks to pair: it has an Origin, no token, and a form for the code.

Its address is the Origin that tapui shows: open it and enter the six digits.
"""

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from urllib.parse import parse_qs, urlsplit

from websockets.exceptions import ConnectionClosed

from tapui.cli.demo.line import SESSION, URL, GatewayLine, ended, is_farewell, run

PAUSE = 20.0
"""Seconds until a visitor that was turned away asks again; after a wrong code it asks at once."""
POST_EVERY = 10.0
_REQUEST_BYTES = 16 * 1024
_REQUEST_SECONDS = 5.0
_FORM = (
    "<form><label>The code that tapui shows: "
    '<input name="code" inputmode="numeric" pattern="[0-9]{6}" required autofocus></label> '
    "<button>Pair</button></form>"
)


class Page:
    """The page at 127.0.0.1: `codes` holds what was entered, `news` is shown above the form."""

    def __init__(self, server: asyncio.Server) -> None:
        self.codes: asyncio.Queue[str] = asyncio.Queue(1)
        self.news = ""
        self.is_paired = False
        self._server = server

    @property
    def origin(self) -> str:
        """The page's own address."""
        return f"http://127.0.0.1:{self._server.sockets[0].getsockname()[1]}"

    async def answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Answer one request."""
        try:
            async with asyncio.timeout(_REQUEST_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
                target = head.split(b" ", 2)[1].decode("ascii")
                self._take(parse_qs(urlsplit(target).query).get("code", []))
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

    def _take(self, codes: list[str]) -> None:
        if codes and not self.is_paired and not self.codes.full():
            self.codes.put_nowait(codes[0])
            self.news = "The code was sent. <a href='/'>Has it paired?</a>"


@contextlib.asynccontextmanager
async def served() -> AsyncIterator[Page]:
    """Serve the page."""
    pages: list[Page] = []

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await pages[0].answer(reader, writer)

    server = await asyncio.start_server(answer, "127.0.0.1", 0, limit=_REQUEST_BYTES)
    async with server:
        pages.append(Page(server))
        yield pages[0]


async def visit() -> None:
    """Ask to pair until it succeeds, then post to the session."""
    async with served() as page:
        while True:
            line = await GatewayLine.open(os.environ[URL], {"mode": "pair"}, origin=page.origin)
            try:
                paired = await _pair(line, page)
                if paired:
                    await _post(line)
                    return
            finally:
                await line.close()
            await asyncio.sleep(0 if paired is None else PAUSE)


async def _pair(line: GatewayLine, page: Page) -> bool | None:
    """Wait for the code and send it. Returns True when paired, None when the code was wrong, and
    False when the request was denied or has expired."""
    while not page.codes.empty():
        page.codes.get_nowait()  # of a request before
    entered = asyncio.ensure_future(page.codes.get())
    answered = asyncio.ensure_future(line.until("error"))
    await asyncio.wait([entered, answered], return_when=asyncio.FIRST_COMPLETED)
    if answered.done():
        entered.cancel()
        answered.result()
        return False
    await ended([answered])  # the next line notices it, too
    await line.send("auth.confirm", code=entered.result())
    if (await line.until("sessions", "error"))["type"] == "error":
        page.news = "That was not the code. Wait for the next request in tapui."
        return None
    page.is_paired, page.news = True, "Paired with tapui."
    return True


async def _post(line: GatewayLine) -> None:
    """Be a provider of the session until it ends."""
    await line.send("hello", name="dashboard", protocolVersion=2, session=SESSION, tools=[])
    posting = asyncio.create_task(_posts(line))
    try:
        async for message in line:
            if is_farewell(message):
                await line.send("goodbye", reason="the session ends")
                return
    finally:
        await ended([posting])


async def _posts(line: GatewayLine) -> None:
    with contextlib.suppress(ConnectionClosed):  # the reader notices it, too
        while True:
            await line.send("push", level="keep", stream="visits", event="somebody looks at main")
            await asyncio.sleep(POST_EVERY)


if __name__ == "__main__":
    run(visit())
