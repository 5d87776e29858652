"""What a test is played on: gateway, clock, the host of its sessions, and the provider itself."""

import asyncio
from collections.abc import Awaitable, Iterable
from typing import TypeVar

from tapui.provider.link import Link, LinkLost
from tapui.provider.members import ALL
from tapui.provider.provider import Provider
from tapui.provider.serving import Serving
from tapui.secret import Secret
from tapui.testing.faults import Faults, NoAnswer, begin_taking, end_taking, in_a_line, whereabouts
from tapui.testing.gateway import (
    PROVIDER_TOKEN,
    Folders,
    HandClock,
    MemoryGateway,
    MemoryLink,
    TestedEnd,
)
from tapui.testing.memory_host import MemoryHost
from tapui.wire import limits
from tapui.wire.errors import ErrorCode
from tapui.wire.events import ApprovalRequested, Entry
from tapui.wire.message import Error, Message
from tapui.wire.tower import ApprovalDecide, TowerHello

T = TypeVar("T")

_QUIET_PASSES = 12
"""Passes of the event loop without anything said, after which nothing goes on: a message that has
come was read, its function has begun, and what that sends without waiting was sent."""
_LOOK = 0.001
"""Real seconds between two looks whether functions in threads have returned."""
LAST_MOMENT = 1.0
"""Real seconds that functions have to return at the end of a session or a test."""
_LONGEST_BACK_OFF = 120.0
"""Seconds of the clock within which a provider that was cut off is back."""


class Stage:
    """Everything that a test needs besides the provider, and the provider's task.

    `patience` is how many real seconds anything may take.
    """

    def __init__(self, patience: float) -> None:
        self.patience = patience
        self.clock = HandClock()
        self.faults = Faults()
        self.folders = Folders()
        self.host = MemoryHost()
        self._begin_gateway()
        self._link: MemoryLink | None = None
        self._serving: Serving | None = None
        self._work: asyncio.Task[None] | None = None
        self._is_refusing = False
        self.call_errors: dict[str, BaseException] = {}
        """What functions of tools raised, by the gateway's id of the call."""

    # The gateway

    def _begin_gateway(self) -> None:
        self.gateway = MemoryGateway(self.clock, self.folders, self._happened)
        self._person = self.gateway.connect(TestedEnd(_unheard, _ended))
        self.gateway.given(self._person, TowerHello(limits.PROTOCOL_VERSION, "test"))
        self.host.join(self.gateway)

    def restart_gateway(self) -> None:
        """End the gateway as a kill does, and start another, which knows nothing of the former."""
        self.gateway.stop()
        self._begin_gateway()

    def _happened(self, entries: Iterable[Entry]) -> None:
        for entry in entries:
            if isinstance(entry.event, ApprovalRequested):
                approval = entry.event.approval
                self.gateway.given(self._person, ApprovalDecide(approval.id, "approve"))
            else:
                self.host.happened(entry.event)

    # The provider

    def start(self, provider: Provider, session: str) -> None:
        """Let the provider serve a session; one that is bound to all stays so."""
        self._serving = Serving(
            provider,
            self._dial,
            token=Secret(PROVIDER_TOKEN),
            session=None if provider.session == ALL else session,
            sleep=self.clock.sleep,
            now=self.clock.now,
        )
        self._work = asyncio.create_task(
            self._serving.run(),
            name="provider under test",
            context=begin_taking(self._failed),
        )

    def _failed(self, words: str, error: BaseException | None, call_id: str | None) -> None:
        """Something in the provider failed: as a call it is the caller's to judge."""
        if call_id is not None and error is not None:
            self.call_errors[call_id] = error
            return
        self.faults.add(words if error is None else f"{words}: {in_a_line(error)}", error)

    async def _dial(self) -> Link:
        if self._is_refusing:
            raise LinkLost("the test lets no provider in")
        self._link = MemoryLink(self.gateway, self._refused)
        return self._link

    def _refused(self, error: Error) -> None:
        if error.code == ErrorCode.UNAUTHORIZED and error.reply_to == "hello":
            waiting = self.gateway.core.state.approvals.values()
            if any(one.kind == "bindAll" for one in waiting):
                return  # it waits for the person, who says yes
        self.faults.refused(error)

    def disconnect(self, *, keep_out: bool = False) -> None:
        """Break the provider's link; with `keep_out` it finds none until `let_in`."""
        self._is_refusing = keep_out
        if self._link is not None:
            self._link.lose("the test has cut the connection")

    def let_in(self) -> None:
        self._is_refusing = False

    @property
    def is_bound(self) -> bool:
        """Whether the provider has said hello, and every session that it wants has its tools."""
        providers = self.gateway.core.state.providers.values()
        return any(one.state == "bound" for one in providers)

    async def bound(self) -> None:
        """Return when the provider is bound; back-offs pass on the clock."""
        until = self.clock.now() + _LONGEST_BACK_OFF
        await self.settle()
        while not self.is_bound:
            self._check_alive()
            due = self.clock.next_sleeper
            if due is None or due > until:
                raise NoAnswer("the provider has not said hello")
            await self._turn_to(due)
        await self.advance(limits.TOOLS_QUIET_MAX)

    def _check_alive(self) -> None:
        self.faults.check()
        work = self._work
        if work is not None and work.done() and not work.cancelled():
            fault = work.exception()
            if fault is not None:
                raise fault
            raise NoAnswer("the provider has left")

    async def stop(self) -> None:
        work, self._work = self._work, None
        if work is not None:
            work.cancel()
            await asyncio.wait([work], timeout=self.patience)
            if not work.done():
                self.faults.add(f"the provider does not end{whereabouts()}")
            elif not work.cancelled() and (fault := work.exception()):
                self.faults.add(f"the provider ended: {in_a_line(fault)}", fault)
            await self._threads_ended()
            end_taking(self._failed)
        self.gateway.stop()
        self.folders.remove()

    async def _threads_ended(self) -> None:
        """Give functions in threads, whose calls were given up, a moment to return."""
        assert self._serving is not None, "it was started"
        threads = self._serving.functions.threads
        looks = int(LAST_MOMENT / _LOOK)
        while threads.at_work and looks:
            looks -= 1
            await asyncio.sleep(_LOOK)
        for name in threads.at_work:
            self.faults.add(f"the function '{name}' has not returned{whereabouts()}")

    # Time

    async def settle(self) -> None:
        """Return once only clock waits and endless waits are left."""
        quiet, seen = 0, None
        while quiet < _QUIET_PASSES:
            await asyncio.sleep(0)
            link = self._link
            now = (self.gateway.turns, link and (link.number, link.sent, link.is_read))
            quiet = quiet + 1 if now == seen and (link is None or link.is_read) else 0
            seen = now

    async def settled(self) -> None:
        """Return when nothing else runs and no handler of the provider runs; calls may.

        Raises `NoAnswer` for a handler that does not return.
        """
        if not await self.has_settled(self.patience):
            text = f"a handler has not returned within {self.patience:g} s{whereabouts()}"
            raise NoAnswer(text)

    async def has_settled(self, within: float) -> bool:
        """Return whether handlers have returned within so many real seconds."""
        loop = asyncio.get_running_loop()
        end = loop.time() + within
        await self.settle()
        while self._serving is not None and self._serving.functions.telling:
            if loop.time() > end:
                return False
            await asyncio.sleep(_LOOK)
        await self.settle()
        return True

    async def advance(self, seconds: float) -> None:
        """Turn the clock, one deadline after the other, each with all that comes of it."""
        end = self.clock.now() + seconds
        await self.settle()
        while True:
            known = (self.gateway.next_deadline, self.clock.next_sleeper)
            due = min((when for when in known if when is not None), default=end)
            if due >= end:
                break
            await self._turn_to(due)
        await self._turn_to(end)

    async def _turn_to(self, when: float) -> None:
        self.clock.turn(when)
        self.gateway.tick()
        await self.settle()

    async def wait(self, awaited: Awaitable[T], what: str) -> T:
        """Return what is awaited. Raises `NoAnswer`, with where the provider is, after a while."""
        try:
            async with asyncio.timeout(self.patience):
                return await awaited
        except TimeoutError:
            self.faults.check()
            text = f"{what} within {self.patience:g} s{whereabouts()}"
            raise NoAnswer(text) from None


def _unheard(_message: Message) -> None:
    """The person reads nothing: what a test wants to know it asks the session."""


def _ended(_code: int, _reason: str) -> None:
    """The gateway has ended."""
