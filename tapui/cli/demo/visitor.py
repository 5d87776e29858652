"""A web page that asks to pair: it has an Origin, no token, and a form for the code.

Its address is the Origin that tapui shows: open it and enter the six digits.
"""

import asyncio
import contextlib
import os

from websockets.exceptions import ConnectionClosed

from tapui.cli.demo.line import URL, GatewayLine, ended, is_farewell, pace, run
from tapui.cli.demo.page import Page, served
from tapui.cli.demo.reception import receive

PAUSE = 20.0
"""Seconds until a visitor that was turned away asks again; after a wrong code it asks at once."""
POST_EVERY = 10.0


async def visit() -> None:
    """Serve the page, and type codes into it for those without a browser."""
    async with served() as page:
        both = [asyncio.create_task(_visit(page)), asyncio.create_task(receive(page))]
        try:
            await asyncio.wait(both, return_when=asyncio.FIRST_EXCEPTION)
        finally:
            await ended(both)


async def _visit(page: Page) -> None:
    """Ask to pair until it succeeds, then post to the session."""
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
            await asyncio.sleep(POST_EVERY * pace())


if __name__ == "__main__":
    run(visit())
