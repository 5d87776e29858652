"""The helper's process as the gateway sees it: its start, its channel, its end."""

import asyncio
import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from tapui.core.runs.reports import RunLines, RunnerMessage
from tapui.emitters.runner.messages import AT_GATEWAY, FromHelper, RunnerPing, RunnerReady
from tapui.runtime.children.channel import Channel
from tapui.runtime.children.child import Child, Ended
from tapui.runtime.children.lines import LineError
from tapui.runtime.children.supervisor import ProgramLog, own_program

LEAVE_SECONDS = 5.0
"""Seconds from the closing of the channel, by either side, until it is killed."""


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
        self._child: Child | None = None
        self._channel = Channel("the runner", AT_GATEWAY, self._take, weight=_weight)
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
        command = own_program("tapui.emitters.runner", environ=environ)
        self._child = await self._channel.start(command, ProgramLog().take)
        self._timer = self._loop.call_later(self._patience.seconds, self._tick)

    def send(self, message: RunnerMessage) -> None:
        """Send a message. Raises `LineError`."""
        self._channel.send(message)

    def retire(self) -> None:
        """Ask it to end all that it runs, and itself; it tells nothing more."""
        self.is_retired = True
        self._channel.close()

    def kill(self) -> None:
        """End it at once; what it runs is not ended by this."""
        if self._child is not None:
            self._child.kill()

    async def wait(self) -> Ended:
        """Wait for its end; all that it said is taken by then. When cancelled, it is killed."""
        assert self._child is not None, "it was started"
        try:
            return await self._channel.end_of(self._child, LEAVE_SECONDS)
        finally:
            if self._timer is not None:
                self._timer.cancel()

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
        self._timer = None
        if self.is_retired or self._channel.ended.done():
            return
        is_heard = self._channel.heard != self._heard
        self._heard = self._channel.heard
        if self._is_busy():
            self._idle = 0
            self._silent = 0 if is_heard else self._silent + 1
            if self.was_silent:
                self._child.kill()
                return
            with contextlib.suppress(LineError):  # it reads nothing: that is silence, too
                self._channel.send(RunnerPing())
        else:
            self._silent = 0
            self._idle += 1
            if self._idle >= self._patience.idle:
                self.retire()
                return
        self._timer = self._loop.call_later(self._patience.seconds, self._tick)


def _weight(message: FromHelper) -> int:
    return len(message.lines) if isinstance(message, RunLines) else 1
