"""The turn: records before effects, slow readers bounded by what they are, faults contained."""

import asyncio
from typing import Any

import pytest

from tapui.core.effects import ConnectionId
from tapui.core.trust.grants import Grant
from tapui.wire import limits
from tapui.wire.message import Error, Message
from tapui.wire.provider import Hello, HelloAck, StreamQuery
from tests.runtime.house import House, Json, until


async def test_what_a_caller_hears_is_on_disk_already(house: House) -> None:
    host, provider = await house.bound()
    on_disk: list[str] = []

    def look(message: Json) -> None:
        if message["type"] == "tool.outcome":
            on_disk.append((house.state / "sessions/s1/calls.jsonl").read_text())

    host.on_send = look
    call = await house.called(host, provider)
    house.say(provider, type="tool.result", id=call, data="hello")
    await until(lambda: host.heard("tool.outcome"))
    assert '"kind":"call.finished"' in on_disk[0]
    assert call in on_disk[0]


async def test_inputs_of_one_loop_turn_share_one_write(house: House) -> None:
    house.host()
    provider = house.provider()
    await until(lambda: provider.heard("hello.ack"))
    writes: list[int] = []
    write = house.journal.write

    def counted(entries: Any) -> frozenset[int]:
        writes.append(len(entries))
        return write(entries)

    house.journal.write = counted  # type: ignore[method-assign]
    for number in range(5):
        house.say(provider, type="push", level="keep", event=f"line {number}")
    await until(lambda: writes)
    assert writes == [5]


async def test_provider_that_does_not_read_is_dropped(house: House) -> None:
    host, provider = await house.bound()
    provider.outbox_bytes = limits.OUTBOX_BYTES + 1
    house.say(host, type="tool.invoke", id="i1", sessionId="s1", tool="greet", args={})
    await until(lambda: provider.closed)
    assert provider.closed is not None
    assert provider.closed[0] == 1008
    await until(lambda: host.heard("tool.outcome"))
    assert host.heard("tool.outcome")[0]["errorCode"] == "DISCONNECTED"


async def test_full_host_is_kept_and_its_providers_are_not_read(house: House) -> None:
    host, provider = await house.bound()
    host.outbox_bytes = 2 * limits.OUTBOX_BYTES
    house.say(provider, type="push", level="surface", event="much")
    await until(lambda: host.heard("session.log"))
    await until(lambda: not provider.is_reading)
    assert host.closed is None
    host.outbox_bytes = 0
    house.turn.drained(host)
    assert provider.is_reading


async def test_host_that_goes_while_full_lets_its_providers_be_read_again(house: House) -> None:
    host, provider = await house.bound()
    host.outbox_bytes = 2 * limits.OUTBOX_BYTES
    house.say(provider, type="push", level="surface", event="much")
    await until(lambda: not provider.is_reading)
    house.turn.closed(host)
    assert provider.is_reading


async def test_tower_that_falls_behind_gets_a_snapshot_instead_of_the_gap(house: House) -> None:
    house.host()
    provider, tower = house.provider(), house.tower()
    await until(lambda: tower.heard("tower.snapshot"))
    tower.outbox_bytes = limits.OUTBOX_BYTES + 1
    tower.sent_bytes += limits.OUTBOX_BYTES
    house.say(provider, type="push", level="keep", event="the last one that fits")
    await until(lambda: tower.heard("tower.event"))
    missed = len(tower.heard("tower.event"))
    house.say(provider, type="push", level="keep", event="missed")
    await until(lambda: house.gateway.state.streams["s1", "p@p"].count == 2)
    await asyncio.sleep(0)
    assert len(tower.heard("tower.event")) == missed
    tower.outbox_bytes = 0
    house.turn.drained(tower)
    await until(lambda: len(tower.heard("tower.snapshot")) == 2)
    snapshot = tower.heard("tower.snapshot")[1]
    assert snapshot["state"]["streams"][0]["count"] == 2
    house.say(provider, type="push", level="keep", event="seen again")
    await until(lambda: len(tower.heard("tower.event")) > missed)
    assert tower.heard("tower.event")[-1]["seq"] == snapshot["seq"] + 1


@pytest.mark.expects_error_log("could not take an input")
async def test_a_fault_in_the_core_costs_the_connection_and_nothing_else(
    house: House, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    host, provider = await house.bound()
    received = house.gateway.received

    def faulty(connection: ConnectionId, data: bytes, now: float) -> None:
        if b"trip" in data:
            raise RuntimeError("a fault of ours")
        received(connection, data, now)

    monkeypatch.setattr(house.gateway, "received", faulty)
    house.say(provider, type="push", level="keep", event="trip")
    assert provider.closed == (1011, "internal error")
    assert "a fault of ours" in caplog.text
    house.say(host, type="tool.invoke", id="i1", sessionId="s1", tool="nothing", args={})
    await until(lambda: host.heard("tool.outcome"))


async def test_stop_asked_by_a_tower_reaches_the_shell(house: House) -> None:
    tower = house.tower()
    house.say(tower, type="gateway.stop")
    await until(lambda: house.stops)


async def test_deadlines_come_without_any_input(house: House) -> None:
    host, _ = await house.bound()
    assert not host.heard("tools.changed"), "it waits for its quiet period"
    await until(lambda: host.heard("tools.changed"))


async def test_an_end_in_this_process_may_do_what_its_grant_says(house: House) -> None:
    house.host()
    heard: list[Message] = []
    end = house.turn.open_port(heard.append, lambda: None, grant=Grant("project"))
    end.send(Hello("watcher", 2, session="s1", tools=[]))
    await until(lambda: any(isinstance(one, HelloAck) for one in heard))
    end.send(StreamQuery("q1", ["ci@other"]))
    await until(lambda: isinstance(heard[-1], Error))
    assert "project" in heard[-1].message


async def test_a_snapshot_is_no_backlog_however_large_it_is(house: House) -> None:
    """A tower that reads nothing of a snapshot of 20 MiB still gets 8 MiB of events."""
    house.host()
    provider, tower = house.provider(), house.tower()
    await until(lambda: tower.heard("tower.snapshot"))
    tower.sent_bytes += 20 * 1024 * 1024 - house.turn._slow._snapshots[tower.number]
    house.turn._slow._snapshots[tower.number] = tower.sent_bytes
    tower.outbox_bytes = 20 * 1024 * 1024
    for number in range(3):
        seen = len(tower.heard("tower.event"))
        house.say(provider, type="push", level="keep", event=f"line {number}")
        await until(lambda seen=seen: len(tower.heard("tower.event")) > seen)
        house.turn.drained(tower)
    assert len(tower.heard("tower.snapshot")) == 1
    assert tower.closed is None


async def test_a_tower_that_fell_behind_gets_one_snapshot_each_time_it_has_read(
    house: House,
) -> None:
    house.host()
    provider, tower = house.provider(), house.tower()
    await until(lambda: tower.heard("tower.snapshot"))
    for times in range(1, 4):
        # It has not read a byte; what came after its snapshot is too much.
        tower.sent_bytes += limits.OUTBOX_BYTES + 1
        tower.outbox_bytes = tower.sent_bytes
        house.say(provider, type="push", level="keep", event="one too many")
        await until(lambda: tower.number in house.turn._slow.behind)
        assert len(tower.heard("tower.snapshot")) == times
        house.turn.drained(tower)
        house.turn.drained(tower)
        await until(lambda times=times: len(tower.heard("tower.snapshot")) == times + 1)
    house.say(provider, type="push", level="keep", event="seen")
    last = tower.heard("tower.snapshot")[-1]["seq"]
    await until(lambda: tower.heard("tower.event")[-1]["seq"] == last + 1)


async def test_a_tower_that_asks_on_and_on_and_reads_nothing_is_dropped(house: House) -> None:
    house.host()
    provider, tower, other = house.provider(), house.tower(), house.tower()
    await until(lambda: tower.heard("tower.snapshot") and provider.heard("hello.ack"))
    tower.sent_bytes += 2 * limits.OUTBOX_BYTES + 1
    tower.outbox_bytes = tower.sent_bytes
    house.say(tower, type="stream.read", id="q", sessionId="s1", stream="p@p", last=1)
    await until(lambda: tower.closed)
    assert tower.closed is not None
    assert tower.closed[0] == 1008
    house.say(provider, type="push", level="keep", event="seen")
    await until(lambda: other.heard("tower.event"))
