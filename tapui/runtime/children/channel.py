"""An end of the socket pair to a child process, or to the parent, on asyncio; see `lines.py`."""

import asyncio
import logging
import socket
from collections import deque
from collections.abc import Callable
from dataclasses import replace
from typing import Generic, TypeVar, cast

from msgspec import Struct

from tapui.runtime.children.child import Child, Command, Ended, OnLine
from tapui.runtime.children.lines import LineCodec, LineError, LineSplitter

M = TypeVar("M")

MAX_UNSENT = 32 * 1024 * 1024
"""Bytes that may wait for a child to read them."""
WEIGHT_A_TURN = 100
"""How much is handed over in one turn of the event loop; it continues with others' work then."""

_log = logging.getLogger(__name__)


class UnreadError(LineError):
    """The other process does not read what it is sent."""

    def __init__(self) -> None:
        super().__init__("it does not read what it is sent")


class Channel(asyncio.Protocol, Generic[M]):
    """Messages to and from the process `name`. `on_message` gets each, in order.

    After a line that is no message, `on_bad_line` is called; without it, the channel closes.
    `ended` is done once nothing more comes and all was handed over. `weight` says how much of a
    turn's work a message is.
    """

    def __init__(
        self,
        name: str,
        codec: LineCodec[M],
        on_message: Callable[[M], None],
        *,
        on_bad_line: Callable[[LineError], None] | None = None,
        weight: Callable[[M], int] = lambda _: 1,
        most_unsent: float = MAX_UNSENT,
    ) -> None:
        self._name = name
        self._codec = codec
        self._on_message = on_message
        self._on_bad_line = on_bad_line
        self._weight = weight
        self._most_unsent = most_unsent
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._splitter = LineSplitter()
        self._inbox: deque[M] = deque()
        self._is_handing = False
        self._may_write = asyncio.Event()
        self._may_write.set()
        self.heard = 0
        """How often something came."""
        self.ended: asyncio.Future[None] = self._loop.create_future()

    async def open(self, end: socket.socket) -> None:
        end.setblocking(False)
        await self._loop.create_unix_connection(lambda: self, sock=end)

    async def start(self, command: Command, on_line: OnLine) -> Child:
        """Start a child that has the other end, and its number as the last argument.

        Raises `OSError` and `ValueError` like `Child.start`.
        """
        ours, theirs = socket.socketpair()
        child = None
        try:
            number = theirs.fileno()
            argv = (*command.argv, str(number))
            child = await Child.start(replace(command, argv=argv, inherited=(number,)), on_line)
            await self.open(ours)
        except BaseException:
            ours.close()
            if child is not None:
                child.kill()
            raise
        finally:
            theirs.close()
        return child

    @property
    def is_closed(self) -> bool:
        return self._transport is None or self._transport.is_closing()

    @property
    def unsent(self) -> int:
        """Bytes that wait for the other process to read them."""
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    def send(self, message: Struct) -> None:
        """Send a message; after the end it is dropped. Raises `LineError`."""
        line = self._codec.encode(message)
        if self._transport is None or self._transport.is_closing():
            return
        if self.unsent + len(line) > self._most_unsent:
            raise UnreadError
        self._transport.write(line)

    async def drained(self) -> None:
        """Return once the other process has read most of it, or has ended."""
        await self._may_write.wait()

    async def end_of(self, child: Child, leave: float) -> Ended:
        """Wait for the end of `child`; all that it said is taken by then.

        It has `leave` seconds once nothing more comes. Then, or when this is cancelled, it is
        killed.
        """
        try:
            await asyncio.wait([self.ended])
            try:
                async with asyncio.timeout(leave):
                    return await child.wait()
            except TimeoutError:
                child.kill()
                return await child.wait()
        except asyncio.CancelledError:
            child.kill()
            raise
        finally:
            self.close()

    def close(self) -> None:
        """Close it; what was sent before still goes out."""
        if self._transport is not None:
            self._transport.close()

    # What asyncio calls

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)

    def pause_writing(self) -> None:
        self._may_write.clear()

    def resume_writing(self) -> None:
        self._may_write.set()

    def data_received(self, data: bytes) -> None:
        self.heard += 1
        for line in self._splitter.feed(data):
            if self.is_closed:
                break
            try:
                self._inbox.append(self._codec.decode(line))
            except LineError as error:
                if self._on_bad_line is not None:
                    self._on_bad_line(error)
                    continue
                _log.error("%s sent what is no message: %s", self._name, error)
                self.close()
        if not self._is_handing:
            self._hand_over()

    def _hand_over(self) -> None:
        weight = 0
        while self._inbox and weight < WEIGHT_A_TURN:
            message = self._inbox.popleft()
            weight += self._weight(message)
            self._hand(message)
        was_handing, self._is_handing = self._is_handing, bool(self._inbox)
        if self._is_handing:
            self._loop.call_soon(self._hand_over)
        if self._is_handing == was_handing or self._transport is None or self.is_closed:
            return
        if self._is_handing:  # what comes meanwhile waits with the other process, not here
            self._transport.pause_reading()
        else:
            self._transport.resume_reading()

    def _hand(self, message: M) -> None:
        try:
            self._on_message(message)
        except Exception:  # noqa: BLE001 - logged; the other messages and the end still come
            _log.exception("a message of %s was not taken", self._name)

    def connection_lost(self, error: Exception | None) -> None:  # noqa: ARG002
        """Hand over what came before the end, then tell it."""
        while self._inbox:
            self._hand(self._inbox.popleft())
        self._may_write.set()
        if not self.ended.done():
            self.ended.set_result(None)
