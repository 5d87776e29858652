"""Pushes no faster than the gateway takes them: it refuses what is over its budget."""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable

from tapui.wire.limits import PUSHES_PER_SECOND
from tapui.wire.provider import Push

log = logging.getLogger("tapui.provider")

SECONDS = 1.1
"""How long a push counts: the gateway's second, and a little for the way there."""
MAX_HELD = 1_000
"""Pushes into one session that wait for their turn; further ones are dropped."""


class _Lane:
    """Pushes into one session."""

    def __init__(self) -> None:
        self.recent = 0
        self.held: deque[Push] = deque()
        self.dropped = 0


class PushPace:
    """Sends pushes in order, `PUSHES_PER_SECOND` in any second for each session."""

    def __init__(
        self, send: Callable[[Push], None], sleep: Callable[[float], Awaitable[None]]
    ) -> None:
        self._send = send
        self._sleep = sleep
        self._lanes: dict[str, _Lane] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def push(self, message: Push) -> None:
        """Send a push, now or when its turn has come."""
        lane = self._lanes.setdefault(message.session_id or "", _Lane())
        if lane.recent < PUSHES_PER_SECOND and not lane.held:
            self._pass(lane, message)
        elif len(lane.held) < MAX_HELD:
            lane.held.append(message)
        else:
            lane.dropped += 1
            if lane.dropped == 1:
                log.warning(
                    "pushes come faster than %d a second for too long; some are dropped",
                    PUSHES_PER_SECOND,
                )

    def _pass(self, lane: _Lane, message: Push) -> None:
        lane.recent += 1
        self._send(message)
        task = asyncio.create_task(self._count_down(lane, message.session_id or ""))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _count_down(self, lane: _Lane, session_id: str) -> None:
        await self._sleep(SECONDS)
        lane.recent -= 1
        if lane.held:
            self._pass(lane, lane.held.popleft())
            return
        lane.dropped = 0
        if lane.recent == 0:
            self._lanes.pop(session_id, None)

    def close(self) -> None:
        """Send nothing more."""
        for task in self._tasks:
            task.cancel()
