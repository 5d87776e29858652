"""The gateway's end of the channel to the helper."""

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import cast

import msgspec

from tapui.core.runs.reports import (
    RunLines,
    RunnerMessage,
)
from tapui.emitters.runner.messages import (
    FrameError,
    FrameReader,
    FromHelper,
    frame,
    read_by_gateway,
)

MAX_UNSENT = 32 * 1024 * 1024
"""Bytes that may wait for the helper to read them; a helper that reads nothing is ended soon."""
LINES_A_TURN = 100
"""Lines that are handed over in one turn of the event loop; it goes on with others' work then."""

_log = logging.getLogger(__name__)


class RunnerChannel(asyncio.Protocol):
    """Messages to and from the helper. `taken` gets each; `lost` is called once, at the end."""

    def __init__(self, taken: Callable[[FromHelper], None], lost: Callable[[], None]) -> None:
        self._taken = taken
        self._lost = lost
        self._loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._frames = FrameReader()
        self._inbox: deque[FromHelper] = deque()
        self._is_handing = False
        self.heard = 0
        """How often something came."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """The channel is open."""
        self._transport = cast("asyncio.Transport", transport)
        self._transport.set_write_buffer_limits(high=MAX_UNSENT)

    def send(self, message: RunnerMessage) -> None:
        """Send a message; after the end it is dropped.

        Raises `FrameError` for one that is too long, or when the helper reads nothing.
        """
        text = frame(message)
        if self._transport is None or self._transport.is_closing():
            return
        if self._transport.get_write_buffer_size() + len(text) > MAX_UNSENT:
            raise FrameError("the runner does not read what it is sent")
        self._transport.write(text)

    def data_received(self, data: bytes) -> None:
        """Take what came. What is unread is bounded by the helper's windows."""
        self.heard += 1
        try:
            self._inbox.extend(read_by_gateway(text) for text in self._frames.feed(data))
        except (FrameError, msgspec.DecodeError) as error:
            _log.error("the runner sent what is no message: %s", error)
            self.close()
        self._hand_over()

    def _hand_over(self) -> None:
        if not self._is_handing:
            self._hand_some()

    def _hand_some(self) -> None:
        lines = 0
        while self._inbox and lines < LINES_A_TURN:
            message = self._inbox.popleft()
            lines += len(message.lines) if isinstance(message, RunLines) else 1
            self._taken(message)
        self._is_handing = bool(self._inbox)
        if self._is_handing:
            self._loop.call_soon(self._hand_some)

    def close(self) -> None:
        """Close the channel: the helper ends everything, and itself."""
        if self._transport is not None:
            self._transport.close()

    def connection_lost(self, error: Exception | None) -> None:  # noqa: ARG002
        """Hand over what came before the end, then tell it."""
        while self._inbox:
            self._taken(self._inbox.popleft())
        self._lost()
