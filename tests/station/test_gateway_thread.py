"""The gateway's thread: whatever becomes of it reaches the screen at once, and it always ends."""

import asyncio
import signal
import socket
import threading
from pathlib import Path

import pytest

from tapui.client.gateways import NoGateway
from tapui.home.run_folder import RunFolder
from tapui.projection.feed import FeedItem, Link
from tapui.settings.settings import Timeouts
from tapui.station import running_gateway as running_module
from tapui.station.faults import StartFault
from tapui.station.parts.part import GatewayAccess, Part
from tests.rig.peers import Host, Provider
from tests.rig.waiting import HUNG, until_async
from tests.station.running import Behind, left_behind, options_in


def gateway_threads() -> list[threading.Thread]:
    return [one for one in threading.enumerate() if one.name == "gateway"]


async def is_up(behind: Behind) -> None:
    """Wait until the gateway runs and its tower is attached."""
    async for item in behind.host.feed.items():
        if item == Link("up"):
            return


def port_is_free(port: int) -> bool:
    with socket.socket() as one:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            one.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


async def test_it_runs_on_a_thread_of_its_own_and_leaves_nothing(tmp_path: Path) -> None:
    async with Behind(tmp_path) as behind:
        await is_up(behind)
        assert len(gateway_threads()) == 1
        assert left_behind(tmp_path) != []
    assert gateway_threads() == []
    assert left_behind(tmp_path) == []
    assert port_is_free(behind.port)
    assert behind.host.fault is None


async def fails(behind: Behind) -> StartFault:
    """Let a gateway fail at its start, check that it is told and undone, and return why."""
    async with behind:
        assert await behind.app.left() == "quit"
        items: list[FeedItem] = [item async for item in behind.host.feed.items()]
        assert items == [Link("ended", "the gateway has ended")]
    assert left_behind(behind.root) == []
    assert port_is_free(behind.port)
    assert behind.host.fault is not None
    return behind.host.fault


async def test_a_state_folder_that_cannot_be_used_reaches_the_screen(tmp_path: Path) -> None:
    (tmp_path / "tapui").mkdir()
    (tmp_path / "tapui/run").touch()
    fault = await fails(Behind(tmp_path))
    assert fault.code == 1
    assert fault.text.endswith(": run is not a folder")


async def test_a_port_that_another_gateway_claims_reaches_the_screen(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tapui.home.run_folder._CLAIM_SECONDS", 0.0)
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        port: int = one.getsockname()[1]
    behind = Behind(tmp_path, options_in(tmp_path, port=port))
    claimed = RunFolder.claim(behind.home, port)
    fault = await fails(behind)
    claimed.release()
    assert fault.code == 2
    assert fault.text.endswith("; choose another port with --port N")


@pytest.mark.expects_error_log("the gateway could not start")
async def test_a_start_that_fails_for_an_unknown_reason_reaches_the_screen_and_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def faulty(*_given: object, **_more: object) -> None:
        raise ValueError("a fault of the test's own")

    monkeypatch.setattr("tapui.station.running_gateway.GatewayFiles.leave", faulty)
    expected = "the gateway could not start: ValueError: a fault of the test's own"
    assert await fails(Behind(tmp_path)) == StartFault(1, expected)


class Deadly:
    """A part that ends its thread."""

    name = "a deadly part"

    def start(self, access: GatewayAccess) -> None:
        async def die() -> None:
            asyncio.get_running_loop().call_soon(self._raise)

        access.spawn(die())

    def _raise(self) -> None:
        raise SystemExit("a fault of the test's own")

    async def stop(self) -> None:
        """Nothing is left to stop."""


@pytest.mark.expects_error_log("the gateway's thread died")
async def test_a_thread_that_dies_reaches_the_screen_at_once_and_leaves_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    parts: list[Part] = [Deadly()]
    monkeypatch.setattr(running_module, "chosen_parts", lambda _options, _files: parts)
    async with Behind(tmp_path) as behind:
        assert await behind.app.left() == "quit"
        assert behind.host.fault == StartFault(1, "the gateway died: SystemExit")
        assert left_behind(tmp_path) == []
    assert gateway_threads() == []


async def test_what_goes_wrong_before_the_feed_is_up_is_shown(tmp_path: Path) -> None:
    (tmp_path / ".copilot").touch()
    async with Behind(tmp_path) as behind:
        await is_up(behind)
    (told,) = behind.app.notices
    assert ".provider-token cannot be written (Not a directory)" in told


async def test_a_client_that_asks_it_to_end_has_the_app_leave(tmp_path: Path) -> None:
    async with Behind(tmp_path) as behind:
        await is_up(behind)
        found = behind.found()
        async with await Host.connect(found.url, token=found.token()) as client:
            await client.send({"type": "tower.hello", "protocolVersion": 2, "role": "client"})
            await client.send({"type": "gateway.stop"})
            assert await behind.app.left() == "the gateway was asked to end (`tapui stop`)"
            assert left_behind(tmp_path) != []


async def test_a_second_signal_no_longer_waits_for_providers(tmp_path: Path) -> None:
    async with Behind(tmp_path) as behind:
        await is_up(behind)
        url = behind.found().url
        provider = await Provider.bind(url, behind.provider_token)
        ending = asyncio.create_task(behind.host.end())
        await provider.expect("session.lifecycle", state="shutdown.pending")
        behind.host.signalled(signal.SIGTERM)
        await ending
        await provider.closed()
    assert left_behind(tmp_path) == []


class TestWithoutAScreen:
    async def test_it_goes_on_while_a_provider_is_attached_and_ends_when_it_is_idle(
        self, tmp_path: Path
    ) -> None:
        options = options_in(tmp_path, timeouts=Timeouts(idle_exit=0.0))
        async with Behind(tmp_path, options) as behind:
            await is_up(behind)
            provider = await Provider.bind(behind.found().url, behind.provider_token)
            assert await behind.host.goes_on()
            behind.host.signalled(signal.SIGHUP)
            await provider.send({"type": "push", "level": "keep", "event": "still here"})
            over = asyncio.create_task(behind.host.over())
            assert not over.done()
            await provider.close()
            await asyncio.wait_for(over, HUNG)
        assert left_behind(tmp_path) == []

    async def test_it_ends_when_nobody_is_attached(self, tmp_path: Path) -> None:
        async with Behind(tmp_path) as behind:
            await is_up(behind)
            assert not await behind.host.goes_on()
            with pytest.raises(NoGateway):
                behind.found()

    async def test_it_ends_when_the_terminal_vanishes_during_its_start(
        self, tmp_path: Path
    ) -> None:
        async with Behind(tmp_path) as behind:
            assert not await behind.host.goes_on()
        assert left_behind(tmp_path) == []
        assert port_is_free(behind.port)

    async def test_a_signal_ends_it(self, tmp_path: Path) -> None:
        async with Behind(tmp_path) as behind:
            await is_up(behind)
            provider = await Provider.bind(behind.found().url, behind.provider_token)
            assert await behind.host.goes_on()
            behind.host.signalled(signal.SIGTERM)
            await asyncio.wait_for(behind.host.over(), HUNG)
            await provider.close()


async def test_many_gateways_one_after_the_other_leave_no_thread_and_no_descriptor(
    tmp_path: Path,
) -> None:
    def descriptors() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    async def one() -> None:
        async with Behind(tmp_path) as behind:
            await is_up(behind)

    await one()
    await until_async(lambda: gateway_threads() == [], what="the thread's end")
    before = descriptors()
    for _ in range(5):
        await one()
    assert descriptors() == before
    assert gateway_threads() == []
