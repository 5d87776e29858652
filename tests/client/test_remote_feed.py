"""The second tower's feed: snapshots, batches, and coming back after the gateway went."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from tapui.client import remote_feed
from tapui.client.gateways import FoundGateway, find
from tapui.client.remote_feed import FeedLimits, RemoteFeed
from tapui.projection.feed import FeedItem, Link
from tapui.wire.events import Entry
from tapui.wire.tower import (
    CallCancel,
    GatewayStopping,
    Notice,
    StreamLines,
    StreamRead,
    TowerSnapshot,
)
from tests.client.fake_gateway import FakeGateway, Peer
from tests.rig.waiting import HUNG, until_async

WITHIN = HUNG


def feed_of(fake: FakeGateway, limits: FeedLimits = FeedLimits()) -> RemoteFeed:  # noqa: B008
    def again() -> FoundGateway:
        return find(fake.home, fake.port, is_explicit=True)

    return RemoteFeed(again(), again, limits)


async def take(items: AsyncIterator[FeedItem]) -> FeedItem:
    async with asyncio.timeout(WITHIN):
        return await anext(items)


async def take_until(items: AsyncIterator[FeedItem], kind: Any) -> Any:
    while not isinstance(item := await take(items), kind):
        pass
    return item


async def test_snapshot_first_then_the_link_then_events_in_batches(tmp_path: Path) -> None:
    async def talk(peer: Peer) -> None:
        hello = await peer.greet(seq=10)
        assert hello["role"] == "tower"
        for number in range(3000):
            await peer.line(number)
        await peer.socket.wait_closed()

    async with FakeGateway(tmp_path, talk) as fake:
        feed = feed_of(fake)
        assert (feed.address, feed.is_embedded) == (fake.url, False)
        items = feed.items()
        snapshot = await take(items)
        assert isinstance(snapshot, TowerSnapshot)
        assert await take(items) == Link("up")
        entries: list[Entry] = []
        while len(entries) < 3000:
            batch = await take(items)
            assert isinstance(batch, list)
            assert 0 < len(batch) <= remote_feed.BATCH
            entries += batch
        assert [entry.seq for entry in entries] == list(range(11, 3011))
        await feed.stop(1.0)
        assert await take_until(items, Link) == Link("ended")
        with pytest.raises(StopAsyncIteration):
            await take(items)


async def test_what_is_sent_arrives_and_is_answered(tmp_path: Path) -> None:
    async def talk(peer: Peer) -> None:
        await peer.greet()
        request = await peer.receive()
        assert request["type"] == "stream.read"
        await peer.send("stream.lines", id=request["id"], lines=[])
        await peer.socket.wait_closed()

    async with FakeGateway(tmp_path, talk) as fake:
        feed = feed_of(fake)
        items = feed.items()
        assert await take_until(items, Link) == Link("up")
        feed.send(StreamRead(id="x7", stream="a@b", session_id="s1"))
        assert await take(items) == StreamLines(id="x7", lines=[])
        await feed.stop(1.0)


async def test_a_restarted_gateway_is_found_again_with_a_new_snapshot(tmp_path: Path) -> None:
    release = asyncio.Event()

    async def first(peer: Peer) -> None:
        await peer.greet(seq=100)
        await peer.send("gateway.stopping", deadline=10_000)
        await release.wait()

    async def second(peer: Peer) -> None:
        await peer.greet(seq=1)
        await peer.line(1, "back")
        await peer.socket.wait_closed()

    async with FakeGateway(tmp_path, first) as fake:
        feed = feed_of(fake, FeedLimits(first_retry=0.01))
        items = feed.items()
        assert (await take_until(items, TowerSnapshot)).seq == 100
        assert await take_until(items, GatewayStopping) == GatewayStopping(deadline=10_000)
        release.set()
        down = await take_until(items, Link)
        assert down == Link("down", "the gateway closed the connection")
        await fake.stop()
        feed.send(CallCancel(id="c1"))
        notice = await take_until(items, Notice)
        assert notice.message == "Not sent: the gateway is away."
        async with FakeGateway(tmp_path, second, port=fake.port):
            assert (await take_until(items, TowerSnapshot)).seq == 1
            assert await take(items) == Link("up")
            batch = await take(items)
            assert isinstance(batch, list)
            assert batch[0].seq == 2
            await feed.stop(1.0)


async def test_down_is_told_once_however_long_it_takes(tmp_path: Path) -> None:
    tries = 0
    enough = asyncio.Event()

    async def talk(peer: Peer) -> None:
        await peer.greet()

    async with FakeGateway(tmp_path, talk) as fake:
        gateway = find(fake.home, fake.port, is_explicit=True)

        def again() -> FoundGateway:
            nonlocal tries
            tries += 1
            if tries == 10:
                enough.set()
            return gateway if tries == 1 else find(fake.home, fake.port, is_explicit=True)

        feed = RemoteFeed(gateway, again, FeedLimits(first_retry=0.001, longest_retry=0.002))
        items = feed.items()
        assert isinstance(await take(items), TowerSnapshot)
        await fake.stop()
        async with asyncio.timeout(WITHIN):
            await enough.wait()
        await feed.stop(1.0)
        rest = [item async for item in items]
    assert [item.state for item in rest if isinstance(item, Link)] == ["up", "down", "ended"]


GARBAGE = {
    "no JSON": b"no JSON",
    "no text": b"\xff",
    "no object": b"[]",
    "no type": b"{}",
    "too deep": b"[" * 10_000,
    "deep sessions": b'{"type": "sessions", "active": ' + b"[" * 10_000,
    "sessions of numbers": b'{"type": "sessions", "active": [7]}',
    "half an emoji": b'{"type": "sessions", "active": [], "x": "\\ud83d"}',
    "a snapshot of nothing": b'{"type": "tower.snapshot", "seq": 0, "run": "r1", "state": null}',
    "a number that is none": b'{"type": "tower.snapshot", "seq": NaN}',
}
"""What a gateway that is out of its mind may say before it greets."""


@pytest.mark.parametrize("said", GARBAGE.values(), ids=GARBAGE)
async def test_a_gateway_that_cannot_be_understood_is_tried_again(
    tmp_path: Path, said: bytes
) -> None:
    tries = 0

    async def talk(peer: Peer) -> None:
        nonlocal tries
        tries += 1
        if tries == 1:
            await peer.receive()
            await peer.socket.send(said, text=True)
            if b"sessions" in said:
                await peer.socket.send(said, text=True)
            await peer.socket.close()
        else:
            await peer.greet(seq=5)
            await peer.socket.wait_closed()

    async with FakeGateway(tmp_path, talk) as fake:
        feed = feed_of(fake, FeedLimits(first_retry=0.01))
        items = feed.items()
        down = await take(items)
        assert isinstance(down, Link)
        assert down.state == "down"
        assert (await take_until(items, TowerSnapshot)).seq == 5
        assert await take(items) == Link("up")
        await feed.stop(1.0)


async def test_an_event_that_cannot_be_read_costs_itself_only(tmp_path: Path) -> None:
    async def talk(peer: Peer) -> None:
        await peer.greet()
        deep = b'{"kind": "session.event", "data": ' + b"[" * 900 + b"]" * 900 + b"}"
        await peer.socket.send(
            b'{"type": "tower.event", "seq": 1, "ts": "2026-11-21T20:10:00Z", "event": %b}' % deep,
            text=True,
        )
        peer.seq = 1
        await peer.line(1, "after")
        await peer.socket.wait_closed()

    async with FakeGateway(tmp_path, talk) as fake:
        feed = feed_of(fake)
        items = feed.items()
        batch = await take_until(items, list)
        assert [entry.seq for entry in batch] == [2]
        await feed.stop(1.0)


async def test_a_tower_that_does_not_take_stops_the_reading(tmp_path: Path) -> None:
    peers: list[Peer] = []

    async def talk(peer: Peer) -> None:
        peers.append(peer)
        await peer.greet()
        for number in range(400_000):
            await peer.line(number, "x" * 400)

    def is_stuck() -> bool:
        return bool(peers) and peers[0].socket.transport.get_write_buffer_size() > 0

    async with FakeGateway(tmp_path, talk) as fake:
        feed = feed_of(fake)
        items = feed.items()
        assert isinstance(await take(items), TowerSnapshot)
        await until_async(
            lambda: feed.waiting >= FeedLimits().backlog and is_stuck(),
            what="the gateway's writes block",
        )
        assert feed.waiting == FeedLimits().backlog
        await feed.stop(1.0)


async def test_what_waits_is_bounded_in_bytes_too(tmp_path: Path) -> None:
    peers: list[Peer] = []
    text = "x" * 100_000

    async def talk(peer: Peer) -> None:
        peers.append(peer)
        await peer.greet()
        for number in range(4000):
            await peer.line(number, text)

    def is_stuck() -> bool:
        return bool(peers) and peers[0].socket.transport.get_write_buffer_size() > 0

    async with FakeGateway(tmp_path, talk) as fake:
        feed = feed_of(fake)
        items = feed.items()
        assert isinstance(await take(items), TowerSnapshot)
        await until_async(
            lambda: feed.waiting_bytes >= FeedLimits().backlog_bytes and is_stuck(),
            what="the gateway's writes block",
        )
        assert feed.waiting_bytes < FeedLimits().backlog_bytes + 2 * len(text)
        # It reads on as the tower takes.
        seen = 0
        while seen < 1000:
            item = await take(items)
            seen += len(item) if isinstance(item, list) else 0
        await feed.stop(1.0)
        await take_until(items, Link)
        assert (feed.waiting, feed.waiting_bytes) == (0, 0)


async def test_a_new_snapshot_takes_the_place_of_the_events_that_wait(tmp_path: Path) -> None:
    told: list[Peer] = []

    async def talk(peer: Peer) -> None:
        await peer.greet()
        for number in range(50):
            await peer.line(number)
        await peer.send("tower.notice", message="kept", level="info")
        await peer.snapshot(seq=1000)
        await peer.line(1001)
        told.append(peer)
        await peer.socket.wait_closed()

    async with FakeGateway(tmp_path, talk) as fake:
        feed = feed_of(fake)
        items = feed.items()
        assert isinstance(await take(items), TowerSnapshot)
        await until_async(
            lambda: (
                told and any(isinstance(one, list) and one[0].seq == 1001 for one in feed._backlog)
            ),
            what="all of it waits",
        )
        came = [await take(items) for _ in range(4)]
        assert isinstance(came[2], TowerSnapshot)
        assert came[:2] == [Link("up"), Notice("kept", "info")]
        assert isinstance(came[3], list)
        assert [entry.seq for entry in came[3]] == [1001]
        assert (feed.waiting, feed.waiting_bytes) == (0, 0)
        await feed.stop(1.0)


async def test_a_gateway_that_does_not_answer_the_leaving_is_cut_off(tmp_path: Path) -> None:
    peers: list[Peer] = []

    async def talk(peer: Peer) -> None:
        await peer.greet()
        peer.socket.transport.pause_reading()
        peers.append(peer)
        await peer.socket.wait_closed()

    async with FakeGateway(tmp_path, talk) as fake:
        feed = feed_of(fake)
        items = feed.items()
        assert await take_until(items, Link) == Link("up")
        await until_async(lambda: peers, what="the gateway reads nothing")
        await feed.stop(0.01)
        assert await take_until(items, Link) == Link("ended")
        peers[0].socket.transport.resume_reading()


async def test_a_feed_that_was_stopped_before_its_first_item_has_none(tmp_path: Path) -> None:
    async def talk(_peer: Peer) -> None:
        raise AssertionError("nobody connects")

    async with FakeGateway(tmp_path, talk) as fake:
        feed = feed_of(fake)
        await feed.stop(1.0)
        assert [item async for item in feed.items()] == [Link("ended")]


@pytest.mark.expects_error_log("the feed of ws://127.0.0.1")
async def test_a_fault_of_the_feed_is_told_and_logged(tmp_path: Path) -> None:
    async def silent(peer: Peer) -> None:
        await peer.socket.wait_closed()

    def lost() -> FoundGateway:
        raise LookupError("not foreseen")

    async with FakeGateway(tmp_path, silent) as fake:
        feed = RemoteFeed(find(fake.home, fake.port, is_explicit=True), lost)
        items = feed.items()
        assert await take(items) == Link("ended", "LookupError: not foreseen")
