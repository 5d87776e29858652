"""What crosses between threads: in order, in the taker's context, paced, bounded."""

import asyncio
import contextvars
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from msgspec import Struct

from tapui.projection.feed import FeedItem
from tapui.station import embedded_feed as crossing
from tapui.station.embedded_feed import Mailbox, TowerLane
from tapui.wire.events import Entry, SessionHappened
from tapui.wire.tower import Notice
from tests.rig.waiting import HUNG, until_async

SIZE = 100


def entry(seq: int) -> Entry:
    return Entry("r", seq, "2026-11-22T00:00:00.000000Z", SessionHappened("s", "e"))


def notice(text: str) -> Notice:
    return Notice(text, "info")


def seqs(items: list[FeedItem]) -> list[int]:
    return [one.seq for item in items if isinstance(item, list) for one in item]


async def take(items: AsyncIterator[FeedItem], count: int) -> list[FeedItem]:
    async with asyncio.timeout(HUNG):
        return [await anext(items) for _ in range(count)]


def never_behind() -> None:
    raise AssertionError("the tower fell behind")


@pytest.fixture
def wakes(monkeypatch: pytest.MonkeyPatch) -> Callable[[], int]:
    """Count how often another thread wakes the running loop."""
    count: list[int] = []
    wake = asyncio.BaseEventLoop.call_soon_threadsafe

    def counted(self: asyncio.BaseEventLoop, *args: Any, **more: Any) -> asyncio.Handle:
        count.append(1)
        return wake(self, *args, **more)

    monkeypatch.setattr(asyncio.BaseEventLoop, "call_soon_threadsafe", counted)
    return lambda: len(count)


class TestMailbox:
    async def test_takes_in_order_what_other_threads_put_in(self) -> None:
        taken: list[tuple[int, int]] = []
        full = asyncio.Event()
        here = threading.get_ident()

        def take(item: tuple[int, int]) -> None:
            assert threading.get_ident() == here
            taken.append(item)
            if len(taken) == 4000:
                full.set()

        mailbox: Mailbox[tuple[int, int]] = Mailbox()
        mailbox.put((0, 0))  # before it is open
        mailbox.open(take)

        def put(thread: int) -> None:
            for number in range(thread == 0, 1000):
                mailbox.put((thread, number))

        with ThreadPoolExecutor(4) as threads:
            list(threads.map(put, range(4)))
        async with asyncio.timeout(HUNG):
            await full.wait()
        for thread in range(4):
            assert [number for one, number in taken if one == thread] == list(range(1000))

    async def test_takes_in_the_context_that_it_was_opened_in(self) -> None:
        where: contextvars.ContextVar[str] = contextvars.ContextVar("where", default="nowhere")
        taken: asyncio.Queue[str] = asyncio.Queue()
        mailbox: Mailbox[int] = Mailbox()
        where.set("the taker")
        mailbox.open(lambda _: taken.put_nowait(where.get()))

        def put() -> None:
            where.set("the sender")
            mailbox.put(1)

        thread = threading.Thread(target=put)
        thread.start()
        assert await asyncio.wait_for(taken.get(), HUNG) == "the taker"
        thread.join()

    @pytest.mark.expects_error_log("Exception in callback Mailbox._drain")
    async def test_goes_on_after_an_item_that_could_not_be_taken(self) -> None:
        taken: asyncio.Queue[int] = asyncio.Queue()

        def take(item: int) -> None:
            taken.put_nowait(10 // item)

        mailbox: Mailbox[int] = Mailbox()
        for item in (5, 0, 2):
            mailbox.put(item)
        mailbox.open(take)
        async with asyncio.timeout(HUNG):
            assert [await taken.get(), await taken.get()] == [2, 5]

    def test_a_loop_that_has_closed_takes_nothing(self) -> None:
        mailbox: Mailbox[int] = Mailbox()
        taken: list[int] = []

        async def open_it() -> None:
            mailbox.open(taken.append)
            mailbox.put(1)
            await asyncio.sleep(0)

        asyncio.run(open_it())
        mailbox.put(2)
        assert taken == [1]


class TestLane:
    async def test_hands_over_everything_in_order_in_bounded_batches(self) -> None:
        lane = TowerLane(frame=0.001)

        def put() -> None:
            at = 0
            for number in range(200):
                many = 3000 if number == 100 else 7
                lane.put_events([entry(at + one) for one in range(many)], SIZE)
                at += many
                if number % 50 == 0:
                    lane.put(notice(str(at)))
            lane.close()

        thread = threading.Thread(target=put)
        thread.start()
        items = [item async for item in lane.items(never_behind)]
        thread.join()
        assert seqs(items) == list(range(199 * 7 + 3000))
        last = -1
        for item in items:
            if isinstance(item, list):
                assert 0 < len(item) <= crossing.MAX_BATCH
                last = item[-1].seq
            else:
                assert isinstance(item, Notice)
                assert int(item.message) == last + 1

    async def test_what_waits_is_taken_in_batches_of_the_same_size(self) -> None:
        lane = TowerLane(frame=0.001)
        for seq in range(300):
            lane.put_events([entry(seq)], SIZE)
        lane.put(notice("between"))
        lane.put_events([entry(300)], SIZE)
        lane.close()
        items = [item async for item in lane.items(never_behind)]
        assert seqs(items) == list(range(301))
        sizes = [len(item) if isinstance(item, list) else 0 for item in items]
        batch = crossing.MAX_BATCH
        assert sizes == [*[batch] * (300 // batch), 300 % batch, 0, 1]

    async def test_a_sleeping_tower_is_woken_at_once_and_one_that_is_awake_is_not(
        self, wakes: Callable[[], int]
    ) -> None:
        lane = TowerLane(frame=0.2)
        items = lane.items(never_behind)
        first = asyncio.ensure_future(anext(items))
        await until_async(lambda: lane.is_asleep, what="the tower sleeps")
        before = wakes()
        thread = threading.Thread(
            target=lambda: [lane.put_events([entry(seq)], SIZE) for seq in range(500)]
        )
        thread.start()
        thread.join()
        came = [await asyncio.wait_for(first, HUNG)]
        came += await take(items, -(-500 // crossing.MAX_BATCH) - 1)
        assert seqs(came) == list(range(500))
        assert wakes() - before == 1

    async def test_a_tower_that_falls_behind_lets_go_of_events_and_of_nothing_else(self) -> None:
        lane = TowerLane(limit=10 * SIZE, frame=0.001)
        behind: list[int] = []
        accepted = [lane.put_events([entry(seq)], SIZE) for seq in range(5)]
        lane.put(notice("first"))
        accepted += [lane.put_events([entry(seq)], SIZE) for seq in range(5, 12)]
        lane.put(notice("second"))
        assert accepted == [True] * 10 + [False] * 2

        def start_over() -> None:
            behind.append(1)
            assert lane.put_events([entry(20)], SIZE)

        items = lane.items(start_over)
        assert await take(items, 3) == [notice("first"), notice("second"), [entry(20)]]
        assert behind == [1]

    async def test_a_tower_whose_loop_has_closed_is_no_error(self) -> None:
        lane = TowerLane(frame=0.001)

        async def look() -> None:
            items = lane.items(never_behind)
            with pytest.raises(TimeoutError):
                await asyncio.wait_for(anext(items), 0.01)

        await asyncio.to_thread(asyncio.run, look())
        lane.is_asleep = True
        lane.put(notice("nobody"))
        lane.close()


def test_nothing_that_crosses_can_be_changed() -> None:
    def kinds(kind: type[Struct]) -> Iterator[type[Struct]]:
        for one in kind.__subclasses__():
            yield one
            yield from kinds(one)

    rooms = {f"tapui.wire.{name}" for name in ("events", "host", "message", "provider", "tower")}
    crossing_kinds = [one for one in kinds(Struct) if one.__module__ in rooms]
    assert {Entry, Notice} <= set(crossing_kinds)
    assert [one for one in crossing_kinds if not one.__struct_config__.frozen] == []
