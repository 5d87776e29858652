"""What keeps the index, as a part: a process of its own that runs while something is recorded."""

import asyncio
import logging
import os

from tapui.runtime.children.child import Ended
from tapui.runtime.children.supervisor import ProgramLog, Supervisor, own_program
from tapui.station.parts.part import GatewayAccess, pause

START_SECONDS = 2.0
"""Its start waits for the screen's: searches come later."""
LOOK_SECONDS = 2.0
"""Seconds between two looks whether anything was recorded."""
STOP_SECONDS = 2.0

_log = logging.getLogger(__name__)


class Index:
    """Runs the process that keeps the index up to date with the records.

    All that it costs the gateway's loop is a look at a number every two seconds. The process ends
    when nothing was recorded for a minute, and is started again with the next record.
    """

    name = "the index"

    def __init__(self) -> None:
        self._supervisor: Supervisor | None = None
        self._stopping = asyncio.Event()

    def start(self, access: GatewayAccess) -> None:
        access.spawn(self._run(access))

    async def stop(self) -> None:
        """End the process; what it had not indexed, it does the next time."""
        self._stopping.set()
        if self._supervisor is not None:
            await self._supervisor.stop(STOP_SECONDS)

    async def _run(self, access: GatewayAccess) -> None:
        await pause(self._stopping, START_SECONDS)
        seen = -1
        days = access.options.settings.records.keep_days
        arguments = (str(access.home.state), "--keep-days", str(days))
        while not self._stopping.is_set():
            if access.turn.recorded != seen:
                self._supervisor = Supervisor(
                    own_program("tapui.index", *arguments, environ=os.environ),
                    ProgramLog().take,
                    _failed,
                )
                running = asyncio.ensure_future(self._supervisor.run())
                try:
                    while not running.done():
                        seen = access.turn.recorded  # what comes after this look starts it again
                        await asyncio.wait({running}, timeout=LOOK_SECONDS)
                finally:
                    running.cancel()
                await asyncio.wait({running})
            await pause(self._stopping, LOOK_SECONDS)


def _failed(fault: Ended | OSError, pause: float) -> None:
    _log.warning("the process that keeps the index ended (%s); started again in %g s", fault, pause)
