"""One gateway for the tests of the room, and providers of the kit that are bound to it."""

import asyncio
import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, suppress
from itertools import count
from pathlib import Path
from typing import Any, Self

import pytest

from tapui.provider import Provider
from tapui.provider.conversation import Listener
from tapui.provider.serving import Serving
from tapui.provider.socket_link import SocketLink, dial_socket
from tapui.secret import Secret
from tapui.wire.message import ActiveSession, Message
from tests.rig.gateway import Gateway, Home
from tests.rig.peers import Host, Json, Tower
from tests.rig.waiting import HUNG

_numbers = count(1)


@pytest.fixture(scope="session")
def running() -> Iterator[Gateway]:
    """A `tapui serve` that the room's tests share: each has sessions of its own."""
    root = Path(tempfile.mkdtemp(prefix="tapui-home-"))
    with Gateway(Home(root), "--no-attach") as gateway:
        yield gateway
    shutil.rmtree(root, ignore_errors=True)


class Told(Listener):
    """Keeps what a provider hears."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self.news = asyncio.Event()

    def waiting(self, why: str) -> None:
        self._note(f"waiting: {why}")

    def bound(self, sessions: list[ActiveSession], front: str | None) -> None:
        self._note(f"bound: {[one.id for one in sessions]}")

    def noticed(self, text: str) -> None:
        self._note(f"noticed: {text}")

    def _note(self, text: str) -> None:
        self.words.append(text)
        self.news.set()

    async def heard(self, part: str, *, times: int = 1, within: float = HUNG) -> None:
        """Wait until something with `part` was told, so many times."""
        async with asyncio.timeout(within):
            while sum(part in word for word in self.words) < times:
                self.news.clear()
                await self.news.wait()


class Bench:
    """A host with a session of its own, in which providers of the kit serve."""

    def __init__(self, gateway: Gateway, stack: AsyncExitStack, host: Host, session: str) -> None:
        self.gateway = gateway
        self.host = host
        self.session = session
        self._stack = stack
        self._calls = count(1)

    async def serve(
        self, provider: Provider, *, is_bound: bool = True, token: str | None = None, **options: Any
    ) -> "Served":
        """Have a provider serve, in this session unless `session` names another."""
        served = Served(self, provider, token or self.gateway.token, options)
        await self._stack.enter_async_context(served)
        if is_bound:
            await served.told.heard("bound: ")
        return served

    async def call(self, tool: str, args: Json | None = None, **more: Any) -> Json:
        """Call a tool and return the outcome."""
        id_ = f"i{next(self._calls)}"
        await self.host.invoke(self.session, tool, args, id_=id_, **more)
        return await self.host.expect("tool.outcome", id=id_)

    async def tower(self) -> Tower:
        """Return a tower."""
        tower = await Tower.hello(self.gateway.url, self.gateway.internal_token)
        return await self._stack.enter_async_context(tower)


class WatchedLink:
    """A link that keeps what came over it."""

    def __init__(self, link: SocketLink) -> None:
        self.received: list[Message] = []
        self.send, self.offer = link.send, link.offer
        self.close, self.abort = link.close, link.abort
        self._receive = link.receive

    async def receive(self) -> Message:
        self.received.append(await self._receive())
        return self.received[-1]


class Served:
    """A provider of the kit at work in the test's own loop; it leaves with its context."""

    def __init__(
        self, bench: Bench, provider: Provider, token: str, options: dict[str, Any]
    ) -> None:
        self.told = Told()
        self.links: list[WatchedLink] = []
        self._bench = bench
        self._provider = provider
        self._options = {
            "token": Secret(token),
            "session": provider.session or bench.session,
            "listener": self.told,
            **options,
        }
        self.task: asyncio.Task[None]
        self.serving: Serving

    async def _dial(self) -> WatchedLink:
        link = WatchedLink(await dial_socket(self._bench.gateway.url))
        self.links.append(link)
        return link

    async def __aenter__(self) -> Self:
        self.serving = Serving(self._provider, self._dial, **self._options)
        self.task = asyncio.create_task(self.serving.run())
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.leave()

    async def leave(self) -> None:
        """End it, in order, if it has not ended by itself."""
        if self.task.done():
            return
        self.task.cancel()
        with suppress(asyncio.CancelledError):  # it was cancelled here
            await self.task


@pytest.fixture
async def bench(running: Gateway) -> AsyncIterator[Bench]:
    """A session of the test's own."""
    async with AsyncExitStack() as stack:
        host = await stack.enter_async_context(
            await Host.hello(running.url, running.internal_token, hooks=True)
        )
        session = f"s{next(_numbers)}"
        await host.open(session, label=f"label of {session}", cwd="/tmp")
        yield Bench(running, stack, host, session)
