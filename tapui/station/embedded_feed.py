"""The feed of a gateway in this process, and the only crossing between its threads.

Each way is a deque and `call_soon_threadsafe`. What is put in is immutable, or handed over: the
sender keeps no hold of a list. A loop that has closed takes nothing more, which is no error: the
thread behind it has ended.
"""

import asyncio
import contextlib
import contextvars
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING, Generic, TypeVar, cast

from tapui.projection.feed import FeedItem, Link
from tapui.wire.events import Entry
from tapui.wire.limits import PROTOCOL_VERSION
from tapui.wire.message import Message
from tapui.wire.provider import Sessions, SessionsUpdated
from tapui.wire.tower import Notice, TowerHello, TowerSnapshot

if TYPE_CHECKING:
    from tapui.runtime.ports import InProcessEnd
    from tapui.runtime.turn import LoopTurn

T = TypeVar("T")

FRAME = 1 / 12
"""Seconds between two looks of a tower that is awake: it is woken at most once a frame."""
MAX_WAITING = 16 * 1024 * 1024
"""Bytes of events, as JSON, that may wait for the tower."""
MAX_BATCH = 64
"""Events that the tower takes at once: less than a millisecond's work."""


def _wake(
    loop: asyncio.AbstractEventLoop, call: Callable[[], None], context: contextvars.Context
) -> None:
    with contextlib.suppress(RuntimeError):  # it has closed: its thread has ended
        loop.call_soon_threadsafe(call, context=context)


class Mailbox(Generic[T]):
    """Items from any thread, taken one by one, in order, on the loop that `open` was called on.

    Items that come before that wait for it. `take` is called in the context of `open`, never in
    that of the sender.
    """

    def __init__(self) -> None:
        self._items: deque[T] = deque()
        self._take: Callable[[T], None]
        self._context: contextvars.Context
        self._loop: asyncio.AbstractEventLoop | None = None
        self._is_woken = False

    def open(self, take: Callable[[T], None]) -> None:
        self._take = take
        self._context = contextvars.copy_context()
        self._loop = asyncio.get_running_loop()
        self._is_woken = True
        self._loop.call_soon(self._drain, context=self._context)

    def put(self, item: T) -> None:
        """Put an item in. If the loop has closed, it is never taken."""
        self._items.append(item)
        if self._loop is not None and not self._is_woken:
            self._is_woken = True
            _wake(self._loop, self._drain, self._context)

    def _drain(self) -> None:
        # First the flag, then the items: what is put in after the last look wakes the loop again.
        self._is_woken = False
        try:
            while self._items:
                self._take(self._items.popleft())
        finally:
            if self._items and self._loop is not None:  # one could not be taken: on with the next
                self._is_woken = True
                _wake(self._loop, self._drain, self._context)


class TowerLane:
    """Feed items on their way to the tower: paced, bounded, in order.

    The tower (whose thread makes the lane) takes what has come and then rests for a frame; the
    gateway wakes it only while it sleeps. Events beyond `limit` bytes are refused: the tower has
    fallen behind. It then drops the events that wait and has `fell_behind` called, on its own
    thread; a new snapshot is asked for there.
    """

    def __init__(self, *, limit: int = MAX_WAITING, frame: float = FRAME) -> None:
        self._limit = limit
        self._frame = frame
        self._items: deque[FeedItem] = deque()
        self._sizes: deque[int] = deque()
        self._context = contextvars.copy_context()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._news = asyncio.Event()
        # Each of these numbers is written by one thread only.
        self._came = 0
        self._taken = 0
        self.is_asleep = False
        """Whether the tower waits to be woken."""
        self._is_behind = False
        self._is_closed = False

    # The gateway's thread

    def put_events(self, entries: list[Entry], size: int) -> bool:
        """Hand over consecutive events of `size` bytes; False if the tower has fallen behind."""
        if self._came - self._taken + size > self._limit:
            self._is_behind = True
            self._rouse()
            return False
        self._came += size
        self._sizes.append(size)
        self._items.append(entries)
        self._rouse()
        return True

    def put(self, item: FeedItem) -> None:
        """Hand over anything else."""
        self._items.append(item)
        self._rouse()

    def close(self) -> None:
        self._is_closed = True
        self._rouse()

    def _rouse(self) -> None:
        if self.is_asleep and self._loop is not None:
            self.is_asleep = False
            _wake(self._loop, self._news.set, self._context)

    # The tower's thread

    async def items(self, fell_behind: Callable[[], None]) -> AsyncIterator[FeedItem]:
        """Yield what comes, events in batches, until the lane is closed and empty."""
        self._loop = asyncio.get_running_loop()
        while True:
            if self._is_behind:
                self._is_behind = False
                self._drop_events()
                fell_behind()
            while self._items:
                item = self._items.popleft()
                if not isinstance(item, list):
                    yield item
                    continue
                self._taken += self._sizes.popleft()
                while len(item) < MAX_BATCH and self._items and isinstance(self._items[0], list):
                    item += cast("list[Entry]", self._items.popleft())
                    self._taken += self._sizes.popleft()
                for start in range(0, len(item), MAX_BATCH):
                    yield item[start : start + MAX_BATCH]
                    await asyncio.sleep(0)  # keys and frames between two batches
            if self._is_closed:
                if not self._items:
                    return
                continue
            await asyncio.sleep(self._frame)
            await self._sleep()

    async def _sleep(self) -> None:
        self._news.clear()
        self.is_asleep = True
        # What came before the gateway could see that the tower sleeps has not woken it.
        if not (self._items or self._is_behind or self._is_closed):
            await self._news.wait()
        self.is_asleep = False

    def _drop_events(self) -> None:
        """Drop the events that wait; what else waits keeps its order, and what comes meanwhile."""
        kept: list[FeedItem] = []
        for _ in range(len(self._items)):
            item = self._items.popleft()
            if isinstance(item, list):
                self._taken += self._sizes.popleft()
            else:
                kept.append(item)
        self._items.extendleft(reversed(kept))


class FeedSource:
    """The gateway's side: a tower's port, whose messages and events go into the lane.

    All of it runs on the gateway's thread.
    """

    def __init__(self, turn: "LoopTurn", lane: TowerLane) -> None:
        self._lane = lane
        self._is_up = False
        self._is_behind = True  # no event before the first snapshot
        self._port: InProcessEnd = turn.open_port(self._receive, lane.close, self._watch)
        self.send = self._port.send
        self.start_over = self._port.ask_for_snapshot
        """The tower has fallen behind and let go of the events that waited."""

    def close(self) -> None:
        self._port.close()
        self._lane.close()

    def _receive(self, message: Message) -> None:
        if isinstance(message, Sessions):
            self._port.send(TowerHello(PROTOCOL_VERSION, "tapui"))
        elif isinstance(message, TowerSnapshot):
            self._is_behind = False
            self._lane.put(message)
            if not self._is_up:
                self._is_up = True
                self._lane.put(Link("up"))
        elif not isinstance(message, SessionsUpdated):
            self._lane.put(message)

    def _watch(self, entries: list[Entry], size: int) -> None:
        if not self._is_behind:
            self._is_behind = not self._lane.put_events(entries, size)


class EmbeddedFeed:
    """The tower's side (`tower.app.feed.Feed`). All of it runs on the tower's thread.

    `send` passes a message of the tower on, `start_over` asks for a new snapshot, `end` ends the
    gateway within the seconds that it is given and returns when it has ended.
    """

    is_embedded = True

    def __init__(
        self,
        url: str,
        lane: TowerLane,
        *,
        send: Callable[[Message], None],
        start_over: Callable[[], None],
        end: Callable[[float], Awaitable[None]],
    ) -> None:
        self.address = url
        self._lane = lane
        self._send = send
        self._start_over = start_over
        self._end = end
        self._is_up = False

    async def items(self) -> AsyncIterator[FeedItem]:
        """Yield what comes: the first snapshot, `Link("up")`, then batches and answers."""
        async for item in self._lane.items(self._start_over):
            if item == Link("up"):
                self._is_up = True
            yield item
        self._is_up = False
        yield Link("ended", "the gateway has ended")

    def send(self, message: Message) -> None:
        """Send a message to the gateway; before it runs it is dropped, with a notice."""
        if self._is_up:
            self._send(message)
        else:
            self._lane.put(Notice(message="Not sent: the gateway is away.", level="warning"))

    async def stop(self, deadline: float) -> None:
        await self._end(deadline)
