"""What a provider says, in order, on its way to the link."""

import asyncio
from collections import deque
from collections.abc import Callable

from tapui.provider.link import Link, ReadyLink
from tapui.wire.message import Message, ToolProgress
from tapui.wire.provider import ToolResult

MAX_PROGRESS = 16
"""Messages of one call's progress that wait for the link; the oldest go first."""


class Outbox:
    """Messages that wait until the link takes them. Used from the loop alone."""

    def __init__(self) -> None:
        self._waiting: deque[Message] = deque()
        self._progress: dict[str, deque[ToolProgress]] = {}
        self._wake: asyncio.Future[None] | None = None
        self._offer: Callable[[Message], bool] | None = None

    def put(self, message: Message) -> None:
        """Send a message, after what was put before."""
        if type(message) is ToolResult and self._progress:
            self._waiting.extend(self._progress.pop(message.id, ()))
        if self._offer is not None and not self._waiting and self._offer(message):
            return
        self._waiting.append(message)
        self._stir()

    def progress(self, told: ToolProgress) -> None:
        """Send how far a call is, before its result."""
        self._progress.setdefault(told.id, deque(maxlen=MAX_PROGRESS)).append(told)
        self._stir()

    def _stir(self) -> None:
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)

    async def carry(self, link: Link) -> None:
        """Hand over to the link whatever comes, until it is lost (`LinkLost`)."""
        loop = asyncio.get_running_loop()
        self._offer = link.offer if isinstance(link, ReadyLink) else None
        while True:
            await self.flush(link)
            self._wake = loop.create_future()
            await self._wake

    async def flush(self, link: Link) -> None:
        """Hand over what waits. Raises `LinkLost`."""
        # What is put meanwhile waits in its turn, behind the message that is being sent.
        offer, self._offer = self._offer, None
        while self._waiting or self._progress:
            while self._waiting:
                await link.send(self._waiting.popleft())
            for call_id in list(self._progress):
                self._waiting.extend(self._progress.pop(call_id))
        self._offer = offer
