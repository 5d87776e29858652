"""How connections end: in order, by violation, by silence, by force."""

import asyncio
import gc
import logging
import tracemalloc

import pytest
from websockets.frames import Opcode

from tapui.runtime.ports import SocketPort
from tapui.runtime.websocket.connections import Timing
from tapui.runtime.websocket.port import HIGH_WATER
from tests.rig.waiting import HUNG
from tests.runtime.conftest import BOTH_WAYS, QUICK, Running, Start
from tests.runtime.doors import EchoDoor, RecordingDoor
from tests.runtime.rawclient import RawClient, frame, open_descriptors, text


@pytest.mark.parametrize(
    ("sent", "code"),
    [
        pytest.param(frame(Opcode.CLOSE, b"\x03\xe8bye"), 1000, id="normal"),
        pytest.param(frame(Opcode.CLOSE, b"\x0f\xa1mine"), 4001, id="own-code"),
        pytest.param(frame(Opcode.CLOSE, b"\x03"), 1002, id="half-a-code"),
        pytest.param(frame(Opcode.CLOSE, b"\x03\xed"), 1002, id="reserved-code"),
        pytest.param(frame(Opcode.CLOSE, b"\x03\xe8\xff\xff"), 1007, id="bad-utf8"),
        pytest.param(
            frame(Opcode.CONT, b"nothing to continue"), 1002, id="continuation-of-nothing"
        ),
        pytest.param(frame(Opcode.TEXT, b"a", fin=False) + text("b"), 1002, id="text-in-a-text"),
        pytest.param(bytes((0x09, 0x80)) + b"mask", 1002, id="fragmented-ping"),
        pytest.param(bytes((0xC1, 0x80)) + b"mask", 1002, id="reserved-bit"),
        pytest.param(bytes((0x83, 0x80)) + b"mask", 1002, id="reserved-opcode"),
        pytest.param(bytes((0x81, 0x01)) + b"x", 1002, id="unmasked"),
        pytest.param(bytes((0x89, 0xFE, 0x00, 0x7E)) + b"mask" + b"x" * 126, 1002, id="long-ping"),
    ],
)
async def test_close_frames_and_violations_are_answered(
    recording: Running, client: RawClient, sent: bytes, code: int
) -> None:
    client.send(text("before") + sent + text("after"))
    assert (await client.closing())[0] == code
    assert await client.rest() == b""
    assert recording.door.messages == [b"before"]
    assert recording.door.gone == recording.door.ports


async def test_an_empty_close_frame_is_echoed_empty(client: RawClient) -> None:
    client.send(frame(Opcode.CLOSE))
    assert await client.frame() == (Opcode.CLOSE, b"")


async def test_nothing_is_sent_behind_a_close_frame(start: Start) -> None:
    running = await start(EchoDoor())
    client = await RawClient.open(running.end)
    client.send(text("one") + frame(Opcode.CLOSE, b"\x03\xe8"))
    assert await client.frame() == (Opcode.TEXT, b"one")
    assert (await client.closing())[0] == 1000
    running.door.ports[0].send(b"too late")
    assert await client.rest() == b""
    client.close()


class ClosingDoor(RecordingDoor):
    """Answers, closes with a reason, and tries to go on."""

    def received(self, port: SocketPort, data: bytes) -> None:
        super().received(port, data)
        port.send(b"the last word")
        port.close(1008, "é" * 200)
        port.send(b"never")
        port.close(1000, "never either")


@BOTH_WAYS
@pytest.mark.parametrize("close_too", [False, True])
async def test_the_door_closes_after_what_it_sent(start: Start, close_too: bool) -> None:
    running = await start(ClosingDoor(), QUICK)
    client = await RawClient.open(running.end)
    client.send(text("go") + (frame(Opcode.CLOSE, b"\x03\xe8") if close_too else text("ignored")))
    assert await client.frame() == (Opcode.TEXT, b"the last word")
    code, reason = await client.closing()
    assert (code, reason) == ((1000, "") if close_too else (1008, "é" * 61))
    if not close_too:
        client.send(frame(Opcode.CLOSE, b"\x03\xf0"))
    assert await client.rest() == b""
    assert running.door.messages == [b"go"]
    assert running.door.gone == running.door.ports
    client.close()


@BOTH_WAYS
async def test_a_client_that_never_answers_a_close_is_cut_off(quick: Running) -> None:
    client = await RawClient.open(quick.end)
    quick.door.ports[0].close(1008, "out")
    assert (await client.closing())[0] == 1008
    client.send(text("not listening") * 100)
    await quick.door.until(lambda: bool(quick.door.gone))
    await quick.all_gone()
    assert quick.door.messages == []
    client.close()


async def test_a_client_that_closed_and_lingers_is_gone_at_once_and_cut_off_later(
    quick: Running,
) -> None:
    client = await RawClient.open(quick.end)
    client.send(frame(Opcode.CLOSE, b"\x03\xe8"))
    assert (await client.closing())[0] == 1000
    assert quick.door.gone == quick.door.ports
    assert quick.open == 0
    await quick.all_gone()
    client.close()


@BOTH_WAYS
async def test_half_a_close_ends_the_connection(recording: Running) -> None:
    client = await RawClient.open(recording.end)
    client.send(text("last"))
    client.writer.write_eof()
    assert await client.rest() == b""
    assert recording.door.messages == [b"last"]
    assert recording.door.gone == recording.door.ports
    client.close()
    await recording.all_gone()


@BOTH_WAYS
async def test_a_reset_ends_the_connection_without_a_word_in_the_log(
    recording: Running, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING):
        client = await RawClient.open(recording.end)
        client.close()
        await recording.door.until(lambda: bool(recording.door.gone))
        await recording.all_gone()
        recording.door.ports[0].send(b"into the void")
        recording.door.ports[0].close(1000, "late")
    assert caplog.records == []


@BOTH_WAYS
async def test_silence_after_a_ping_closes_the_connection(quick: Running) -> None:
    client = await RawClient.open(quick.end)
    assert (await client.frame())[0] == Opcode.PING
    assert await client.closing() == (1011, "no answer to a ping")
    await quick.all_gone()
    assert quick.door.gone == quick.door.ports
    client.close()


async def test_a_client_that_answers_pings_stays(quick: Running) -> None:
    client = await RawClient.open(quick.end)
    for _ in range(5):
        opcode, data = await client.frame()
        assert opcode == Opcode.PING
        client.send(frame(Opcode.PONG, b"unasked") + frame(Opcode.PONG, data))
    assert quick.door.gone == []
    client.close()


async def test_a_client_whose_reading_is_paused_is_not_blamed_for_its_silence(
    quick: Running,
) -> None:
    client = await RawClient.open(quick.end)
    quick.door.ports[0].pause_reading()
    pings = [await client.frame() for _ in range(3)]
    assert {opcode for opcode, _ in pings} == {Opcode.PING}
    for _, data in pings:
        client.send(frame(Opcode.PONG, data))
    quick.door.ports[0].resume_reading()
    assert (await client.frame())[0] == Opcode.PING
    assert quick.door.gone == []
    client.close()


@BOTH_WAYS
async def test_the_outbox_of_a_slow_reader_is_counted_and_its_end_is_told(
    recording: Running,
) -> None:
    client = await RawClient.open(recording.end, limit=1024)
    port = recording.door.ports[0]
    chunk = b"x" * 100_000
    assert port.outbox_bytes == 0
    sent = 0
    while port.outbox_bytes < 4_000_000:
        port.send(chunk)
        sent += 1
        await asyncio.sleep(0)  # a turn, in which the kernel takes what it can
    assert port.outbox_bytes <= sent * len(chunk)
    assert recording.door.drains == 0 or sent > 40
    drains = recording.door.drains
    for _ in range(sent):
        assert await client.frame() == (Opcode.TEXT, chunk)
    await recording.door.until(lambda: recording.door.drains > drains)
    assert port.outbox_bytes < HIGH_WATER
    client.close()


@BOTH_WAYS
async def test_a_burst_that_the_kernel_takes_at_once_is_told_as_drained(
    recording: Running,
) -> None:
    client = await RawClient.open(recording.end, limit=2**20)
    port = recording.door.ports[0]
    port.send(b"x" * (HIGH_WATER + 1000))
    assert port.outbox_bytes > HIGH_WATER
    await recording.door.until(lambda: recording.door.drains == 1)
    assert port.outbox_bytes < HIGH_WATER
    client.close()


@BOTH_WAYS
async def test_pings_of_a_client_that_does_not_read_cost_no_memory(recording: Running) -> None:
    client = await RawClient.open(recording.end, limit=1024)
    port = recording.door.ports[0]
    while not port._backed_up:
        port.send(b"x" * 100_000)
        await asyncio.sleep(0)
    before = port.outbox_bytes
    client.send(frame(Opcode.PING, b"p" * 125) * 20_000 + text("done"))
    await recording.door.until(lambda: bool(recording.door.messages))
    assert port.outbox_bytes <= before
    while True:
        opcode, data = await client.frame()
        if opcode == Opcode.PONG:
            break
    assert data == b"p" * 125
    client.close()


@BOTH_WAYS
async def test_connections_come_and_go_without_a_trace(echo: Running) -> None:
    async def visit() -> None:
        async with echo.client() as client:
            await client.send("x")
            await client.recv()

    for _ in range(20):
        await visit()
    await echo.all_gone()
    echo.door.ports.clear()
    echo.door.gone.clear()
    descriptors = open_descriptors()
    gc.collect()
    tracemalloc.start()
    try:
        baseline = tracemalloc.get_traced_memory()[0]
        for _ in range(100):
            await visit()
        await echo.all_gone()
        echo.door.ports.clear()
        echo.door.gone.clear()
        gc.collect()
        grown = tracemalloc.get_traced_memory()[0] - baseline
    finally:
        tracemalloc.stop()
    assert open_descriptors() <= descriptors
    assert grown < 50_000


@BOTH_WAYS
async def test_stopping_closes_everybody_with_1001_and_frees_the_port(start: Start) -> None:
    running = await start(RecordingDoor())
    port = running.port
    polite = await running.client("localhost")
    async with asyncio.timeout(HUNG):
        await running.server.stop()
        await polite.wait_closed()
    assert polite.close_code == 1001
    assert polite.close_reason == "the gateway is shutting down"
    assert running.door.gone == running.door.ports
    again = Running(RecordingDoor())
    assert await again.server.start(port) == port
    await again.server.stop()


@BOTH_WAYS
async def test_stopping_cuts_off_who_does_not_answer(start: Start) -> None:
    running = await start(RecordingDoor(), Timing(close=60))
    deaf = await RawClient.open(running.end)
    stuck = await RawClient.connect(running.end)
    async with asyncio.timeout(HUNG):
        await running.server.stop(0.2)
    assert (await deaf.closing())[0] == 1001
    assert await stuck.rest() == b""
    assert running.door.gone == running.door.ports
    await running.server.stop()  # once more does nothing
    deaf.close()
    stuck.close()
