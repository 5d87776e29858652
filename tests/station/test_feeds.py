"""Both feeds, the embedded and the socket's, at a real gateway: one protocol, one set of tests."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack
from pathlib import Path

import pytest

from tapui.client.remote_feed import FeedLimits, RemoteFeed
from tapui.projection.feed import FeedItem, Link
from tapui.projection.fold import fold
from tapui.projection.state import State
from tapui.tower.app.feed import Feed
from tapui.wire.codec import encode
from tapui.wire.events import Entry, SessionHappened
from tapui.wire.message import Message
from tapui.wire.tower import Notice, StreamLines, StreamRead, TowerJudged, TowerSnapshot
from tests.rig.peers import Host, Provider, Tower
from tests.rig.waiting import HUNG, until_async
from tests.station.running import Behind

WITHIN = HUNG


class Watched:
    """A feed at a gateway, and the items that it yields."""

    def __init__(self, behind: Behind, feed: Feed) -> None:
        self.behind = behind
        self.feed = feed
        self.items = feed.items()

    async def take(self) -> FeedItem:
        async with asyncio.timeout(WITHIN):
            return await anext(self.items)

    async def take_until(self, fits: Callable[[FeedItem], bool]) -> list[FeedItem]:
        """Take items up to the first that fits; return them all."""
        taken = [await self.take()]
        while not fits(taken[-1]):
            taken.append(await self.take())
        return taken

    async def up(self) -> list[FeedItem]:
        return await self.take_until(lambda item: item == Link("up"))

    async def happenings(self, count: int) -> list[Entry]:
        """Take until so many of the sessions' own events have come; return all events."""
        entries: list[Entry] = []
        while sum(isinstance(one.event, SessionHappened) for one in entries) < count:
            item = await self.take()
            if isinstance(item, (Notice, TowerJudged)):
                continue  # about the test's own process, when it has been looked at
            assert isinstance(item, list), item
            entries += item
        return entries


@pytest.fixture(params=[None, FeedLimits()], ids=["embedded", "remote"])
async def watched(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Watched]:
    """A feed with the limits of a remote one, or of None: the embedded one."""
    async with Behind(tmp_path) as behind:
        await until_async(lambda: behind_is_found(behind), what="the gateway")
        if request.param is None:
            yield Watched(behind, behind.host.feed)
            return
        feed = RemoteFeed(behind.found(), behind.found, request.param)
        yield Watched(behind, feed)
        await feed.stop(1.0)


def behind_is_found(behind: Behind) -> bool:
    return bool(list(behind.home.state.glob("run/*/gateway.json")))


async def host_at(behind: Behind, stack: AsyncExitStack) -> Host:
    """Connect a host with a session `s1`."""
    found = behind.found()
    host = await stack.enter_async_context(await Host.hello(found.url, found.token()))
    await host.open("s1")
    return host


async def happen(host: Host, count: int, size: int = 10) -> None:
    """Have so many events happen in the session."""
    for number in range(count):
        await host.send(
            {
                "type": "session.event",
                "sessionId": "s1",
                "event": "test.event",
                "data": {"number": number, "text": "x" * size},
            }
        )


async def test_the_snapshot_comes_first_then_the_link_then_events_without_a_gap(
    watched: Watched,
) -> None:
    first, second = await watched.up()
    assert isinstance(first, TowerSnapshot)
    assert second == Link("up")
    assert watched.feed.address.endswith(f":{watched.behind.port}")
    async with AsyncExitStack() as stack:
        host = await host_at(watched.behind, stack)
        sending = asyncio.create_task(happen(host, 3000))
        entries = await watched.happenings(3000)
        await sending
    assert [one.seq for one in entries] == list(range(first.seq + 1, first.seq + 1 + len(entries)))


async def test_events_fold_to_the_gateways_own_state(watched: Watched) -> None:
    (snapshot, _) = await watched.up()
    assert isinstance(snapshot, TowerSnapshot)
    state = State.of(snapshot.state)
    async with AsyncExitStack() as stack:
        host = await host_at(watched.behind, stack)
        provider = await Provider.bind(
            watched.behind.found().url, watched.behind.provider_token, session="s1"
        )
        await stack.enter_async_context(provider)
        await host.invoke("s1", "greet", {"name": "Ada"})
        await provider.answer(data="Hello")
        await host.expect("tool.outcome", id="i1")
        await happen(host, 1)
        for entry in await watched.happenings(1):
            fold(state, entry.event, entry.ts)
        async with await Tower.hello(
            watched.behind.found().url, watched.behind.found().token()
        ) as tower:
            theirs = tower.snapshot["state"]
    assert [one.id for one in state.sessions.values()] == [one["id"] for one in theirs["sessions"]]
    assert [one.state for one in state.recent_calls.values()] == ["done"]
    assert [one["state"] for one in theirs["calls"]] == ["done"]


async def test_what_is_sent_is_answered(watched: Watched) -> None:
    await watched.up()
    watched.feed.send(StreamRead(id="x1", stream="a@b", session_id="local"))
    *_, answer = await watched.take_until(lambda item: isinstance(item, StreamLines))
    assert answer == StreamLines(id="x1", lines=[])


async def test_what_is_sent_too_early_is_told_to_be_lost(watched: Watched) -> None:
    watched.feed.send(StreamRead(id="x1", stream="a@b", session_id="local"))
    *_, told = await watched.take_until(lambda item: isinstance(item, Notice))
    assert told == Notice("Not sent: the gateway is away.", "warning")


@pytest.mark.parametrize(
    "watched",
    [None, FeedLimits(backlog=100), FeedLimits(backlog_bytes=3_000_000)],
    indirect=True,
    ids=["embedded", "backlog", "backlog in bytes"],
)
async def test_a_tower_that_falls_behind_gets_a_snapshot_and_others_get_every_event(
    watched: Watched,
) -> None:
    await watched.up()
    async with AsyncExitStack() as stack:
        found = watched.behind.found()
        other = await Tower.hello(found.url, found.token())
        await stack.enter_async_context(other)
        host = await host_at(watched.behind, stack)
        last: int = other.snapshot["seq"]
        for _ in range(60):  # 36 MB, more than any buffer on the way holds
            await happen(host, 20, 30_000)
            came = 0
            while came < 20:
                event = await other.expect("tower.event", within=WITHIN)
                assert event["seq"] == last + 1
                last = event["seq"]
                came += event["event"]["kind"] == "session.event"
        taken = await watched.take_until(
            lambda item: isinstance(item, TowerSnapshot) and item.seq >= last
        )
        before = [one.seq for item in taken if isinstance(item, list) for one in item]
        assert len(before) < 1200
        assert before == sorted(set(before))
        await happen(host, 1)
        after = await watched.happenings(1)
        begin = taken[-1].seq + 1  # an event of the gateway's own may be in the snapshot already
        assert [one.seq for one in after] == list(range(begin, begin + len(after)))


async def test_what_was_handed_over_never_changes(watched: Watched) -> None:
    taken = await watched.up()
    async with AsyncExitStack() as stack:
        host = await host_at(watched.behind, stack)
        provider = await Provider.bind(
            watched.behind.found().url, watched.behind.provider_token, session="s1"
        )
        await stack.enter_async_context(provider)
        taken += await watched.take_until(lambda item: "provider.bound" in as_text(item))
        first = [as_text(item) for item in taken]
        await host.open("s2")
        await host.send({"type": "session.update", "sessionId": "s1", "label": "renamed"})
        await provider.send({"type": "tools.update", "tools": []})
        await provider.send({"type": "push", "level": "keep", "event": "line"})
        await happen(host, 1)
        await watched.happenings(1)
    assert [as_text(item) for item in taken] == first


def as_text(item: FeedItem) -> str:
    if isinstance(item, list):
        return "".join(encode(one.event).decode() for one in item)
    return encode(item).decode() if isinstance(item, Message) else str(item)


async def test_a_feed_that_is_stopped_ends(watched: Watched) -> None:
    await watched.up()
    await watched.feed.stop(1.0)
    *_, last = await watched.take_until(lambda item: isinstance(item, Link))
    assert isinstance(last, Link)
    assert last.state == "ended"
    with pytest.raises(StopAsyncIteration):
        await watched.take()
