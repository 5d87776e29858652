"""A gateway for the tests of a module, a session for each test, and bridges into it."""

import asyncio
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from tapui.mcp_servers.messages import ServerReady, ServerSession, ServerStart
from tapui.secret import Secret
from tests.rig.bridge_process import BridgeProcess
from tests.rig.gateway import Gateway, Home
from tests.rig.peers import Host, Json, Provider, Tower
from tests.rig.waiting import HUNG

BAD = str(Path(__file__).with_name("bad_server.py"))
_numbers = count(1)


@pytest.fixture(scope="module")
def home() -> Iterator[Home]:
    """A home that the module's tests share."""
    root = Path(tempfile.mkdtemp(prefix="tapui-home-"))
    yield Home(root)
    shutil.rmtree(root, ignore_errors=True)


@pytest.fixture(scope="module")
def running(home: Home) -> Iterator[Gateway]:
    """A `tapui serve` that the module's tests share."""
    with Gateway(home, "--no-attach") as gateway:
        yield gateway


class Scene:
    """A session, with whatever bridges a test puts into it."""

    def __init__(
        self, home: Home, gateway: Gateway, stack: AsyncExitStack, host: Host, session: str
    ) -> None:
        self.home = home
        self.gateway = gateway
        self.host = host
        self.session = session
        self.offered: list[str] = []
        self._stack = stack
        self._calls = count(1)

    async def start(
        self, *argv: str, name: str = "bad", environ: dict[str, str] | None = None, **more: Any
    ) -> BridgeProcess:
        """Start a bridge, of a Python script unless `command` or `url` says otherwise."""
        if "url" not in more and "command" not in more:
            more["command"] = sys.executable
        start = ServerStart(name, self.gateway.url, args=list(argv), **more)
        return await self._stack.enter_async_context(
            BridgeProcess(self.home, start, **environ or {})
        )

    async def bridge(self, *argv: str, **more: Any) -> BridgeProcess:
        """Start a bridge that is ready, in this session."""
        bridge = await self.start(*(argv or (BAD,)), **more)
        ready = await bridge.heard(ServerReady)
        await self.join(bridge)
        names = [tool.offered_as for tool in ready.tools if tool.offered_as]
        if names:
            await self.sees(lambda found: names[0] in found)
        return bridge

    async def join(self, bridge: BridgeProcess) -> None:
        """Have its tools offered in this session."""
        await bridge.say(ServerSession(self.session, Secret(self.gateway.token), "/tmp"))

    async def sees(self, fits: Any) -> list[str]:
        """Wait until the session's tools are as wanted."""
        while not fits(self.offered):
            changed = await self.host.expect("tools.changed")
            self.offered = [tool["name"] for tool in changed["tools"]]
        return self.offered

    async def invoke(self, tool: str, args: Json | None = None, **more: Any) -> str:
        """Call a tool; return the call's id."""
        id_ = f"{self.session}-{next(self._calls)}"
        await self.host.invoke(self.session, tool, args or {}, id_=id_, **more)
        return id_

    async def outcome(self, id_: str) -> Json:
        """Wait for a call's outcome."""
        return await self.host.expect("tool.outcome", id=id_)

    async def call(self, tool: str, args: Json | None = None, **more: Any) -> Json:
        """Call a tool and return the outcome."""
        return await self.outcome(await self.invoke(tool, args, **more))

    async def lines_of(self, stream: str, part: str) -> list[str]:
        """Wait until a stream has a line with `part`; return its last lines."""
        tower = await self._stack.enter_async_context(
            await Tower.hello(self.gateway.url, self.gateway.internal_token)
        )
        async with asyncio.timeout(HUNG):
            while True:
                read = {"id": "q", "stream": stream, "sessionId": self.session}
                await tower.send({"type": "stream.read", **read})
                told = await tower.expect("stream.lines", id="q")
                lines = [line["event"] for line in told["lines"]]
                if any(part in line for line in lines):
                    return lines
                await tower.event("stream.posted")

    async def provider(self, **hello: Any) -> Provider:
        """Bind a provider that says exactly what a test says."""
        provider = await Provider.bind(
            self.gateway.url, self.gateway.token, session=self.session, **hello
        )
        return await self._stack.enter_async_context(provider)


@pytest.fixture
async def scene(home: Home, running: Gateway) -> AsyncIterator[Scene]:
    """A session of the test's own."""
    async with AsyncExitStack() as stack:
        host = await stack.enter_async_context(
            await Host.hello(running.url, running.internal_token)
        )
        session = f"s{next(_numbers)}"
        await host.open(session, label=session, cwd="/tmp")
        yield Scene(home, running, stack, host, session)
