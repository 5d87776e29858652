"""One gateway for all tests of a module, and places of their own in it."""

import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tests.rig.gateway import Gateway, Home
from tests.rig.peers import Host, Json, Peer, Provider, Tower
from tests.runtime.rawclient import End

_numbers = count(1)


@pytest.fixture(scope="module")
def running() -> Iterator[Gateway]:
    """A `tapui serve` that the module's tests share."""
    root = Path(tempfile.mkdtemp(prefix="tapui-home-"))
    with Gateway(Home(root), "--no-attach") as gateway:
        yield gateway
    shutil.rmtree(root, ignore_errors=True)


class Place:
    """A host with a session of its own on the shared gateway; ends with its test.

    Its peers come by `end`; pages come over TCP.
    """

    def __init__(
        self, gateway: Gateway, stack: AsyncExitStack, host: Host, session: str, end: End
    ) -> None:
        self.gateway = gateway
        self._stack = stack
        self.host = host
        self.session = session
        self.end = end

    async def connect(self, token: str | None = None, **options: Any) -> Peer:
        """Connect; with a `token`, authenticate."""
        end = None if "origin" in options else self.end.socket
        peer = await Peer.connect(self.gateway.url, token=token, end=end, **options)
        return await self._stack.enter_async_context(peer)

    async def provider(self, **hello: Any) -> Provider:
        """Return a provider that is bound to the session."""
        provider = await Provider.bind(
            self.gateway.url,
            self.gateway.token,
            end=self.end.socket,
            **{"session": self.session, **hello},
        )
        return await self._stack.enter_async_context(provider)

    async def tower(self) -> Tower:
        """Return a tower."""
        tower = await Tower.hello(
            self.gateway.url, self.gateway.internal_token, end=self.end.socket
        )
        return await self._stack.enter_async_context(tower)

    async def unbound(self) -> Provider:
        """Return a provider whose session has ended."""
        ended = f"{self.session}-ended"
        await self.host.open(ended)
        provider = await self.provider(session=ended)
        await self.host.send({"type": "session.close", "sessionId": ended})
        await provider.expect("session.lifecycle", state="shutdown.pending")
        await provider.send({"type": "shutdown.ready", "sessionId": ended})
        await self.host.expect("session.closed", sessionId=ended)
        return provider

    async def pairing(self, origin: str = "https://app.example.com") -> Peer:
        """Return a client that waits for its code (with a tower, which opens no request)."""
        await self.tower()
        peer = await self.connect(origin=origin)
        await peer.send({"type": "auth", "mode": "pair"})
        await peer.expect("auth.pairing")
        return peer


@pytest.fixture
def end(running: Gateway) -> End:
    """Where peers connect. Modules whose tests are for both ways have `both_ends` instead."""
    return End(running.port)


@pytest.fixture(params=["tcp", "unix"])
def both_ends(running: Gateway, request: pytest.FixtureRequest) -> End:
    """Where peers connect, the one and the other."""
    return End(running.port, running.socket if request.param == "unix" else None)


@pytest.fixture
async def place(running: Gateway, end: End) -> AsyncIterator[Place]:
    session = f"t{next(_numbers)}"
    async with AsyncExitStack() as stack:
        host = await Host.hello(running.url, running.internal_token, end=end.socket)
        await stack.enter_async_context(host)
        await host.open(session)
        yield Place(running, stack, host, session, end)


async def error(peer: Peer, message: Json | str | bytes) -> Json:
    """Send what will be refused; return the error."""
    await peer.send(message)
    return await peer.expect("error")


async def state_of(peer: Peer) -> str:
    """Return the state that a connection is in, by the words of a refusal."""
    if not peer.is_open:
        return f"closed {peer.close_code}"
    refused = await error(peer, {"type": "what state is this?"})
    return str(refused["message"]).rpartition(" ")[2]
