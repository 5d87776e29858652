"""A web page with a form for the pairing code."""

import asyncio
import contextlib
from collections.abc import AsyncIterator
from urllib.parse import parse_qs, urlsplit

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
        """Take the code that the person has typed."""
        if not self.is_paired and not self.codes.full():
            self.codes.put_nowait(code)
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
