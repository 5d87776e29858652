"""The fault of one connection costs no other anything, over TCP and by the Unix socket."""

import json
import os
import resource
import sys
from pathlib import Path
from typing import Any

import psutil
import pytest

from tapui.wire.limits import MAX_FRAME_BYTES
from tests.gateway.conftest import Place
from tests.gateway.conftest import both_ends as end  # noqa: F401
from tests.gateway.emitting import repository
from tests.gateway.serving_mcp import McpWatcher, entry, write_server
from tests.rig.gateway import Gateway, Home
from tests.rig.peers import Host, Json, Provider, Tower
from tests.rig.waiting import until_async
from tests.runtime.rawclient import End, RawClient, request, text

OWN = 8
"""Descriptors that the gateway may come to need itself: its process of the index begins late."""


async def opened(place: Place, *messages: Json) -> RawClient:
    client = await RawClient.open(place.end)
    for message in messages:
        client.send(text(json.dumps(message)))
    return client


async def bound(place: Place) -> RawClient:
    hello = {"type": "hello", "name": "faulty", "protocolVersion": 2, "session": place.session}
    auth = {"type": "auth", "token": place.gateway.token}
    return await opened(place, auth, {**hello, "tools": []})


async def garbage(place: Place) -> RawClient:
    client = await RawClient.connect(place.end)
    client.send(os.urandom(100_000))
    return client


async def garbage_in_frames(place: Place) -> RawClient:
    client = await bound(place)
    for _ in range(50):
        client.send(text(os.urandom(1_000)))
    return client


async def frame_of(place: Place, size: int) -> RawClient:
    """Send the header of a frame of so many bytes, and some of them."""
    client = await bound(place)
    client.send(bytes((0x81, 0xFF)) + size.to_bytes(8, "big") + bytes(4) + b"x" * 1_000_000)
    return client


async def huge_frame(place: Place) -> RawClient:
    return await frame_of(place, MAX_FRAME_BYTES + 1)


async def frame_without_end(place: Place) -> RawClient:
    return await frame_of(place, MAX_FRAME_BYTES)


async def headers_without_end(place: Place) -> RawClient:
    client = await RawClient.connect(place.end)
    client.send(request(place.end.port)[:-2] + b"X-More: x\r\n")
    return client


async def half_closed(place: Place) -> RawClient:
    client = await bound(place)
    client.writer.write_eof()
    return client


async def unknown_messages(place: Place) -> RawClient:
    return await opened(place, *({"type": f"unknown{number}"} for number in range(200)))


async def not_reading(place: Place) -> RawClient:
    client = await bound(place)
    client.writer.transport.pause_reading()  # type: ignore[attr-defined]
    for number in range(2_000):
        client.send(text(json.dumps({"type": "unknown", "requestId": f"{number}"})))
    return client


async def byte_by_byte(place: Place) -> RawClient:
    client = await RawClient.connect(place.end)
    auth = text(json.dumps({"type": "auth", "token": place.gateway.token}))
    for byte in request(place.end.port) + auth[:40]:
        client.send(bytes((byte,)))
        await client.writer.drain()
    return client


async def cut_off(place: Place) -> RawClient:
    client = await bound(place)
    client.close()
    return client


@pytest.mark.parametrize(
    "fault",
    [garbage, garbage_in_frames, huge_frame, frame_without_end, headers_without_end, half_closed,
     unknown_messages, not_reading, byte_by_byte, cut_off],
    ids=lambda fault: fault.__name__,
)  # fmt: skip
async def test_the_fault_of_one_costs_no_other_anything(place: Place, fault: Any) -> None:
    provider, tower = await place.provider(), await place.tower()
    faulty = [await fault(place) for _ in range(5)]
    for number in range(20):
        id_ = f"i{number}"
        await place.host.invoke(place.session, "greet", id_=id_)
        await provider.answer(data=id_)
        assert (await place.host.expect("tool.outcome", id=id_))["data"] == id_
    await place.provider(name="late", tools=[])
    for one in faulty:
        one.close()
    assert provider.is_open
    assert tower.is_open


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux limits another process")
@pytest.mark.parametrize("way", ["tcp", "unix"])
async def test_without_descriptors_those_who_are_there_go_on_and_others_come_later(
    tmp_path: Path, way: str
) -> None:
    repo = repository(tmp_path / "repo", {"name": "watch", "command": "true"})
    write_server(Path(repo), tiny=entry())
    with Gateway(Home(tmp_path), "--no-attach") as gateway:
        end = gateway.socket if way == "unix" else None
        async with (
            McpWatcher(gateway) as seen,
            await Host.hello(gateway.url, gateway.internal_token, end=end) as host,
        ):
            await host.open("s1", cwd=repo)
            provider = await Provider.bind(gateway.url, gateway.token, session="s1", end=end)
            # What it does with a session's beginning is done.
            await seen.until(lambda: seen.waiting and seen.asks, "the folder's programs ask")
            process = psutil.Process(gateway.pid)
            used = process.num_fds()
            most = used + 2 * OWN
            resource.prlimit(gateway.pid, resource.RLIMIT_NOFILE, (most, most))
            silent = [await RawClient.connect(End(gateway.port, end)) for _ in range(60)]
            await host.invoke("s1", "greet")
            await provider.answer(data="still here")
            assert (await host.expect("tool.outcome"))["data"] == "still here"
            for one in silent:
                one.close()
            await until_async(lambda: process.num_fds() <= used + OWN, what="they are gone")
            late = await Tower.hello(gateway.url, gateway.internal_token, end=end)
            await late.close()
            await provider.close()
