"""The link of `tapui provider dev` to the gateway."""

import asyncio
from collections.abc import Callable

from tapui.provider.link import Dial, Link, LinkLost
from tapui.secret import Secret
from tapui.wire.message import Message
from tapui.wire.provider import Auth, Goodbye


class GatewayEnd:
    """One link at a time to the gateway: shows the token, and carries messages until it is lost.

    `on_message` may raise `LinkLost` to give the link up; `on_lost` gets the reason why a link is
    gone, or could not be opened.
    """

    def __init__(
        self,
        dial: Dial,
        token: Callable[[], Secret | None],
        on_message: Callable[[Message], None],
        on_lost: Callable[[str], None],
    ) -> None:
        self._dial = dial
        self._token = token
        self._on_message = on_message
        self._on_lost = on_lost
        self._link: Link | None = None
        self._work: asyncio.Task[None] | None = None
        self._out: asyncio.Queue[Message] = asyncio.Queue()

    @property
    def is_open(self) -> bool:
        return self._link is not None

    def open(self) -> None:
        """Open a link, unless that is under way."""
        if self._work is None or self._work.done():
            self._work = asyncio.create_task(self._serve())

    def send(self, message: Message) -> None:
        self._out.put_nowait(message)

    async def close(self) -> None:
        link, self._link = self._link, None
        if self._work is not None:
            self._work.cancel()
            await asyncio.wait([self._work])
        if link is None:
            return
        try:
            while not self._out.empty():
                await link.send(self._out.get_nowait())
            await link.send(Goodbye("the provider leaves"))
        except LinkLost:
            pass  # it went first
        await link.close()

    async def _serve(self) -> None:
        try:
            token = self._token()
            link = await self._dial()
        except LinkLost as error:
            self._on_lost(error.reason)
            return
        self._link = link
        self._out = asyncio.Queue()
        if token is not None:
            self.send(Auth(token=token.reveal()))
        sending = asyncio.create_task(self._send_on(link))
        try:
            while True:
                self._on_message(await link.receive())
        except LinkLost as error:
            self._link = None
            await link.close()
            self._on_lost(error.reason)
        finally:
            sending.cancel()
            await asyncio.wait([sending])

    async def _send_on(self, link: Link) -> None:
        try:
            while True:
                await link.send(await self._out.get())
        except LinkLost:
            return  # the receiver learns of it
