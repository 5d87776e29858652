"""The gateway in memory: the real core, its effects carried out at once, time turned by hand."""

import asyncio
import heapq
import os
import shutil
import tempfile
import time
from collections import deque
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from itertools import count
from pathlib import Path

import msgspec

from tapui.core.effects import (
    AskRecords,
    Authenticated,
    Close,
    ConnectionId,
    CopyFile,
    EarlierTurns,
    Effect,
    Identified,
    Identify,
    MakeDurable,
    MakePersistDir,
    NoteAgent,
    ReadRecords,
    ReadRules,
    RecordsFound,
    RecordsRead,
    Send,
    SendIfIdle,
    SpansBetween,
)
from tapui.core.gateway import Gateway
from tapui.files.locked_folder import FOLDER_MODE, folder_name
from tapui.policies.rule_reader import FolderRules
from tapui.provider.link import LinkLost
from tapui.runtime import disk_work
from tapui.runtime.system import RegexMatcher, SystemIds, new_run
from tapui.settings.settings import Settings
from tapui.wire import limits
from tapui.wire.codec import encode
from tapui.wire.events import Entry
from tapui.wire.message import Error, Message
from tapui.wire.provider import ToProvider


class HandClock:
    """Seconds of a steady clock that only `turn` moves. It begins at the present moment."""

    def __init__(self) -> None:
        self._now = time.monotonic()
        self._order = count()
        self._sleepers: list[tuple[float, int, asyncio.Future[None]]] = []

    def now(self) -> float:
        return self._now

    async def sleep(self, seconds: float) -> None:
        awake: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        heapq.heappush(self._sleepers, (self._now + seconds, next(self._order), awake))
        await awake

    @property
    def next_sleeper(self) -> float | None:
        while self._sleepers and self._sleepers[0][2].done():
            heapq.heappop(self._sleepers)
        return self._sleepers[0][0] if self._sleepers else None

    def turn(self, now: float) -> None:
        """Move to a time, never back, and wake who has slept until then."""
        self._now = max(self._now, now)
        while (due := self.next_sleeper) is not None and due <= self._now:
            heapq.heappop(self._sleepers)[2].set_result(None)


PROVIDER_TOKEN = "ptk-in-memory"  # noqa: S105 - opens nothing but the gateway of one test
_INTERNAL_TOKEN = "itk-in-memory"  # noqa: S105 - likewise


@dataclass(slots=True, frozen=True)
class TestedEnd:
    """What the gateway says to one connection is handed to these, in order."""

    receive: Callable[[Message], None]
    closed: Callable[[int, str], None]


class Folders:
    """The temporary folder of one test, made when something is first written."""

    def __init__(self) -> None:
        self._root: Path | None = None

    @property
    def root(self) -> Path:
        if self._root is None:
            self._root = Path(tempfile.mkdtemp(prefix="tapui-test-"))
        return self._root

    def of_provider(self, name: str) -> Path:
        """Return where a provider's files are; the folder may not be there yet."""
        return self.root / "providers" / folder_name(name)

    def of_session(self, session_id: str) -> tuple[int, Path]:
        """Make the folder for a session's files; return it, open, and where it is."""
        path = self.root / "sessions" / folder_name(session_id)
        path.mkdir(FOLDER_MODE, parents=True, exist_ok=True)
        return os.open(path, os.O_RDONLY | os.O_DIRECTORY), path

    def remove(self) -> None:
        if self._root is not None:
            shutil.rmtree(self._root, ignore_errors=True)
            self._root = None


class MemoryGateway:
    """Takes messages and hands out what they cause before it returns. For one thread.

    `on_entries` gets each turn's events. Nothing is recorded but in memory: what must be durable
    is so at once.
    """

    def __init__(
        self, clock: HandClock, folders: Folders, on_entries: Callable[[Iterable[Entry]], None]
    ) -> None:
        self._clock = clock
        self._folders = folders
        self._on_entries = on_entries
        self._peers: dict[ConnectionId, TestedEnd] = {}
        self._is_running = False
        self.turns = 0
        """How many turns brought something forth: it stands still while nothing goes on."""
        self.core = Gateway(
            run=new_run(),
            ids=SystemIds(),
            settings=Settings(),
            persist_dir=lambda name: str(folders.of_provider(name)),
            matcher=RegexMatcher(),
            provider_token=PROVIDER_TOKEN,
            internal_token=_INTERNAL_TOKEN,
        )

    # Ends

    def connect(self, peer: TestedEnd) -> ConnectionId:
        """Open an end that speaks in messages and may do everything: a host, a tower."""
        number = self.core.opened_in_process(self._clock.now())
        self._peers[number] = peer
        self.run()
        return number

    def connect_provider(self, peer: TestedEnd) -> ConnectionId:
        """Open an end that speaks in bytes and must show a token, as on a socket."""
        number = self.core.opened(None, self._clock.now())
        self._peers[number] = peer
        return number

    def given(self, number: ConnectionId, message: Message) -> None:
        self.core.given(number, message, self._clock.now())
        self.run()

    def received(self, number: ConnectionId, data: bytes) -> None:
        self.core.received(number, data, self._clock.now())
        self.run()

    def left(self, number: ConnectionId) -> None:
        if self._peers.pop(number, None) is not None:
            self.core.tell(self._clock.now(), self.core.closed, number)
            self.run()

    def stop(self) -> None:
        """Be gone at once, as a gateway that is killed: every end is closed."""
        peers, self._peers = self._peers, {}
        for peer in peers.values():
            peer.closed(1006, "the gateway is gone")

    # Time

    @property
    def next_deadline(self) -> float | None:
        return self.core.next_deadline

    def tick(self) -> None:
        """Let every deadline up to the clock's time come."""
        self.core.tell(self._clock.now(), self.core.tick)
        self.run()

    # The turn

    def run(self) -> None:
        """Carry out what the core has brought forth, and what comes of it, until it is quiet."""
        if self._is_running:
            return  # what an end sends while it receives is carried out by that turn
        self._is_running = True
        try:
            while True:
                entries, _, effects = self.core.take()
                if not entries and not effects:
                    return
                self.turns += 1
                for effect in effects:
                    self._carry_out(effect)
                self._on_entries(entries)
        finally:
            self._is_running = False

    def _carry_out(self, effect: Effect) -> None:
        def answer(ticket: int, found: object) -> None:
            self.core.tell(self._clock.now(), self.core.answered, ticket, found)

        match effect:
            case Send(number, message) | SendIfIdle(number, message):
                peer = self._peers.get(number)
                if peer is not None:
                    peer.receive(message)
            case Close(number, code, reason):
                peer = self._peers.pop(number, None)
                if peer is not None:
                    peer.closed(code, reason)
            case Authenticated():
                pass  # the limits of strangers are the server's
            case MakeDurable(ticket):
                answer(ticket, True)
            case MakePersistDir(provider):
                folder = self._folders.of_provider(provider)
                folder.mkdir(FOLDER_MODE, parents=True, exist_ok=True)
            case CopyFile():
                target = self._folders.of_session(effect.session_id)
                copied = disk_work.copied(effect, target, time.monotonic())
                answer(effect.ticket, copied)
            case ReadRules(ticket, cwd):
                answer(ticket, FolderRules(cwd, cwd))
            case ReadRecords(ticket, _, EarlierTurns()):
                answer(ticket, RecordsRead([]))
            case ReadRecords(ticket, _, SpansBetween()):
                answer(ticket, RecordsRead([]))
            case ReadRecords(ticket):
                answer(ticket, RecordsRead([], "a gateway in memory keeps no records"))
            case AskRecords(ticket):
                answer(ticket, RecordsFound(fault="a gateway in memory keeps no records"))
            case NoteAgent():
                pass  # no connection of a test is looked at
            case Identify(ticket):
                answer(ticket, Identified(None))
            case _:
                raise NotImplementedError(f"a test has no {type(effect).__name__}")


_read: msgspec.json.Decoder[ToProvider] = msgspec.json.Decoder(ToProvider)


class MemoryLink:
    """The provider's end of a connection to a gateway in memory. Implements `Link`.

    `on_refusal` gets each refusal as it leaves the gateway.
    """

    def __init__(self, gateway: MemoryGateway, on_refusal: Callable[[Error], None]) -> None:
        self._gateway = gateway
        self._on_refusal = on_refusal
        self._inbox: deque[Message] = deque()
        self._waiting: asyncio.Future[None] | None = None
        self._lost: str | None = None
        self.sent = 0
        """Messages that the provider has sent."""
        self.number = gateway.connect_provider(TestedEnd(self._arrived, self._closed))
        gateway.run()

    @property
    def is_read(self) -> bool:
        """Whether the provider has taken everything that was sent to it."""
        return self._lost is not None or (not self._inbox and self._waiting is not None)

    async def send(self, message: Message) -> None:
        """Hand a message to the gateway, which has dealt with it when this returns."""
        if self._lost is not None:
            raise LinkLost(self._lost)
        data = encode(message)
        if len(data) > limits.MAX_FRAME_BYTES:
            self._gateway.left(self.number)
            self._closed(1009, f"a message has at most {limits.MAX_FRAME_BYTES} bytes")
            raise LinkLost("a message was too large for the gateway")
        self.sent += 1
        self._gateway.received(self.number, data)

    async def receive(self) -> Message:
        while not self._inbox:
            if self._lost is not None:
                raise LinkLost(self._lost)
            self._waiting = asyncio.get_running_loop().create_future()
            try:
                await self._waiting
            finally:
                self._waiting = None
        return self._inbox.popleft()

    async def close(self) -> None:
        self.lose("closed by the provider")

    def lose(self, reason: str) -> None:
        """The connection breaks: neither end says a word."""
        if self._lost is None:
            self._gateway.left(self.number)
            self._closed(1006, reason)

    def _arrived(self, message: Message) -> None:
        if isinstance(message, Error):
            self._on_refusal(message)
        self._inbox.append(_read.decode(encode(message)))
        self._wake()

    def _closed(self, code: int, reason: str) -> None:
        if self._lost is None:
            self._lost = reason or f"closed by the gateway ({code})"
            self._wake()

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)
