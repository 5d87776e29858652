"""A feed from a gateway in another process: what the second tower shows."""

import asyncio
import contextlib
import logging
from collections import deque
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from tapui.client.connection import GatewayConnection
from tapui.client.gateways import FoundGateway, GatewayError, GatewayLost
from tapui.projection.feed import FeedItem, Link
from tapui.wire.events import Entry
from tapui.wire.message import Message
from tapui.wire.tower import Notice, TowerSnapshot

_log = logging.getLogger(__name__)

BATCH = 1024
"""Events a batch at most."""
OUTBOX = 256
"""Messages that wait to be sent."""


@dataclass(frozen=True, slots=True)
class FeedLimits:
    """What may wait for the tower, and the seconds between two attempts to connect."""

    backlog: int = 8 * BATCH
    """Events and messages that wait."""
    backlog_bytes: int = 8 * 1024 * 1024
    """Their bytes as JSON. Beyond either nothing is read: the gateway sees a tower that has fallen
    behind, and sends a new snapshot, for which the events that wait are dropped."""
    first_retry: float = 0.25
    longest_retry: float = 5.0


class RemoteFeed:
    """A running gateway as a tower sees it, through a socket. It survives the gateway's restart.

    `find` returns the gateway to connect to; it is asked anew before every attempt, because a
    restarted gateway has another token. It raises `NoGateway` while there is none. `items()` may
    be used once.
    """

    def __init__(
        self,
        gateway: FoundGateway,
        find: Callable[[], FoundGateway],
        limits: FeedLimits = FeedLimits(),
    ) -> None:
        self._limits = limits
        self._address = gateway.url
        self._pid = gateway.pid
        self._find = find
        self._backlog: deque[FeedItem] = deque()
        self._sizes: deque[int] = deque()
        """The bytes of each item of the backlog."""
        self.waiting = 0
        """Events and messages in the backlog."""
        self.waiting_bytes = 0
        self._news = asyncio.Event()
        self._room = asyncio.Event()
        self._outbox: asyncio.Queue[Message] | None = None
        self._runner: asyncio.Task[None] | None = None

    @property
    def address(self) -> str:
        return self._address

    @property
    def pid(self) -> int:
        return self._pid

    @property
    def is_embedded(self) -> bool:
        """Whether the gateway ends with this app: it does not."""
        return False

    async def items(self) -> AsyncIterator[FeedItem]:
        """Yield snapshots, batches of at most `BATCH` events, answers and news of the link.

        After every (re)connection the snapshot comes first, then `Link("up")`.
        """
        self._runner = asyncio.create_task(self._run(), name="remote feed")
        self._runner.add_done_callback(self._ended)
        try:
            while True:
                while self._backlog:
                    item = self._take()
                    self._room.set()
                    yield item
                    if isinstance(item, Link) and item.state == "ended":
                        return
                self._news.clear()
                await self._news.wait()
        finally:
            self._runner.cancel()

    def send(self, message: Message) -> None:
        """Send a tower message. Never blocks; what cannot be sent is dropped, with a notice."""
        if self._outbox is None:
            self._put(Notice(message="Not sent: the gateway is away.", level="warning"))
            return
        try:
            self._outbox.put_nowait(message)
        except asyncio.QueueFull:
            self._put(Notice(message="Not sent: the gateway does not read.", level="warning"))

    async def stop(self, deadline: float) -> None:
        """Leave the gateway, within `deadline` seconds; `items()` then ends."""
        if self._runner is None:
            self._put(Link("ended"))
            return
        self._runner.cancel()
        await asyncio.wait([self._runner], timeout=deadline)
        if not self._runner.done():
            self._runner.cancel()  # the gateway does not answer: cut the socket off
            await asyncio.wait([self._runner])

    def _ended(self, runner: "asyncio.Task[None]") -> None:
        fault = None if runner.cancelled() else runner.exception()
        if fault is not None:
            _log.error("the feed of %s failed", self._address, exc_info=fault)
        self._put(Link("ended", "" if fault is None else f"{type(fault).__name__}: {fault}"))

    def _put(self, item: FeedItem, size: int = 0) -> None:
        self._backlog.append(item)
        self._sizes.append(size)
        self.waiting += 1
        self.waiting_bytes += size
        self._news.set()

    def _put_event(self, entry: Entry, size: int) -> None:
        last = self._backlog[-1] if self._backlog else None
        if isinstance(last, list) and len(last) < BATCH:
            last.append(entry)
            self._sizes[-1] += size
            self.waiting += 1
            self.waiting_bytes += size
        else:
            self._put([entry], size)

    def _take(self) -> FeedItem:
        item = self._backlog.popleft()
        self.waiting -= len(item) if isinstance(item, list) else 1
        self.waiting_bytes -= self._sizes.popleft()
        return item

    def _drop_events(self) -> None:
        """Drop the events that wait; what else waits keeps its order."""
        for _ in range(len(self._backlog)):
            size = self._sizes[0]
            item = self._take()
            if not isinstance(item, list):
                self._put(item, size)

    def _is_full(self) -> bool:
        limits = self._limits
        return self.waiting >= limits.backlog or self.waiting_bytes >= limits.backlog_bytes

    async def _run(self) -> None:
        """Connect, carry, and connect again when the gateway goes, until cancelled."""
        delay = 0.0
        while True:
            await asyncio.sleep(delay)
            try:
                async with await GatewayConnection.open(self._find(), role="tower") as connection:
                    self._address = connection.gateway.url
                    self._pid = connection.gateway.pid
                    delay = 0.0
                    await self._carry(connection)
            except GatewayError as error:
                if delay == 0.0:
                    self._put(Link("down", str(error)))
            limits = self._limits
            delay = min(delay * 2, limits.longest_retry) if delay else limits.first_retry

    async def _carry(self, connection: GatewayConnection) -> None:
        """Read and write until the connection is lost (`GatewayLost`)."""
        self._outbox = asyncio.Queue(OUTBOX)
        writer = asyncio.create_task(self._write(connection, self._outbox), name="feed writer")
        self._put(connection.snapshot)
        self._put(Link("up"))
        try:
            while True:
                before = connection.received_bytes
                came = await connection.receive()
                size = connection.received_bytes - before
                if isinstance(came, Entry):
                    self._put_event(came, size)
                else:
                    if isinstance(came, TowerSnapshot):
                        self._drop_events()  # it holds what they changed
                    self._put(came, size)
                while self._is_full():
                    self._room.clear()
                    await self._room.wait()
        finally:
            unsent, self._outbox = self._outbox.qsize(), None
            writer.cancel()
            if unsent:
                self._put(Notice(message="Not sent: the gateway went away.", level="warning"))

    async def _write(self, connection: GatewayConnection, outbox: "asyncio.Queue[Message]") -> None:
        with contextlib.suppress(GatewayLost):  # the reader loses it too, and tells
            while True:
                await connection.send(await outbox.get())
