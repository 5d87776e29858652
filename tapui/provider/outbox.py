"""What a provider says, in order: updates one of a kind at a time, pushes at the gateway's pace."""

import asyncio
import logging
from collections import deque
from collections.abc import Awaitable, Callable

from msgspec.structs import replace

from tapui.provider.link import Link, ReadyLink
from tapui.wire.limits import KEPT_PER_SECOND, PUSHES_PER_SECOND
from tapui.wire.message import Message, ToolProgress
from tapui.wire.provider import ContextUpdate, FilterSet, Push, ToolResult, ToolsUpdate

MAX_PROGRESS = 16
"""Messages of one call's progress that wait for the link; the oldest go first."""


class Outbox:
    """Messages that wait until the link takes them. Used from the loop alone."""

    def __init__(self) -> None:
        self._waiting: deque[Message] = deque()
        self._progress: dict[str, deque[ToolProgress]] = {}
        self._wake: asyncio.Future[None] | None = None
        self._offer: Callable[[Message], bool] | None = None

    def put(self, message: Message) -> None:
        if type(message) is ToolResult and self._progress:
            self._waiting.extend(self._progress.pop(message.id, ()))
        if self._offer is not None and not self._waiting and self._offer(message):
            return
        self._waiting.append(message)
        self._stir()

    def progress(self, told: ToolProgress) -> None:
        self._progress.setdefault(told.id, deque(maxlen=MAX_PROGRESS)).append(told)
        self._stir()

    def _stir(self) -> None:
        if self._wake is not None and not self._wake.done():
            self._wake.set_result(None)

    async def carry(self, link: Link) -> None:
        """Hand over to the link all that comes, until it is lost (`LinkLost`)."""
        loop = asyncio.get_running_loop()
        self._offer = link.offer if isinstance(link, ReadyLink) else None
        while True:
            await self.flush(link)
            self._wake = loop.create_future()
            await self._wake

    async def flush(self, link: Link) -> None:
        """Hand over what waits. Raises `LinkLost`."""
        # What is put meanwhile waits in its turn, behind the message that is being sent.
        offer, self._offer = self._offer, None
        while self._waiting or self._progress:
            while self._waiting:
                await link.send(self._waiting.popleft())
            for call_id in list(self._progress):
                self._waiting.extend(self._progress.pop(call_id))
        self._offer = offer


Update = ToolsUpdate | ContextUpdate | FilterSet


class Updates:
    """Sends updates; while one waits for its acknowledgement the next of its kind is held."""

    def __init__(self, outbox: Outbox) -> None:
        self._outbox = outbox
        self._count = 0
        self._under_way: dict[str, str] = {}
        """The kind of each update that was sent, by its request's id."""
        self._held: dict[str, dict[str, Update]] = {}

    def want(self, update: Update) -> None:
        kind = str(update.__struct_config__.tag)
        if kind not in self._under_way.values():
            self._send(kind, update)
            return
        about = update.stream if isinstance(update, FilterSet) else update.session_id or ""
        held = self._held.setdefault(kind, {})
        held.pop(about, None)
        held[about] = update

    def settled(self, request_id: str) -> str | None:
        """An update was acknowledged, or refused; return its kind."""
        kind = self._under_way.pop(request_id, None)
        held = self._held.get(kind or "")
        if kind is not None and held:
            self._send(kind, held.pop(next(iter(held))))
        return kind

    def _send(self, kind: str, update: Update) -> None:
        self._count += 1
        id_ = f"u{self._count}"
        self._under_way[id_] = kind
        self._outbox.put(replace(update, request_id=id_))


log = logging.getLogger("tapui.provider")

SECONDS = 1.1
"""How long a push counts: the gateway's second, and a little for the way there."""
LEAST_WAITED = 1_000
"""Milliseconds that a push has waited before it says how long."""
MAX_HELD = 1_000
"""Pushes into one session that wait for their turn; of more, the oldest are dropped."""


class _Lane:
    """Pushes into one session."""

    def __init__(self) -> None:
        self.recent = 0
        self.reaching = 0
        """Of the recent pushes, those that reach the person or the agent."""
        self.held: deque[tuple[float, Push]] = deque()
        """Each with the time from which it has waited, in seconds."""
        self.dropped: dict[str | None, int] = {}
        """By stream: how many pushes were dropped, until the next one tells."""
        self.is_warned = False

    def may_send(self) -> bool:
        """Return whether the oldest push that waits is within the budget."""
        if not self.held or self.recent >= KEPT_PER_SECOND:
            return False
        return not _reaches(self.held[0][1]) or self.reaching < PUSHES_PER_SECOND


def _reaches(message: Push) -> bool:
    return message.level != "keep" or message.prompt is not None


class PushPace:
    """Sends pushes in order: `KEPT_PER_SECOND` in any second for each session, and of those that
    reach the person or the agent `PUSHES_PER_SECOND`. The next push of a stream says how many of it
    were dropped, and each how long it waited, from a second on.

    While `may_send` says no, they wait; `resume` is called when it says yes again.
    """

    def __init__(
        self,
        send: Callable[[Push], None],
        sleep: Callable[[float], Awaitable[None]],
        may_send: Callable[[], bool],
        now: Callable[[], float],
    ) -> None:
        self._now = now
        self._send = send
        self._sleep = sleep
        self._may_send = may_send
        self._lanes: dict[str, _Lane] = {}
        self._tasks: set[asyncio.Task[None]] = set()

    def push(self, message: Push) -> None:
        session_id = message.session_id or ""
        lane = self._lanes.setdefault(session_id, _Lane())
        lane.held.append((self._now(), message))
        if len(lane.held) > MAX_HELD:
            _since, gone = lane.held.popleft()
            lane.dropped[gone.stream] = lane.dropped.get(gone.stream, 0) + 1
            if not lane.is_warned:
                lane.is_warned = True
                log.warning(
                    "pushes come faster than %d a second (%d of those that are kept) for too long; "
                    "the oldest are dropped",
                    PUSHES_PER_SECOND,
                    KEPT_PER_SECOND,
                )
        self._go_on(lane, session_id)

    def resume(self) -> None:
        for session_id, lane in list(self._lanes.items()):
            self._go_on(lane, session_id)

    def _go_on(self, lane: _Lane, session_id: str) -> None:
        while lane.may_send() and self._may_send():
            since, message = lane.held.popleft()
            reaches = _reaches(message)
            lane.recent += 1
            lane.reaching += reaches
            dropped = lane.dropped.pop(message.stream, 0)
            waited = int(1000 * (self._now() - since))
            if dropped or waited >= LEAST_WAITED:
                message = replace(message, dropped=dropped, waited=waited)
            self._send(message)
            task = asyncio.create_task(self._count_down(lane, session_id, reaches))
            self._tasks.add(task)
            task.add_done_callback(self._tasks.discard)

    async def _count_down(self, lane: _Lane, session_id: str, reaches: bool) -> None:
        await self._sleep(SECONDS)
        lane.recent -= 1
        lane.reaching -= reaches
        self._go_on(lane, session_id)
        if not lane.held:
            lane.is_warned = False
            if lane.recent == 0:
                self._lanes.pop(session_id, None)

    def close(self) -> None:
        for task in self._tasks:
            task.cancel()
