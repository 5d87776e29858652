"""Sockets in each state, at a gateway that is a process of its own."""

import itertools
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack
from typing import Any

from tapui.core.model import Standing
from tapui.home.tokens import ToolsTokenFile
from tests.rig.gateway import Gateway
from tests.rig.peers import Host, Peer, Provider, Tower

Json = dict[str, Any]

ORIGIN = "https://tab.example.com"
_numbers = itertools.count(1)


class Scene:
    """A host with a session of its own, and whoever a test needs beside it."""

    def __init__(self, gateway: Gateway, stack: AsyncExitStack) -> None:
        self.gateway = gateway
        self._stack = stack
        self.session = f"s{next(_numbers)}"
        self.host: Host

    async def begin(self, *, hooks: bool = False) -> "Scene":
        """Open the session."""
        self.host = await self.keep(
            Host.hello(self.gateway.url, self.gateway.internal_token, hooks=hooks)
        )
        await self.host.open(self.session)
        return self

    async def keep(self, entering: Awaitable[Any]) -> Any:
        """Close a connection when the test is over."""
        return await self._stack.enter_async_context(await entering)

    async def provider(self, **hello: Any) -> Provider:
        """Return a provider with the project's token, bound to the session."""
        fields = {"session": self.session, "tools": [], **hello}
        return await self.keep(Provider.bind(self.gateway.url, self.gateway.token, **fields))

    async def internal(self, **hello: Any) -> Provider:
        """Return a provider with the internal token."""
        fields = {"session": self.session, "tools": [], **hello}
        bound = Provider.bind(self.gateway.url, self.gateway.internal_token, **fields)
        return await self.keep(bound)

    async def tower(self) -> Tower:
        """Return a tower."""
        return await self.keep(Tower.hello(self.gateway.url, self.gateway.internal_token))

    async def tool_host(self) -> Host:
        """Return a host with the token for tools alone."""
        token = ToolsTokenFile(self.gateway.home.tapui).read()
        assert token is not None
        return await self.keep(Host.hello(self.gateway.url, token.reveal()))

    async def pairing(self) -> Peer:
        """Return a client that waits for its pairing."""
        peer: Peer = await self.keep(Peer.connect(self.gateway.url, origin=ORIGIN))
        await peer.send({"type": "auth", "mode": "pair"})
        await peer.expect("auth.pairing")
        return peer

    async def external(self) -> Peer:
        """Return a provider that paired and is bound to the session.

        A gateway takes five pairings a minute, so a module may ask for five of them.
        """
        tower = await self.tower()
        peer = await self.pairing()
        approval = (await tower.event("approval.requested"))["approval"]
        await tower.send(
            {"type": "approval.reveal", "approvalId": approval["id"], "sessions": [self.session]}
        )
        code = (await tower.expect("approval.revealed"))["code"]
        await peer.send({"type": "auth.confirm", "code": code})
        await peer.expect("sessions")
        hello = {"type": "hello", "name": "tab", "protocolVersion": 2, "session": self.session}
        await peer.send({**hello, "tools": []})
        await peer.expect("hello.ack")
        return peer

    async def unbound(self) -> Peer:
        """Return a provider whose session has ended."""
        id_ = f"{self.session}-over"
        await self.host.open(id_)
        provider = await self.provider(session=id_)
        await self.host.send({"type": "session.close", "sessionId": id_})
        await provider.expect("session.lifecycle", state="shutdown.pending")
        await provider.send({"type": "shutdown.ready", "sessionId": id_})
        await self.host.expect("session.closed", sessionId=id_)
        return provider

    async def in_state(self, state: Standing) -> Peer:
        """Return a connection in a state."""
        url = self.gateway.url
        enter: dict[Standing, Callable[[], Awaitable[Peer]]] = {
            Standing.AWAIT_AUTH: lambda: self.keep(Peer.connect(url)),
            Standing.AWAIT_PAIRING: self._watched_pairing,
            Standing.AWAIT_HELLO: lambda: self.keep(Peer.connect(url, token=self.gateway.token)),
            Standing.BOUND: self.provider,
            Standing.UNBOUND: self.unbound,
            Standing.HOST: self._host,
            Standing.TOOL_HOST: self.tool_host,
            Standing.TOWER: self.tower,
        }
        return await enter[state]()

    async def _host(self) -> Peer:
        return self.host

    async def _watched_pairing(self) -> Peer:
        # Without a tower the request would open itself.
        await self.tower()
        return await self.pairing()


async def scene_of(gateway: Gateway) -> AsyncIterator[Scene]:
    """Yield a scene that has begun; its connections close when the test is over."""
    async with AsyncExitStack() as stack:
        yield await Scene(gateway, stack).begin()


async def state_of(peer: Peer) -> str:
    """Return the state that a connection is in, by a message that is none; drop what came before.

    A connection that is closed is Closed.
    """
    _, state = await heard_until_now(peer)
    return state


async def heard_until_now(peer: Peer) -> tuple[list[Json], str]:
    """Return everything that was said to a connection up to now, and the state that it is in."""
    if not peer.is_open:
        heard, peer.inbox.messages = peer.inbox.messages, []
        return heard, "Closed"
    await peer.send({"type": "which state is this"})
    heard = []
    while True:
        try:
            message = await peer.next()
        except AssertionError:
            if peer.is_open:
                raise
            return heard, "Closed"
        if message.get("replyTo") == "which state is this":
            return heard, str(message["message"]).rpartition(" ")[2]
        heard.append(message)
