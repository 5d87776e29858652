"""Messages between clients and the door: whole, in order, within their limits."""

import asyncio
import os

import pytest
from websockets.frames import Opcode

from tapui.runtime.ports import SocketPort
from tapui.wire.limits import (
    MAX_FRAME_BYTES,
    MAX_RESULT_BYTES,
    MAX_UNAUTHENTICATED_BYTES,
    OVERSIZED_HEAD_BYTES,
)
from tests.rig.waiting import HUNG
from tests.runtime.conftest import BOTH_WAYS, Running, Start
from tests.runtime.doors import RecordingDoor
from tests.runtime.rawclient import RawClient, frame, request, text


async def test_a_fragmented_message_arrives_whole_with_pings_between(
    recording: Running, client: RawClient
) -> None:
    client.send(frame(Opcode.TEXT, b"one ", fin=False))
    client.send(frame(Opcode.PING, b"?"))
    client.send(frame(Opcode.CONT, b"two ", fin=False))
    client.send(frame(Opcode.CONT, b"three"))
    client.send(text("after"))
    await recording.door.until(lambda: len(recording.door.messages) == 2)
    assert recording.door.messages == [b"one two three", b"after"]
    assert await client.frame() == (Opcode.PONG, b"?")


@BOTH_WAYS
async def test_messages_may_arrive_byte_by_byte(recording: Running, client: RawClient) -> None:
    for byte in text("one") + frame(Opcode.PING, b"?") + text("x" * 300):
        client.send(bytes((byte,)))
        await client.writer.drain()
        await asyncio.sleep(0)
    await recording.door.until(lambda: len(recording.door.messages) == 2)
    assert recording.door.messages == [b"one", b"x" * 300]
    assert await client.frame() == (Opcode.PONG, b"?")


async def test_a_pong_goes_ahead_of_the_answer_to_what_followed_the_ping(echo: Running) -> None:
    client = await RawClient.open(echo.end)
    client.send(frame(Opcode.PING, b"first") + text("second"))
    assert await client.frame() == (Opcode.PONG, b"first")
    assert await client.frame() == (Opcode.TEXT, b"second")
    client.close()


async def test_bytes_that_are_not_utf8_reach_the_door_unchanged(
    recording: Running, client: RawClient
) -> None:
    client.send(text(b"\xff\xfe") + text("next"))
    await recording.door.until(lambda: len(recording.door.messages) == 2)
    assert recording.door.messages == [b"\xff\xfe", b"next"]


async def test_a_binary_message_is_reported_by_its_size(
    recording: Running, client: RawClient
) -> None:
    client.send(frame(Opcode.BINARY, b"\x00" * 7))
    client.send(frame(Opcode.BINARY, b"\x00" * 7, fin=False) + frame(Opcode.CONT, b"\x00" * 3))
    client.send(text("still open"))
    await recording.door.until(lambda: bool(recording.door.messages))
    assert recording.door.binary == [7, 10]


@BOTH_WAYS
@pytest.mark.parametrize("size", [0, 1, 125, 126, 65535, 65536, MAX_RESULT_BYTES])
async def test_messages_of_every_length_come_back(echo: Running, size: int) -> None:
    async with echo.client(max_size=None) as client:
        sent = "x" * size
        await client.send(sent)
        assert await client.recv() == sent


@BOTH_WAYS
@pytest.mark.parametrize("fragments", [1, 3])
async def test_over_the_frame_limit_the_socket_closes(
    recording: Running, client: RawClient, fragments: int
) -> None:
    size = MAX_FRAME_BYTES + 1
    if fragments == 1:
        # The length alone decides: nothing of the frame is read.
        client.send(bytes((0x81, 0xFF)) + size.to_bytes(8, "big") + b"mask")
    else:
        part = b"x" * (size // fragments + 1)
        client.send(frame(Opcode.TEXT, part, fin=False))
        client.send(frame(Opcode.CONT, part, fin=False) + frame(Opcode.CONT, part))
    assert (await client.closing())[0] == 1009
    await recording.door.until(lambda: recording.door.gone == recording.door.ports)
    assert recording.door.messages == []


@pytest.mark.parametrize("fragments", [1, 4])
@pytest.mark.parametrize("size", [MAX_RESULT_BYTES + 1, MAX_FRAME_BYTES])
async def test_of_an_oversized_message_the_beginning_is_reported(
    recording: Running, client: RawClient, size: int, fragments: int
) -> None:
    message = bytes(range(32, 127)) * (size // 95 + 1)
    message = message[:size]
    step = -(-size // fragments)
    for start in range(0, size, step):
        opcode = Opcode.CONT if start else Opcode.TEXT
        part = message[start : start + step]
        client.send(frame(opcode, part, fin=start + step >= size))
    client.send(text("next"))
    await recording.door.until(lambda: bool(recording.door.messages))
    assert recording.door.oversized == [message[:OVERSIZED_HEAD_BYTES]]
    assert recording.door.messages == [b"next"]


@BOTH_WAYS
async def test_oversized_messages_are_not_held(recording: Running) -> None:
    clients = [await RawClient.open(recording.end) for _ in range(20)]
    size = MAX_FRAME_BYTES
    header = bytes((0x81, 0xFF)) + size.to_bytes(8, "big") + b"mask"
    for client in clients:
        client.send(header + b"x" * (MAX_RESULT_BYTES * 2))
    await asyncio.gather(*(client.writer.drain() for client in clients))
    connections = recording.server.connections
    assert connections is not None

    def left() -> list[int]:
        return [port._incoming._left for port in connections.sockets]

    async with asyncio.timeout(HUNG):
        while left() != [size - MAX_RESULT_BYTES * 2] * len(clients):  # noqa: ASYNC110
            await asyncio.sleep(0)
    held = [port._incoming.held for port in connections.sockets]
    assert held == [OVERSIZED_HEAD_BYTES] * len(clients)
    for client in clients:
        client.close()


@BOTH_WAYS
@pytest.mark.parametrize(("size", "code"), [(MAX_UNAUTHENTICATED_BYTES, None), (4097, 1009)])
async def test_an_unauthenticated_client_has_four_kilobytes(
    recording: Running, size: int, code: int | None
) -> None:
    recording.door.trusting = False
    client = await RawClient.open(recording.end)
    client.send(text(b"x" * size))
    if code is None:
        await recording.door.until(lambda: len(recording.door.messages) == 1)
    else:
        assert (await client.closing())[0] == code
        assert recording.door.messages == []
    client.close()


class LateDoor(RecordingDoor):
    """Authenticates after the first message, in the loop's next turn, as the gateway does."""

    def __init__(self) -> None:
        super().__init__()
        self.trusting = False

    def received(self, port: SocketPort, data: bytes) -> None:
        if not self.messages:
            asyncio.get_running_loop().call_soon(port.authenticated)
        super().received(port, data)


@BOTH_WAYS
@pytest.mark.parametrize("together", [True, False])
async def test_a_large_message_right_behind_the_authentication_is_read(
    start: Start, together: bool
) -> None:
    running = await start(LateDoor())
    client = await RawClient.open(running.end)
    large = b"y" * 100_000
    if together:
        client.send(text("auth") + text(large) + text("third"))
    else:
        client.send(text("auth"))
        client.send(text(large) + text("third"))
    await running.door.until(lambda: len(running.door.messages) == 3)
    assert running.door.messages == [b"auth", large, b"third"]
    client.close()


async def test_an_unauthenticated_flood_is_read_no_faster_than_it_is_answered(
    recording: Running,
) -> None:
    recording.door.trusting = False
    client = await RawClient.open(recording.end)
    client.send(text("x") * 2000)
    await recording.door.until(lambda: len(recording.door.messages) == 2000)
    assert set(recording.door.messages) == {b"x"}
    client.close()


async def test_frames_sent_before_the_handshake_was_answered_are_read_after_it(
    recording: Running,
) -> None:
    client = await RawClient.connect(recording.end)
    client.send(request(recording.port) + text("eager"))
    assert (await client.response())[0] == 101
    await recording.door.until(lambda: recording.door.messages == [b"eager"])
    client.close()


class Counted:
    """A transport that counts its writes."""

    def __init__(self, transport: asyncio.Transport) -> None:
        self._transport = transport
        self.writes = 0

    def __getattr__(self, name: str) -> object:
        return getattr(self._transport, name)

    def write(self, data: bytes) -> None:
        self.writes += 1
        self._transport.write(data)


class BurstDoor(RecordingDoor):
    """Answers one message with many."""

    def received(self, port: SocketPort, data: bytes) -> None:
        for number in range(100):
            port.send(b"%d" % number)


@BOTH_WAYS
async def test_what_is_sent_in_one_turn_leaves_in_order_in_one_write(start: Start) -> None:
    running = await start(BurstDoor())
    client = await RawClient.open(running.end)
    port = running.door.ports[0]
    port._transport = counted = Counted(port._transport)
    client.send(text("go"))
    got = [await client.frame() for _ in range(100)]
    assert got == [(Opcode.TEXT, b"%d" % number) for number in range(100)]
    assert counted.writes == 1
    client.close()


@BOTH_WAYS
async def test_a_paused_client_is_read_again_after_resuming(recording: Running) -> None:
    client = await RawClient.open(recording.end)
    port = recording.door.ports[0]
    port.pause_reading()
    client.send(text("held"))
    other = await RawClient.open(recording.end)
    other.send(text("not held"))
    await recording.door.until(lambda: bool(recording.door.messages))
    assert recording.door.messages == [b"not held"]
    port.resume_reading()
    await recording.door.until(lambda: recording.door.messages == [b"not held", b"held"])
    client.close()
    other.close()


@BOTH_WAYS
async def test_many_clients_are_told_apart(echo: Running) -> None:
    clients = await asyncio.gather(*(echo.client("localhost") for _ in range(50)))
    assert echo.open == 50
    for number, client in enumerate(clients):
        await client.send(f"I am {number}")
    answers = await asyncio.gather(*(client.recv() for client in clients))
    assert answers == [f"I am {number}" for number in range(50)]
    await asyncio.gather(*(client.close() for client in clients))
    await echo.all_gone()
    assert echo.open == 0
    assert len(echo.door.gone) == 50


async def test_nagle_is_off(recording: Running) -> None:
    import socket

    client = await RawClient.open(recording.end)
    opened = recording.door.ports[0]._transport.get_extra_info("socket")
    assert opened.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
    client.close()


@BOTH_WAYS
async def test_random_bytes_after_the_handshake_leak_nothing(recording: Running) -> None:
    for _ in range(30):
        client = await RawClient.open(recording.end)
        client.send(os.urandom(500))
        client.close()
    await recording.all_gone()
    assert len(recording.door.gone) == len(recording.door.ports) == 30
