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
    """Sends pushes in order, `PUSHES_PER_SECOND` in any second for each session.

    While `may_send` says no, they wait; `resume` is called when it says yes again.
    """

    def __init__(
        self,
        send: Callable[[Push], None],
        sleep: Callable[[float], Awaitable[None]],
        may_send: Callable[[], bool],
    ) -> None:
        self._send = send
        self._sleep = sleep
        self._may_send = may_send
        self._lanes: dict[str, _Lane] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def push(self, message: Push) -> None:
        """Send a push, now or when its turn has come."""
        session_id = message.session_id or ""
        lane = self._lanes.setdefault(session_id, _Lane())
        if len(lane.held) < MAX_HELD:
            lane.held.append(message)
            self._go_on(lane, session_id)
            return
        lane.dropped += 1
        if lane.dropped == 1:
            log.warning(
                "pushes come faster than %d a second for too long; some are dropped",
                PUSHES_PER_SECOND,
            )

    def resume(self) -> None:
        """Send what has waited, as far as its turn has come."""
        for session_id, lane in list(self._lanes.items()):
            self._go_on(lane, session_id)

    def _go_on(self, lane: _Lane, session_id: str) -> None:
        while lane.held and lane.recent < PUSHES_PER_SECOND and self._may_send():
            lane.recent += 1
            self._send(lane.held.popleft())
            task = asyncio.create_task(self._count_down(lane, session_id))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _count_down(self, lane: _Lane, session_id: str) -> None:
        await self._sleep(SECONDS)
        lane.recent -= 1
        self._go_on(lane, session_id)
        if not lane.held:
            lane.dropped = 0
            if lane.recent == 0:
                self._lanes.pop(session_id, None)

    def close(self) -> None:
        """Send nothing more."""
        for task in self._tasks:
            task.cancel()
