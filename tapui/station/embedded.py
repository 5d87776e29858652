"""The feed of a gateway in this process: its two ends, one on each side of the crossing."""

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TYPE_CHECKING

from tapui.projection.feed import FeedItem, Link
from tapui.station.crossing import TowerLane
from tapui.wire.events import Entry
from tapui.wire.limits import PROTOCOL_VERSION
from tapui.wire.message import Message
from tapui.wire.provider import Sessions, SessionsUpdated
from tapui.wire.tower import Notice, TowerHello, TowerSnapshot

if TYPE_CHECKING:
    from tapui.runtime.inprocess import InProcessEnd
    from tapui.runtime.turn import LoopTurn


class FeedSource:
    """The gateway's side: a tower's port, whose messages and events go into the lane.

    All of it runs on the gateway's thread.
    """

    def __init__(self, turn: "LoopTurn", lane: TowerLane) -> None:
        self._lane = lane
        self._is_up = False
        self._is_behind = True  # no event before the first snapshot
        self._port: InProcessEnd = turn.open_port(self._receive, lane.close, self._watch)

    def send(self, message: Message) -> None:
        self._port.send(message)

    def start_over(self) -> None:
        """The tower has fallen behind and let go of the events that waited."""
        self._port.ask_for_snapshot()

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
    """The tower's side (`tower.feed.Feed`). All of it runs on the tower's thread.

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
        self._url = url
        self._lane = lane
        self._send = send
        self._start_over = start_over
        self._end = end
        self._is_up = False

    @property
    def address(self) -> str:
        return self._url

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
        """End the gateway, with at most `deadline` seconds for its providers."""
        await self._end(deadline)
