"""The helper's process as the gateway sees it: its start, its channel, its end."""

import asyncio
import contextlib
import logging
import socket
from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
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
    RunnerPing,
    RunnerReady,
    frame,
    read_by_gateway,
)
from tapui.runtime.children.child import Child, Ended
from tapui.runtime.children.supervisor import ProgramLog, own_program

MAX_UNSENT = 32 * 1024 * 1024
"""Bytes that may wait for the helper to read them; a helper that reads nothing is ended soon."""
LINES_A_TURN = 100
"""Lines that are handed over in one turn of the event loop; it continues with others' work then."""

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


LEAVE_SECONDS = 5.0
"""How long it may take to end when it is asked to."""
_GONE_SECONDS = 1.0
"""How long it may take to end once it has closed the channel."""


@dataclass(frozen=True, slots=True)
class Patience:
    """How long a helper may be silent, also while it starts, or idle: in ticks of `seconds`."""

    seconds: float = 2.0
    silent: int = 3
    starting: int = 15
    idle: int = 30


class HelperProcess:
    """A helper process: `start()` it, and wait for its end with `wait()`.

    While `is_busy` it is asked for a sign of life with each tick, and killed when none comes for
    too long. When it was not busy for long enough, it is ended.
    """

    def __init__(
        self,
        taken: Callable[[FromHelper], None],
        is_busy: Callable[[], bool],
        patience: Patience,
    ) -> None:
        self._taken = taken
        self._is_busy = is_busy
        self._patience = patience
        self._loop = asyncio.get_running_loop()
        self._gone = asyncio.Event()
        self._child: Child | None = None
        self._channel: RunnerChannel | None = None
        self._timer: asyncio.TimerHandle | None = None
        self._heard = self._silent = self._idle = 0
        self.ready: RunnerReady | None = None
        self.is_retired = False
        """Whether it was asked to end."""

    @property
    def pid(self) -> int:
        assert self._child is not None, "a helper that was started has one"
        return self._child.pid

    async def start(self, environ: Mapping[str, str]) -> None:
        """Start it. Raises `OSError`."""
        ours, theirs = socket.socketpair()
        try:
            command = own_program("tapui.emitters.runner", str(theirs.fileno()), environ=environ)
            command = replace(command, inherited=(theirs.fileno(),))
            self._child = await Child.start(command, ProgramLog().take)
            self._channel = RunnerChannel(self._take, self._gone.set)
            ours.setblocking(False)
            channel = self._channel
            await self._loop.create_unix_connection(lambda: channel, sock=ours)
        except BaseException:
            ours.close()
            if self._child is not None:
                self._child.kill()
            raise
        finally:
            theirs.close()
        self._timer = self._loop.call_later(self._patience.seconds, self._tick)

    def send(self, message: RunnerMessage) -> None:
        """Send a message. Raises `FrameError`."""
        assert self._channel is not None, "it was started"
        self._channel.send(message)

    def retire(self) -> None:
        """Ask it to end all that it runs, and itself; it tells nothing more."""
        self.is_retired = True
        if self._channel is not None:
            self._channel.close()

    def kill(self) -> None:
        """End it at once; what it runs is not ended by this."""
        if self._child is not None:
            self._child.kill()

    async def wait(self) -> Ended:
        """Wait for its end; all that it said is taken by then. When cancelled, it is killed."""
        assert self._child is not None, "it was started"
        assert self._channel is not None, "it was started"
        try:
            await self._gone.wait()
            try:
                async with asyncio.timeout(LEAVE_SECONDS if self.is_retired else _GONE_SECONDS):
                    return await self._child.wait()
            except TimeoutError:
                self._child.kill()
                return await self._child.wait()
        except asyncio.CancelledError:
            self._child.kill()
            raise
        finally:
            if self._timer is not None:
                self._timer.cancel()
            self._channel.close()

    @property
    def was_silent(self) -> bool:
        is_ready = self.ready is not None
        return self._silent >= (self._patience.silent if is_ready else self._patience.starting)

    def _take(self, message: FromHelper) -> None:
        if isinstance(message, RunnerReady):
            self.ready = message
        self._taken(message)

    def _tick(self) -> None:
        """Look for a sign of life, or for how long there was nothing to do.

        Ticks are counted, not seconds: this process may have been stopped meanwhile.
        """
        assert self._child is not None, "it was started"
        assert self._channel is not None, "it was started"
        self._timer = None
        if self.is_retired or self._gone.is_set():
            return
        is_heard = self._channel.heard != self._heard
        self._heard = self._channel.heard
        if self._is_busy():
            self._idle = 0
            self._silent = 0 if is_heard else self._silent + 1
            if self.was_silent:
                self._child.kill()
                return
            with contextlib.suppress(FrameError):  # it reads nothing: that is silence, too
                self._channel.send(RunnerPing())
        else:
            self._silent = 0
            self._idle += 1
            if self._idle >= self._patience.idle:
                self.retire()
                return
        self._timer = self._loop.call_later(self._patience.seconds, self._tick)
