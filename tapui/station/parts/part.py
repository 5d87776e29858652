"""Parts: what runs beside the gateway for as long as it runs, such as a host.

They are started in order and stopped in reverse; one that fails leaves the others running.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

from tapui.home.paths import Home
from tapui.home.run_folder import GatewayFile
from tapui.hosts.port import Report
from tapui.runtime.turn import LoopTurn
from tapui.station.options import Options
from tapui.update import UpdatedError

_log = logging.getLogger(__name__)
STOP_SECONDS = 3.0
"""How long one part may take to stop."""


async def pause(stopping: asyncio.Event, seconds: float) -> None:
    """Wait until `stopping` is set, for at most `seconds`."""
    with contextlib.suppress(TimeoutError):  # the time is up: that was the pause
        async with asyncio.timeout(seconds):
            await stopping.wait()


@dataclass(frozen=True, slots=True)
class GatewayAccess:
    """What a part gets of the gateway that it runs beside."""

    turn: "LoopTurn"
    """Opens in-process ports (`open_port`)."""
    announced: GatewayFile
    """The gateway's URL and where its tokens lie, for a part in a process of its own."""
    home: Home
    options: Options
    report: Report
    """May be called from any thread."""
    spawn: Callable[[Coroutine[Any, Any, None]], None]
    """Runs a coroutine until it ends or the part stops. What it raises is logged and told to the
    person in the part's name; the gateway and the other parts keep running."""


class Part(Protocol):
    """One part. `start` and `stop` are called at most once each, on the gateway's loop."""

    @property
    def name(self) -> str:
        """What has failed, in words for the person, such as "the search for Copilot sessions"."""

    def start(self, access: GatewayAccess) -> None:
        """Begin, without waiting for anything. Must not raise for what the world does to it."""

    async def stop(self) -> None:
        """End in order, before the server closes its connections. Bounded by the caller; what
        was spawned is cancelled afterwards."""


class PartList:
    """The parts of one gateway. A part that fails is logged and told; the others keep running."""

    def __init__(
        self, parts: Sequence[Part], report: Report, stop_seconds: float = STOP_SECONDS
    ) -> None:
        self._stop_seconds = stop_seconds
        self._parts = parts
        self._report = report
        self._started: list[Part] = []
        self._tasks: dict[Part, set[asyncio.Task[None]]] = {}
        self._is_stopping = False

    def start(self, turn: LoopTurn, announced: GatewayFile, home: Home, options: Options) -> None:
        for part in self._parts:
            access = GatewayAccess(
                turn=turn,
                announced=announced,
                home=home,
                options=options,
                report=self._report,
                spawn=partial(self._spawn, part),
            )
            self._started.append(part)
            try:
                part.start(access)
            except Exception as error:  # noqa: BLE001 - logged and told; the others go on
                self._failed(part, error)

    async def stop(self) -> None:
        """Stop every part that was started, last first."""
        self._is_stopping = True
        while self._started:
            part = self._started.pop()
            try:
                async with asyncio.timeout(self._stop_seconds):
                    await part.stop()
            except TimeoutError:
                _log.warning("%s did not end within %g s", part.name, self._stop_seconds)
            except Exception:  # noqa: BLE001 - logged; the others must still be stopped
                _log.exception("%s failed while it was stopped", part.name)
            tasks = self._tasks.pop(part, set())
            for task in tasks:
                task.cancel()
            if tasks:
                await asyncio.wait(tasks)  # `_ended` logs what failed

    def _spawn(self, part: Part, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work, name=part.name)
        tasks = self._tasks.setdefault(part, set())
        tasks.add(task)
        task.add_done_callback(partial(self._ended, part, tasks))

    def _ended(
        self, part: Part, tasks: "set[asyncio.Task[None]]", task: "asyncio.Task[None]"
    ) -> None:
        tasks.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is not None:
            self._failed(part, error)

    def _failed(self, part: Part, error: BaseException) -> None:
        if isinstance(error, UpdatedError):
            _log.warning("%s failed: %s", part.name, error)
            self._report(f"{part.name} failed: {error}", "warning")
            return
        _log.error("%s failed", part.name, exc_info=error)
        if not self._is_stopping:
            self._report(f"{part.name} failed: {error}; restart tapui", "error")
