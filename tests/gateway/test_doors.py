"""Who gets in: Host, Origin and token at the door of a real gateway, and the limits behind it."""

import asyncio
import json

import psutil
import pytest

from tapui.wire.limits import (
    MAX_FRAME_BYTES,
    MAX_OWN_UNAUTHENTICATED,
    MAX_RESULT_BYTES,
    MAX_TOKEN_CONNECTIONS,
    MAX_UNAUTHENTICATED_BYTES,
    OUTBOX_BYTES,
)
from tests.gateway.conftest import Place, error, state_of
from tests.gateway.conftest import both_ends as end  # noqa: F401
from tests.rig.gateway import Gateway
from tests.rig.peers import GREET, Host, Peer
from tests.rig.waiting import until_async
from tests.runtime.rawclient import RawClient, request, text

PAGE = "https://app.example.com"
ONLY_TCP = pytest.mark.parametrize("end", ["tcp"], indirect=True)
"""For pages."""


@pytest.mark.parametrize(
    "host",
    ["evil.example.com", "localhost", "localhost:1", "127.0.0.2:{port}", "[::]:{port}", "0:{port}",
     "localhost.evil.example:{port}", "127.0.0.1:{port}.evil.example", "x@localhost:{port}"],
)  # fmt: skip
async def test_another_host_is_403(running: Gateway, host: str) -> None:
    client = await RawClient.connect(running.port)
    client.send(request(running.port, host=host.format(port=running.port)))
    status, _ = await client.response()
    assert status == 403


@pytest.mark.parametrize("origin", ["null", ""])
async def test_an_origin_that_is_none_is_403(running: Gateway, origin: str) -> None:
    client = await RawClient.connect(running.port)
    client.send(request(running.port, f"Origin: {origin}"))
    status, _ = await client.response()
    assert status == 403


async def test_two_origins_are_403(running: Gateway) -> None:
    client = await RawClient.connect(running.port)
    client.send(request(running.port, f"Origin: {PAGE}", f"Origin: {PAGE}"))
    status, _ = await client.response()
    assert status == 403


@pytest.mark.parametrize("address", ["127.0.0.1", "localhost", "[::1]"])
async def test_every_name_of_the_loopback_is_answered(running: Gateway, address: str) -> None:
    async with await Peer.connect(f"ws://{address}:{running.port}", token=running.token) as peer:
        assert (await peer.expect("sessions"))["active"]


@pytest.mark.parametrize("origin", [PAGE, "http://localhost:{port}", "http://127.0.0.1:{port}"])
@pytest.mark.parametrize("kind", ["ptk", "itk"])
async def test_a_page_cannot_use_a_native_token(running: Gateway, origin: str, kind: str) -> None:
    token = running.token if kind == "ptk" else running.internal_token
    async with await Peer.connect(running.url, origin=origin.format(port=running.port)) as peer:
        refusal = await error(peer, {"type": "auth", "token": token})
        assert refusal["code"] == "AUTH_FAILED"
        assert await peer.closed() == 1008


@ONLY_TCP
async def test_pairing_through_the_person(place: Place) -> None:
    client = await place.pairing()
    tower = await place.tower()
    waiting = [one for one in tower.snapshot["state"]["approvals"] if one["state"] == "waiting"]
    approval = waiting[-1]
    assert approval["detail"]["origin"] == PAGE
    sessions = [place.session]
    await tower.send(
        {"type": "approval.reveal", "approvalId": approval["id"], "sessions": sessions}
    )
    code = (await tower.expect("approval.revealed"))["code"]
    assert len(code) == 6
    assert code.isdigit()
    await client.send({"type": "auth.confirm", "code": code})
    answer = await client.expect("sessions")
    assert [one["id"] for one in answer["active"]] == [place.session]
    token = answer["token"]
    other = await place.connect(origin="https://other.example.com")
    assert (await error(other, {"type": "auth", "token": token}))["code"] == "AUTH_FAILED"
    again = await place.connect(token, origin=PAGE)
    hello = {"type": "hello", "name": "page", "protocolVersion": 2, "session": place.session}
    await again.send(hello)
    assert "persistDir" not in await again.expect("hello.ack")
    local = await error(again, {**hello, "session": "local"})
    assert local["code"] == "INVALID_SESSION"


@ONLY_TCP
async def test_the_fourth_pairing_is_refused(place: Place) -> None:
    for _ in range(3):
        await place.pairing()
    fourth = await place.connect(origin=PAGE)
    refusal = await error(fourth, {"type": "auth", "mode": "pair"})
    assert refusal["code"] == "RATE_LIMITED"
    assert await state_of(fourth) == "AwaitAuth"


# Frames


async def test_a_stranger_has_4_kib_a_frame(place: Place) -> None:
    peer = await place.connect()
    await peer.send("x" * MAX_UNAUTHENTICATED_BYTES)
    assert (await peer.expect("error"))["code"] == "INVALID_JSON"
    await peer.send("x" * (MAX_UNAUTHENTICATED_BYTES + 1))
    assert await peer.closed() == 1009


async def test_a_result_over_5_mib_fails_its_own_call_and_nothing_else(place: Place) -> None:
    provider = await place.provider()
    for id_ in ("i1", "i2"):
        await place.host.invoke(place.session, "greet", id_=id_)
    first, second = [(await provider.expect("tool.call"))["id"] for _ in range(2)]
    for size in (MAX_RESULT_BYTES, MAX_FRAME_BYTES - 1000):
        data = "x" * size
        await provider.send({"type": "tool.result", "id": first, "data": data})
        error = await provider.expect("error")
        assert (error["code"], error["replyTo"]) == ("PAYLOAD_TOO_LARGE", "tool.result")
        assert error["id"] == first
    outcome = await place.host.expect("tool.outcome")
    assert (outcome["id"], outcome["errorCode"]) == ("i1", "PAYLOAD_TOO_LARGE")
    await provider.send({"type": "tool.result", "id": second, "data": "hello"})
    assert (await place.host.expect("tool.outcome", id="i2"))["data"] == "hello"


async def test_another_message_over_5_mib_is_refused_and_costs_no_call(place: Place) -> None:
    provider = await place.provider()
    for id_ in ("i1", "i2"):
        await place.host.invoke(place.session, "greet", id_=id_)
    push = {"type": "push", "requestId": "r", "level": "keep", "event": "x" * MAX_RESULT_BYTES}
    await provider.send(push)
    error = await provider.expect("error")
    assert (error["code"], error["replyTo"]) == ("PAYLOAD_TOO_LARGE", "push")
    assert (error["requestId"], error["message"]) == ("r", "a push has at most 2097152 bytes")
    for id_ in ("i1", "i2"):
        await provider.answer(data=id_)
        assert (await place.host.expect("tool.outcome", id=id_))["data"] == id_


async def test_many_oversized_frames_at_a_time_take_no_memory(place: Place) -> None:
    providers = [await place.provider(name=f"p{n}", tools=[]) for n in range(8)]
    before = psutil.Process(place.gateway.pid).memory_info().rss
    result = '{"type":"tool.result","id":"x","data":"' + "x" * (MAX_FRAME_BYTES - 100) + '"}'
    await asyncio.gather(*(provider.send(result) for provider in providers))
    for provider in providers:
        assert (await provider.expect("error"))["code"] == "PAYLOAD_TOO_LARGE"
    grown = psutil.Process(place.gateway.pid).memory_info().rss - before
    assert grown < 2 * MAX_FRAME_BYTES


async def test_a_frame_over_32_mib_closes_with_1009(place: Place) -> None:
    provider = await place.provider()
    await place.host.invoke(place.session, "greet")
    await provider.expect("tool.call")
    await provider.send("x" * MAX_FRAME_BYTES)
    assert (await provider.expect("error"))["code"] == "PAYLOAD_TOO_LARGE"
    assert (await place.host.expect("tool.outcome"))["errorCode"] == "PAYLOAD_TOO_LARGE"
    await place.host.invoke(place.session, "greet", id_="i2")
    await provider.expect("tool.call")
    # The length that it announces decides.
    header = bytes((0x81, 0xFF)) + (MAX_FRAME_BYTES + 1).to_bytes(8, "big") + b"mask"
    provider._socket.transport.write(header)
    assert await provider.closed() == 1009
    assert (await place.host.expect("tool.outcome"))["errorCode"] == "DISCONNECTED"


async def test_a_result_of_exactly_5_mib_arrives_whole(place: Place) -> None:
    provider = await place.provider()
    await place.host.invoke(place.session, "greet")
    call = await provider.expect("tool.call")
    head = f'{{"type":"tool.result","id":"{call["id"]}","data":"'
    data = "x" * (5 * 1024 * 1024 - len(head) - 2)
    await provider.send(f'{head}{data}"}}')
    assert (await place.host.expect("tool.outcome"))["data"] == data


# Limits


async def test_the_oldest_silent_program_is_closed_for_a_new_one(place: Place) -> None:
    silent = [await place.connect() for _ in range(MAX_OWN_UNAUTHENTICATED + 1)]
    assert await silent[0].closed() == 1013
    await silent[-1].send({"type": "auth", "token": place.gateway.token})
    await silent[-1].expect("sessions")


@ONLY_TCP  # over the Unix socket a process has fewer that said no hello
async def test_a_token_with_too_many_connections_is_told_so_and_keeps_no_tower_out(
    place: Place,
) -> None:
    token = place.gateway.token
    for _ in range(MAX_TOKEN_CONNECTIONS):
        await place.connect(token)
    late = await place.connect()
    await late.send({"type": "auth", "token": token})
    assert (await late.expect("error"))["code"] == "RATE_LIMITED"
    assert await late.closed() == 1013
    await place.tower()


# Slow readers


async def test_a_provider_that_does_not_read_is_dropped(place: Place) -> None:
    client = await RawClient.open(place.end)
    client.send(text(f'{{"type":"auth","token":"{place.gateway.token}"}}'))
    hello = {"type": "hello", "name": "slow", "protocolVersion": 2, "session": place.session}
    client.send(text(json.dumps({**hello, "tools": [GREET]})))
    await place.host.expect("tools.changed")
    client.writer.transport.pause_reading()  # type: ignore[attr-defined]
    args = {"text": "x" * 1_000_000}
    for number in range(2 * OUTBOX_BYTES // 1_000_000 + 8):
        await place.host.invoke(place.session, "greet", args, id_=f"i{number}")
    outcome = await place.host.expect("tool.outcome")
    assert outcome["errorCode"] == "DISCONNECTED"
    client.close()


async def test_a_host_that_reads_late_loses_nothing(place: Place) -> None:
    gateway, session = place.gateway, f"{place.session}-slow"
    slow = await RawClient.open(place.end)
    for message in (
        {"type": "auth", "token": gateway.internal_token},
        {"type": "host.hello", "name": "slow", "kind": "k", "protocolVersion": 2},
        {"type": "session.open", "session": {"id": session, "label": "", "cwd": "/"}},
    ):
        slow.send(text(json.dumps(message)))
    tower = await place.tower()
    while session not in [one["id"] for one in tower.snapshot["state"]["sessions"]]:
        tower = await place.tower()
    feeder = await place.provider(session=session)
    push = {"type": "push", "level": "surface", "event": "x" * 1_900_000}

    async def feed() -> None:
        # Stalls when what the host has not read is enough; goes on when it reads.
        for _ in range(9):
            await feeder.send(push)

    feeding = asyncio.create_task(feed())
    for _ in range(1 if place.end.socket else 3):  # the system keeps less of a Unix socket
        await tower.event("stream.posted")
    logs = 0
    while logs < 9:
        _, data = await slow.frame()
        logs += data.startswith(b'{"type":"session.log"')
    await feeding
    assert feeder.is_open
    slow.close()


async def test_a_tower_that_falls_behind_gets_a_new_snapshot(place: Place) -> None:
    gateway = place.gateway
    slow = await RawClient.open(place.end)
    slow.send(text(f'{{"type":"auth","token":"{gateway.internal_token}"}}'))
    slow.send(text('{"type":"tower.hello","protocolVersion":2}'))
    while not (await slow.frame())[1].startswith(b'{"type":"tower.snapshot"'):
        pass
    events = 0
    while events < 40:
        payload = {"type": "session.event", "sessionId": place.session, "event": "noise"}
        for _ in range(20):
            await place.host.send({**payload, "data": {"text": "y" * 60_000}})
        events += 1
    second = None
    last = 0
    while second is None:
        _, data = await slow.frame()
        if data.startswith(b'{"type":"tower.snapshot"'):
            second = data
        else:
            last += 1
    assert last < events * 20
    slow.close()


async def test_in_flight_ends_on_both_sides(place: Place) -> None:
    provider = await place.provider()
    await place.host.invoke(place.session, "greet")
    await provider.expect("tool.call")
    provider.drop()
    outcome = await place.host.expect("tool.outcome")
    assert outcome["errorCode"] == "DISCONNECTED"
    other = await place.provider(name="other")
    gateway = place.gateway
    second = await Host.hello(gateway.url, gateway.internal_token, end=place.end.socket)
    await second.invoke(place.session, "greet", id_="i2")
    call = await other.expect("tool.call")
    second.drop()
    assert (await other.expect("tool.cancel"))["id"] == call["id"]
    place.host.drop()
    lifecycle = await other.expect("session.lifecycle", state="shutdown.pending")
    assert lifecycle["deadline"] == 10_000
    await until_async(lambda: other.is_open, what="the provider stays connected")
