"""A child process that is started again when it fails, with pauses that grow."""

import asyncio
import contextlib
from collections.abc import Callable
from dataclasses import dataclass

from tapui.runtime.children.child import STOP_SECONDS, Child, Command, Ended
from tapui.runtime.children.child_output import OnLine


@dataclass(slots=True)
class Backoff:
    """The pauses between restarts: `first` seconds, doubled each time up to `longest`.

    After a child that ran for `steady` seconds they begin with `first` again.
    """

    first: float = 1.0
    longest: float = 30.0
    steady: float = 30.0
    _last: float = 0.0

    def pause(self, ran: float) -> float:
        """Return the seconds to wait after a child that ran for `ran` seconds."""
        if ran >= self.steady:
            self._last = 0.0
        self._last = min(self._last * 2, self.longest) if self._last else self.first
        return self._last


class Supervisor:
    """Keeps a child running until it ends with exit code 0, or until `stop()`.

    `on_line` takes its output. `on_fault` is told of each other end, or of the error when it
    could not be started, with the seconds until the next start.
    """

    def __init__(
        self,
        command: Command,
        on_line: OnLine,
        on_fault: Callable[[Ended | OSError, float], None],
        backoff: Backoff | None = None,
    ) -> None:
        self._command = command
        self._on_line = on_line
        self._on_fault = on_fault
        self._backoff = backoff or Backoff()
        self._child: Child | None = None
        self._stopping = asyncio.Event()

    @property
    def pid(self) -> int | None:
        """The running child's process id; None between two children."""
        return self._child.pid if self._child is not None else None

    async def run(self) -> None:
        """Start the child, and start it again, until it ends with exit code 0 or `stop()`.

        When this is cancelled, the child is killed.
        """
        while not self._stopping.is_set():
            fault = await self._run_once()
            if fault is None or self._stopping.is_set():
                return
            pause = self._backoff.pause(fault.seconds if isinstance(fault, Ended) else 0.0)
            self._on_fault(fault, pause)
            with contextlib.suppress(TimeoutError):  # the pause is over
                async with asyncio.timeout(pause):
                    await self._stopping.wait()

    async def _run_once(self) -> Ended | OSError | None:
        try:
            self._child = child = await Child.start(self._command, self._on_line)
        except OSError as error:
            return error
        try:
            ended = await (child.stop() if self._stopping.is_set() else child.wait())
        except asyncio.CancelledError:
            child.kill()
            raise
        finally:
            self._child = None
        return None if ended.code == 0 else ended

    async def stop(self, within: float = STOP_SECONDS) -> None:
        """End the child in order, within `within` seconds; `run()` then returns."""
        self._stopping.set()
        if self._child is not None:
            await self._child.stop(within)
