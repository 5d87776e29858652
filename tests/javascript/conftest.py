"""A gateway, and providers in JavaScript that are bound to it as programs of their own."""

import asyncio
import shutil
import signal
import subprocess
import tempfile
from collections.abc import AsyncIterator, Iterator
from itertools import count
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import pytest

from tapui.wire.limits import MAX_TOOLS
from tests.rig.gateway import Gateway, Home
from tests.rig.node import module_in, node
from tests.rig.peers import Host, Json
from tests.rig.waiting import HUNG, until

PROGRAMS = Path(__file__).parent / "programs"


class Program:
    """A program in Node, with the module beside it, and what it has printed."""

    def __init__(self, folder: Path, env: dict[str, str], text: str, *args: str) -> None:
        module_in(folder)
        (folder / "program.js").write_text(text)
        self._out, self._err = folder / "out", folder / "err"
        with self._out.open("wb") as out, self._err.open("wb") as err:
            self.process = subprocess.Popen(
                [node(), "program.js", *args], cwd=folder, env=env, stdout=out, stderr=err
            )

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.process.kill()
        self.process.wait()

    @property
    def out(self) -> str:
        """What it has written to standard output."""
        return self._out.read_text()

    @property
    def err(self) -> str:
        """What it has written to standard error."""
        return self._err.read_text()

    def says(self, part: str, *, times: int = 1, within: float = HUNG) -> None:
        """Wait until it has printed `part`, so many times."""
        until(
            lambda: self.out.count(part) >= times,
            within=within,
            what=lambda: f"{part!r} in {self.out[:2000]} {self.err[:2000]}",
        )

    def leave(self) -> int:
        """End it with Ctrl-C; return its exit code."""
        self.process.send_signal(signal.SIGINT)
        return self.process.wait(10)


class Bench:
    """A host with a session of its own."""

    def __init__(self, gateway: Gateway, host: Host, session: str) -> None:
        self.gateway = gateway
        self.host = host
        self.session = session
        self._calls = count(1)

    async def start(self, tool: str, args: Json | None = None, **more: Any) -> str:
        """Call a tool; return the call's id."""
        id_ = f"i{next(self._calls)}"
        await self.host.invoke(self.session, tool, args, id_=id_, **more)
        return id_

    async def call(self, tool: str, args: Json | None = None, **more: Any) -> Json:
        """Call a tool and return the outcome."""
        id_ = await self.start(tool, args, **more)
        return await self.host.expect("tool.outcome", id=id_)

    async def data(self, tool: str, args: Json | None = None) -> Any:
        """Call a tool and return what it returned."""
        outcome = await self.call(tool, args)
        assert "error" not in outcome, outcome
        return outcome.get("data")

    async def logs(self, part: str, *, within: float = HUNG) -> None:
        """Wait until a line with `part` is shown in the session's timeline."""
        async with asyncio.timeout(within):
            while part not in (await self.host.expect("session.log", within=within))["message"]:
                pass

    async def has_tools(self, *names: str, within: float = HUNG) -> None:
        """Wait until the session has these tools."""
        async with asyncio.timeout(within):
            while True:
                told = await self.host.expect("tools.changed", within=within)
                if set(names) <= {tool["name"] for tool in told["tools"]}:
                    return


@pytest.fixture(scope="module")
def running() -> Iterator[Gateway]:
    """A `tapui serve` that the module's tests share."""
    node()  # skips before a test has opened a connection that its skip would leave open
    root = Path(tempfile.mkdtemp(prefix="tapui-home-"))
    env = {"TAPUI_PROVIDER_TOOLS": str(MAX_TOOLS)}
    with Gateway(Home(root), "--no-attach", env=env) as gateway:
        yield gateway
    shutil.rmtree(root, ignore_errors=True)


_numbers = count(1)


@pytest.fixture
async def bench(running: Gateway) -> AsyncIterator[Bench]:
    """A session of the test's own."""
    host = await Host.hello(running.url, running.internal_token, hooks=True)
    async with host:
        session = f"s{next(_numbers)}"
        await host.open(session, label=f"label of {session}", cwd="/tmp")
        yield Bench(running, host, session)


def environment(gateway: Gateway, session: str) -> dict[str, str]:
    """Return the environment of a program for a session at a gateway."""
    return gateway.home.env(
        TAP_GATEWAY=gateway.url, TAP_PROVIDER_TOKEN=gateway.token, TAP_SESSION=session
    )
