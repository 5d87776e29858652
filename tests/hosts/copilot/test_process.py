"""The Copilot host as a process: when it starts, how it ends, and what it leaves behind."""

import asyncio
import json
import os
import signal
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import psutil
import pytest

from tapui.client.socket import GatewaySocket
from tapui.hosts.copilot.launcher import CopilotLauncher
from tapui.wire.host import HostHello, HostLooked, SessionsUnattached
from tapui.wire.limits import MAX_FRAME_BYTES, PROTOCOL_VERSION
from tapui.wire.tower import Notice, ToTower, TowerHello
from tests.conformance.conftest import process
from tests.hosts.cli_played import CliPlayed
from tests.hosts.conftest import Pretender
from tests.hosts.gateway import GatewayPlayed
from tests.rig.gateway import Gateway
from tests.rig.processes import below, has_ended
from tests.rig.waiting import HUNG, until, until_async

__all__ = ["process"]

Pretend = Callable[..., Pretender]
MODULE = "tapui.hosts.copilot"


class Watcher:
    """A tower of a gateway that keeps the notices it gets."""

    def __init__(self, socket: GatewaySocket) -> None:
        self.notices: list[Notice] = []
        self._socket = socket
        self._reading = asyncio.create_task(self._read())

    async def _read(self) -> None:
        while True:
            message = await self._socket.receive()
            if isinstance(message, Notice):
                self.notices.append(message)

    async def close(self) -> None:
        self._reading.cancel()
        await asyncio.wait([self._reading])
        await self._socket.close()


class Launched:
    """A launcher beside a real gateway; its own port at the gateway is played."""

    def __init__(self, gateway: Gateway, copilot_home: Path, **options: Any) -> None:
        self.played = GatewayPlayed()
        self.reports: list[str] = []
        self.launcher = CopilotLauncher(
            self.played.open_port,
            url=gateway.url,
            token_file=Path(gateway.ready["internalTokenFile"]),
            copilot_home=copilot_home,
            environ={**os.environ, "SECRET": "s"},
            report=lambda text, _: self.reports.append(text),
            **options,
        )
        self.running = asyncio.create_task(self.launcher.run())

    async def started(self, *, other_than: int = 0) -> int:
        """Wait for the host's process; return its id."""

        def look() -> int | None:
            pid = self.launcher.pid
            return pid if pid != other_than else None

        return await until_async(look, what="the host's process")

    async def stop(self) -> None:
        await self.launcher.stop()
        await asyncio.wait_for(self.running, HUNG)


Launch = Callable[..., Launched]


@pytest.fixture
async def launch(process: Gateway, copilot_home: Path) -> AsyncIterator[Launch]:
    """Start launchers beside the module's gateway: `launch(idle=…, port=…)`."""
    async with AsyncExitStack() as stack:

        def start(**options: Any) -> Launched:
            launched = Launched(process, copilot_home, **options)
            stack.push_async_callback(launched.stop)
            return launched

        yield start


@pytest.fixture
async def tower(process: Gateway) -> AsyncIterator[Watcher]:
    """A tower of the gateway."""
    socket = await GatewaySocket.open(
        process.url, process.internal_token, ToTower, max_bytes=MAX_FRAME_BYTES
    )
    await socket.send(TowerHello(protocol_version=PROTOCOL_VERSION, name="test", role="client"))
    watcher = Watcher(socket)
    yield watcher
    await watcher.close()


def hosts_of(gateway: Gateway) -> list[psutil.Process]:
    """Return the host processes of a gateway."""
    return below(gateway.pid, lambda argv: MODULE in argv)


async def test_no_process_runs_while_there_is_nothing_to_attach_to(
    launch: Launch, pretend: Pretend
) -> None:
    cli = pretend()
    cli.hold("s1")
    launched = launch()
    hello = await until_async(lambda: launched.played.of(HostHello), what="a hello")
    assert (hello[0].name, hello[0].kind) == ("copilot", "copilot")
    listed = await until_async(
        lambda: launched.played.of(SessionsUnattached), what="the session without a port"
    )
    assert [one.hint for one in listed[-1].unattached] == ["copilot --ui-server --resume s1"]
    assert launched.launcher.pid is None
    (looked,) = await until_async(lambda: launched.played.of(HostLooked), what="its first look")
    assert looked.error is None
    cli.kill()
    await until_async(
        lambda: not launched.played.of(SessionsUnattached)[-1].unattached, what="an empty list"
    )


async def test_process_starts_with_the_first_cli_and_ends_some_time_after_the_last(
    launch: Launch, pretend: Pretend
) -> None:
    launched = launch(idle=0.2)
    cli = pretend("127.0.0.1")
    cli.hold("s1")
    pid = await launched.started()
    # It reads as empty between the exchange of the program and the first instruction.
    environ = await until_async(psutil.Process(pid).environ, what="its environment")
    assert environ["SECRET"] == "s"  # sessions that it starts have all of the person's
    assert psutil.Process(pid).cwd() == "/"
    cli.kill()
    await until_async(lambda: launched.launcher.pid is None, what="its end")
    assert launched.reports == []
    again = pretend("127.0.0.1")
    again.hold("s2")
    assert await launched.started(other_than=pid) != pid


async def test_what_the_host_has_to_tell_reaches_the_towers(
    launch: Launch, pretend: Pretend, tower: Watcher
) -> None:
    gone = pretend("127.0.0.1")
    gone.kill()
    launched = launch(port=gone.ports[0])
    await launched.started()
    notice = (await until_async(lambda: tower.notices, what="a notice"))[0]
    assert f"cannot attach to port {gone.ports[0]}" in notice.message
    assert notice.level == "warning"


async def test_killed_host_is_told_once_and_comes_back(
    launch: Launch, pretend: Pretend, process: Gateway
) -> None:
    pretend("127.0.0.1").hold("s1")
    unreachable = pretend()
    unreachable.hold("s2")
    launched = launch()
    first = await launched.started()

    def lists() -> bool:
        return "--resume s2" in process.home.run("status", "--json").stdout

    await until_async(lists, what="the host's own list")
    os.kill(first, signal.SIGKILL)
    second = await launched.started(other_than=first)
    assert second != first
    # While no host ran, the launcher's own list stood in its place.

    def listed() -> bool:
        lists = launched.played.of(SessionsUnattached)
        return ["s2"] in [[found.id for found in one.unattached] for one in lists]

    await until_async(listed, what=lambda: f"the launcher's list: {launched.played}")
    os.kill(second, signal.SIGKILL)
    await until_async(
        lambda: launched.launcher.pid not in (None, first, second), what="a third process"
    )
    (told,) = launched.reports
    assert "SIGKILL" in told
    first_looks = launched.played.of(HostLooked)
    assert "SIGKILL" in (first_looks[0].error or ""), "the host's process tells when it has looked"
    assert "its sessions come back" in told


async def test_host_ends_in_order_with_its_launcher(launch: Launch, pretend: Pretend) -> None:
    pretend("127.0.0.1").hold("s1")
    launched = launch()
    pid = await launched.started()
    await launched.launcher.stop()
    await asyncio.wait_for(launched.running, HUNG)
    assert has_ended(pid)
    assert launched.reports == []
    assert launched.played.is_closed


def test_host_ends_with_a_gateway_that_is_killed(
    serve: Callable[..., Gateway], pretend: Pretend, copilot_home: Path
) -> None:
    gateway = serve(env={"COPILOT_HOME": str(copilot_home)})
    cli = pretend("127.0.0.1")
    cli.hold("s1")
    (host,) = until(lambda: hosts_of(gateway), what="the host's process")
    gateway.kill()
    until(lambda: has_ended(host.pid), what="the host ended, too")


def sessions(gateway: Gateway) -> dict[str, dict[str, Any]]:
    """Return the open sessions of a gateway by id."""
    said = json.loads(gateway.home.run("status", "--json").stdout)
    return {one["id"]: one for one in said["state"]["sessions"] if one["state"] != "ended"}


def test_sessions_of_a_killed_host_come_back_alone_and_it_ends_with_the_gateway(
    serve: Callable[..., Gateway], copilot_home: Path
) -> None:
    gateway = serve(env={"COPILOT_HOME": str(copilot_home)})
    with CliPlayed(copilot_home, "s1", "s2"):
        until(lambda: {"s1", "s2", "local"} <= set(sessions(gateway)), what="three sessions")
        before = sessions(gateway)
        (host,) = hosts_of(gateway)
        host.kill()
        until(lambda: hosts_of(gateway) not in ([], [host]), what="another host")
        until(lambda: {"s1", "s2"} <= set(sessions(gateway)), what="its sessions")
        after = sessions(gateway)
        assert after["local"]["openedAt"] == before["local"]["openedAt"]
        assert after["s1"]["openedAt"] > before["s1"]["openedAt"]
        (again,) = hosts_of(gateway)
        assert gateway.stop() == 0
        assert has_ended(again.pid)
