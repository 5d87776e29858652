"""Who may open a connection, and what happens to those who may not."""

import asyncio
import itertools
import socket

import pytest
import websockets

from tapui.runtime.websocket.connections import MAX_TRANSIENT
from tests.runtime.conftest import BOTH_WAYS, Running
from tests.runtime.rawclient import RawClient, open_descriptors, request

PAGE = "https://example.com"

HOSTS = {
    "127.0.0.1:{port}": True,
    "localhost:{port}": True,
    "[::1]:{port}": True,
    "": False,
    "localhost": False,
    "127.0.0.1": False,
    "127.0.0.1:1": False,
    "127.0.0.2:{port}": False,
    "127.1:{port}": False,
    "0.0.0.0:{port}": False,
    "[::]:{port}": False,
    "::1:{port}": False,
    "evil.example:{port}": False,
    "127.0.0.1.evil.example:{port}": False,
    "localhost.:{port}": False,
    "localhost:{port}, evil.example": False,
    "user@localhost:{port}": False,
    "localhost:0{port}": False,
}
ORIGINS: dict[tuple[str, ...], bool] = {
    (): True,
    (PAGE,): True,
    ("http://localhost:3000",): True,
    ("chrome-extension://abcdefgh",): True,
    ("null",): False,
    ("NULL",): False,
    ("",): False,
    (PAGE, PAGE): False,
    (PAGE, "null"): False,
    (f"{PAGE} https://other.example",): False,
    (f"{PAGE}, https://other.example",): False,
}


@BOTH_WAYS
@pytest.mark.parametrize(
    ("host", "origins"),
    [
        *itertools.product(HOSTS, [(), (PAGE,)]),
        *itertools.product(["localhost:{port}", "evil.example:{port}"], [*ORIGINS][2:]),
    ],
)
async def test_host_and_origin_decide(
    recording: Running, host: str, origins: tuple[str, ...]
) -> None:
    port = recording.port
    client = await RawClient.connect(recording.end)
    lines = [f"Origin: {origin}" for origin in origins]
    client.send(request(port, *lines, host=host.format(port=port)))
    status, said = await client.response()
    is_by_socket = recording.end.socket is not None  # which no page reaches
    is_taken = ORIGINS[origins] and not (origins and is_by_socket)
    if HOSTS[host] and is_taken:
        assert status == 101
        assert recording.door.ports[0].origin == (origins[0] if origins else None)
    else:
        assert status == 403
        assert b"Server: tapui\r\n" in said
        assert (b"Host must be" in said) is not HOSTS[host]
        assert recording.door.ports == []
    client.close()


async def test_duplicate_host_is_refused(recording: Running) -> None:
    client = await RawClient.connect(recording.end)
    client.send(request(recording.port, f"Host: 127.0.0.1:{recording.port}"))
    assert (await client.response())[0] == 403
    client.close()


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "[::1]"])
@pytest.mark.parametrize("path", ["", "/", "/?x=1", "/any/path"])
async def test_every_path_is_the_gateway(echo: Running, name: str, path: str) -> None:
    async with websockets.connect(f"ws://{name}:{echo.port}{path}", proxy=None) as client:
        await client.send("hello")
        assert await client.recv() == "hello"
        assert client.protocol.extensions == []  # no compression, whatever was offered


@BOTH_WAYS
async def test_a_full_gateway_answers_503_with_its_reason(recording: Running) -> None:
    recording.door.refused = "50 clients are connected already; disconnect one first"
    client = await RawClient.connect(recording.end)
    client.send(request(recording.port))
    status, said = await client.response()
    assert status == 503
    assert said.endswith(b"50 clients are connected already; disconnect one first\n")
    assert recording.door.ports == []
    client.close()


@BOTH_WAYS
async def test_a_draining_server_refuses_new_clients_and_keeps_the_old(echo: Running) -> None:
    async with echo.client() as old:
        echo.server.drain()
        client = await RawClient.connect(echo.end)
        client.send(request(echo.port))
        status, said = await client.response()
        assert status == 503
        assert b"shutting down" in said
        client.close()
        await old.send("still here")
        assert await old.recv() == "still here"


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"hello\r\n\r\n", 400),
        (b"\r\n\r\n", 400),
        (b"GET / HTTP/9.9\r\nHost: x\r\n\r\n", 400),
        (b"GET / HTTP/1.1\nHost: x\n\n", 400),
        (b"GET / HTTP/1.1\r\nno colon\r\n\r\n", 400),
        (b"GET / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n", 400),
        (b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x0a" * 40, 400),
        (b"GET /" + b"a" * 9000 + b" HTTP/1.1\r\n", 414),
        (b"GET / HTTP/1.1\r\nX: " + b"a" * 9000 + b"\r\n", 431),
        (b"GET / HTTP/1.1\r\n" + (b"X: " + b"a" * 400 + b"\r\n") * 60, 431),
        (b"GET / HTTP/1.1\r\n" + b"a:b\r\n" * 200, 431),
    ],
    ids=[
        "no-http",
        "empty-line",
        "other-version",
        "no-carriage-returns",
        "no-colon",
        "body",
        "tls",
        "long-path",
        "long-header",
        "long-head",
        "many-headers",
    ],
)
async def test_what_is_no_handshake_is_answered_and_closed(
    quick: Running, sent: bytes, status: int
) -> None:
    client = await RawClient.connect(quick.end)
    client.send(sent)
    assert (await client.response())[0] == status
    assert quick.door.ports == []
    client.close()


@pytest.mark.parametrize(
    ("first", "drop", "status"),
    [
        ("GET / HTTP/1.1", "Upgrade: websocket", 426),
        ("GET / HTTP/1.1", "Connection: Upgrade", 426),
        ("GET / HTTP/1.1", "Sec-WebSocket-Version: 13", 400),
        ("GET / HTTP/1.1", "Sec-WebSocket-Key", 400),
        ("POST / HTTP/1.1", None, 405),
        ("GET / HTTP/1.0", None, 505),
    ],
)
async def test_a_wrong_handshake_gets_its_status(
    recording: Running, first: str, drop: str | None, status: int
) -> None:
    client = await RawClient.connect(recording.end)
    whole = request(recording.port, first=first).decode().split("\r\n")
    kept = [line for line in whole if drop is None or not line.startswith(drop)]
    client.send("\r\n".join(kept).encode())
    assert (await client.response())[0] == status
    client.close()


async def test_a_handshake_may_arrive_byte_by_byte(echo: Running) -> None:
    client = await RawClient.connect(echo.end)
    for byte in request(echo.port):
        client.send(bytes((byte,)))
        await client.writer.drain()
        await asyncio.sleep(0)
    assert (await client.response())[0] == 101
    client.close()


@BOTH_WAYS
async def test_a_slow_handshake_is_cut_off(quick: Running) -> None:
    client = await RawClient.connect(quick.end)
    client.send(b"GET / HTTP/1.1\r\nHost: ")
    assert await client.rest() == b""
    client.close()


@BOTH_WAYS
async def test_only_so_many_handshakes_wait_at_once(recording: Running) -> None:
    before = open_descriptors()
    idle = [await RawClient.connect(recording.end) for _ in range(130)]
    # The oldest were cut off to make room, and a client with a handshake still gets in.
    assert await idle[0].rest() == b""
    client = await RawClient.open(recording.end)
    assert recording.open == 1
    assert open_descriptors() - before <= 130 + 1 + 100 + 5
    for one in [*idle, client]:
        one.close()


@BOTH_WAYS
async def test_many_may_come_in_one_moment(recording: Running) -> None:
    port, path = recording.end.port, recording.end.socket
    waiting = []
    for _ in range(250):  # the server's loop does not turn meanwhile
        if path is None:
            waiting.append(socket.create_connection(("127.0.0.1", port), timeout=0.9))
        else:
            waiting.append(socket.socket(socket.AF_UNIX))
            waiting[-1].setblocking(False)
            waiting[-1].connect(str(path))
    client = await RawClient.open(recording.end)
    for one in (client, *waiting):
        one.close()


@BOTH_WAYS
async def test_those_who_are_refused_and_linger_cut_off_no_handshake(recording: Running) -> None:
    slow = await RawClient.connect(recording.end)
    refused = []
    for _ in range(MAX_TRANSIENT + 20):
        client = await RawClient.connect(recording.end)
        client.send(request(recording.port, host="evil.example"))
        assert b"403" in await client.reader.readuntil(b"\r\n\r\n")
        refused.append(client)
    slow.send(request(recording.port))
    assert (await slow.response())[0] == 101
    for client in (slow, *refused):
        client.close()


@BOTH_WAYS
async def test_a_refused_client_that_lingers_is_cut_off(quick: Running) -> None:
    client = await RawClient.connect(quick.end)
    client.send(request(quick.port, host="evil.example"))
    assert (await client.response())[0] == 403
    client.send(b"more of it")
    await quick.all_gone()
    client.close()
