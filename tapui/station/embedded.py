"""Tower and gateway in one process and one loop: the feed without a socket."""

import asyncio
from collections import deque
from collections.abc import AsyncIterator
from itertools import islice
from typing import TYPE_CHECKING

from tapui.projection.feed import FeedItem, Link
from tapui.wire.events import Entry
from tapui.wire.message import Message
from tapui.wire.provider import Sessions, SessionsUpdated
from tapui.wire.tower import TowerHello

if TYPE_CHECKING:
    from tapui.runtime.inprocess import InProcessPort
    from tapui.station.running import RunningGateway

MAX_WAITING = 100_000
"""Events that may wait for the tower; beyond, it gets a new snapshot."""
MAX_BATCH = 5_000


class EmbeddedFeed:
    """The gateway of this process as its tower sees it (`tower.feed.Feed`)."""

    is_embedded = True

    def __init__(self, url: str) -> None:
        self._url = url
        self._running: RunningGateway | None = None
        self._port: InProcessPort | None = None
        self._unsent: list[Message] = []
        self._waiting: deque[Entry | FeedItem] = deque()
        self._came = asyncio.Event()
        self._is_open = True

    def attach(self, running: "RunningGateway") -> None:
        """The gateway runs: from now on its events come, and what was sent goes to it."""
        self._running = running
        self._open(running)

    def _open(self, running: "RunningGateway") -> None:
        self._port = running.turn.open_port(self._received, self._closed, self._watched)

    @property
    def address(self) -> str:
        """The gateway's URL."""
        return self._url

    async def items(self) -> AsyncIterator[FeedItem]:
        """Yield what comes: consecutive events as one batch, everything else by itself."""
        yield Link("up")
        while True:
            await self._came.wait()
            while self._waiting:
                if isinstance(self._waiting[0], Entry):
                    yield self._batch()
                else:
                    item = self._waiting.popleft()
                    assert not isinstance(item, Entry)
                    yield item
            if not self._is_open:
                yield Link("ended", "the gateway has ended")
                return
            self._came.clear()

    def _batch(self) -> list[Entry]:
        batch: list[Entry] = []
        for entry in islice(self._waiting, MAX_BATCH):
            if not isinstance(entry, Entry):
                break
            batch.append(entry)
        for _ in batch:
            self._waiting.popleft()
        return batch

    def send(self, message: Message) -> None:
        """Send a tower message to the gateway, as soon as there is one."""
        if self._port is None:
            self._unsent.append(message)
        else:
            self._port.send(message)

    async def stop(self, deadline: float) -> None:
        """End the gateway, with at most `deadline` seconds for its providers."""
        if self._running is not None:
            await self._running.stop(deadline)

    def _received(self, message: Message) -> None:
        if isinstance(message, Sessions):
            unsent, self._unsent = self._unsent, []
            for one in (TowerHello(2, "tapui"), *unsent):
                self.send(one)
        elif not isinstance(message, SessionsUpdated):
            self._put(message)

    def _watched(self, entries: list[Entry]) -> None:
        if len(self._waiting) + len(entries) > MAX_WAITING:
            self._start_over()
            return
        self._waiting.extend(entries)
        self._came.set()

    def _start_over(self) -> None:
        """The tower fell behind: drop what waits, and have the state sent anew."""
        self._waiting = deque(item for item in self._waiting if not isinstance(item, Entry))
        assert self._running is not None, "events come from a gateway that runs"
        if self._port is not None:
            self._port.close()
        self._open(self._running)

    def _closed(self) -> None:
        self._is_open = False
        self._came.set()

    def _put(self, item: FeedItem) -> None:
        self._waiting.append(item)
        self._came.set()

    def end(self) -> None:
        """The gateway has ended: the items come to their end."""
        self._closed()
