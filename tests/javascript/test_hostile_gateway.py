"""Gateways that send nonsense, fall silent, close, or read nothing: the provider stands it."""

import asyncio
import itertools
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import websockets
from websockets.asyncio.server import ServerConnection, serve

from tests.javascript.conftest import PROGRAMS, Program
from tests.rig.peers import Json
from tests.rig.waiting import HUNG

WIDE = (PROGRAMS / "wide.js").read_text()
SESSIONS = {"type": "sessions", "active": [{"id": "s", "label": "here", "foreground": True}]}
ACK = {"type": "hello.ack", "protocolVersion": 2, "providerId": "p", "sessionId": "s"}


class Link:
    """A connection of the provider's, with what it has sent."""

    def __init__(self, socket: ServerConnection) -> None:
        self.socket = socket
        self.said: list[Json] = []

    async def send(self, *messages: Any) -> None:
        for message in messages:
            is_frame = isinstance(message, str | bytes)
            await self.socket.send(message if is_frame else json.dumps(message))

    async def hear(self, type_: str, **fields: Any) -> Json:
        """Return the next message of this type; what comes before it is in `said`."""
        async with asyncio.timeout(HUNG):
            while True:
                message: Json = json.loads(await self.socket.recv())
                self.said.append(message)
                if message["type"] == type_ and all(
                    message.get(field) == value for field, value in fields.items()
                ):
                    return message

    async def bind(self) -> None:
        await self.hear("auth")
        await self.send(SESSIONS)
        await self.hear("hello")
        await self.send(ACK)

    async def call(self, tool: str, id_: str, **args: Any) -> Json:
        call = {"type": "tool.call", "id": id_, "sessionId": "s", "tool": tool, "args": args}
        await self.send(call)
        return await self.hear("tool.result", id=id_)


Script = Callable[[Link, int], Awaitable[None]]


async def play(script: Script, folder: Path, until_done: asyncio.Event) -> str:
    """Be a gateway that does what `script` says to each connection; return what was printed."""
    count = 0
    faults: list[BaseException] = []

    async def connected(socket: ServerConnection) -> None:
        nonlocal count
        count += 1
        try:
            with suppress(websockets.ConnectionClosed):
                await script(Link(socket), count)
        except BaseException as error:
            faults.append(error)
            until_done.set()
            raise

    async with serve(connected, "127.0.0.1", 0, max_size=None, logger=_quiet()) as server:
        port = next(iter(server.sockets)).getsockname()[1]
        env = {
            "PATH": "/usr/bin:/bin",
            "HOME": str(folder),
            "TAP_GATEWAY": f"ws://127.0.0.1:{port}",
            "TAP_PROVIDER_TOKEN": "ptk-x",
        }
        with Program(folder / "wide", env, WIDE) as wide:
            async with asyncio.timeout(30):
                await until_done.wait()
            if faults:
                raise faults[0]
            assert wide.process.poll() is None, wide.err
            assert await asyncio.to_thread(wide.leave) == 0, wide.err
            return wide.out


def _quiet() -> Any:
    import logging

    logger = logging.getLogger("tests.javascript.hostile")
    logger.setLevel(logging.CRITICAL)
    return logger


NONSENSE: list[Any] = [
    "",
    "null",
    "[]",
    "{",
    "\x00",
    b"\xff\xfe binary",
    "1e999",
    '{"type": 3}',
    {"type": {"toString": 1, "valueOf": 1}},
    '{"type": "constructor"}',
    '{"type": "__proto__"}',
    '{"type": "toString", "sessionId": "s"}',
    {"type": "a.newer.message", "sessionId": "s"},
    {"type": "tool.call"},
    {"type": "tool.call", "id": 1, "sessionId": {}, "tool": []},
    {"type": "tool.cancel", "id": "unknown", "sessionId": "s", "reason": "why"},
    {"type": "gate.check", "gateId": "unknown", "callId": "c", "sessionId": "s", "tool": "x"},
    {"type": "transform.request", "callId": "c", "sessionId": "s", "section": None},
    {"type": "stream.history", "queryId": "q", "streams": {}},
    {"type": "session.event", "sessionId": "s", "event": "tool.execution_complete"},
    {"type": "session.lifecycle", "sessionId": "s", "state": "upside down"},
    {"type": "session.lifecycle", "sessionId": 7, "state": "shutdown.pending"},
    {"type": "ack", "requestId": "never"},
    {"type": "error", "code": [], "message": {}},
    {"type": "error", "code": "RATE_LIMITED", "message": "\x1b[31mred\x07"},
    {"type": "error", "code": "X", "message": "no name", "replyTo": {"toString": 1}},
    {"type": "ack", "requestId": "never", "warnings": [{"toString": 1}]},
    {"type": "sessions.updated", "active": [None, 3, {}, {"id": 1}, SESSIONS["active"][0]]},
    "[" * 100_000,
    json.dumps({"type": "tool.call", "id": "x" * 11_000_000}),
]


async def test_nonsense_is_ignored_in_every_state(tmp_path: Path) -> None:
    done = asyncio.Event()

    async def script(link: Link, number: int) -> None:
        call = {"type": "tool.call", "id": "early", "sessionId": "s", "tool": "heard", "args": {}}
        await link.hear("auth")
        await link.send(*NONSENSE[:-1], call, SESSIONS)
        await link.hear("hello")
        await link.send(*NONSENSE, call, ACK, *NONSENSE)
        answer = await link.call("result", "real", kind="words")
        assert answer["data"] == "words"
        kinds = [one["type"] for one in link.said if one["type"] != "push"]
        assert kinds == ["auth", "hello", "filter.set", "tool.result"]
        done.set()
        await link.hear("goodbye")

    out = await play(script, tmp_path, done)
    assert "\x1b" not in out
    assert out.count("in session here (s)") == 1


async def test_each_call_is_answered_once_whatever_is_asked(tmp_path: Path) -> None:
    done = asyncio.Event()

    async def script(link: Link, number: int) -> None:
        await link.bind()
        call = {"type": "tool.call", "sessionId": "s", "tool": "waitsLong", "args": {}}
        cancel = {"type": "tool.cancel", "id": "1", "sessionId": "s", "reason": "enough"}
        await link.send({**call, "id": "1"}, {**call, "id": "1"}, cancel, cancel)
        await link.send({**call, "id": "2", "args": None}, {**call, "id": "3", "args": "text"})
        odd = await link.call("__proto__", "4")
        assert odd["errorCode"] == "NOT_FOUND"
        await link.call("result", "5", kind="words")
        answers = [one for one in link.said if one["type"] == "tool.result"]
        assert [(one["id"], one.get("errorCode")) for one in answers] == [
            ("1", "CANCELLED"),
            ("3", "INVALID_ARGS"),
            ("4", "NOT_FOUND"),
            ("5", None),
        ]
        done.set()
        await link.hear("tool.result", id="2")

    await play(script, tmp_path, done)


async def test_a_gateway_that_closes_at_once_is_dialled_slower_and_slower(tmp_path: Path) -> None:
    done = asyncio.Event()
    times: list[float] = []

    async def script(link: Link, number: int) -> None:
        times.append(asyncio.get_running_loop().time())
        if number % 2:
            await link.bind()
        if number == 5:
            done.set()

    out = await play(script, tmp_path, done)
    pauses = [after - before for before, after in itertools.pairwise(times)]
    assert all(pause > 0.18 * 2**n for n, pause in enumerate(pauses)), pauses
    assert out.count("waiting: ") >= 1


async def test_a_gateway_that_reads_nothing_is_given_up(tmp_path: Path) -> None:
    done = asyncio.Event()

    async def script(link: Link, number: int) -> None:
        await link.bind()
        if number == 2:
            done.set()
            await link.hear("goodbye")
        big = {
            "type": "tool.call",
            "sessionId": "s",
            "tool": "result",
            "args": {"kind": "nearlyBig"},
        }
        for n in range(40):
            await link.send({**big, "id": str(n)})
        link.socket.transport.pause_reading()
        await done.wait()
        link.socket.transport.abort()

    out = await play(script, tmp_path, done)
    assert "waiting: the gateway does not read what it is sent" in out


async def test_what_is_no_gateway_is_named(tmp_path: Path) -> None:
    heard = asyncio.Event()

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")
            heard.set()
        except asyncio.IncompleteReadError:
            pass  # it left before it had asked
        finally:
            writer.close()

    server = await asyncio.start_server(answer, "127.0.0.1", 0)
    async with server:
        port = server.sockets[0].getsockname()[1]
        env = {"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "TAP_PROVIDER_TOKEN": "ptk-x"}
        with Program(tmp_path / "a", env | {"TAP_GATEWAY": f"ws://127.0.0.1:{port}"}, WIDE) as wide:
            await heard.wait()
            await asyncio.to_thread(
                wide.says, f"waiting: no gateway answers at ws://127.0.0.1:{port}"
            )
            assert await asyncio.to_thread(wide.leave) == 0
        with Program(tmp_path / "b", env | {"TAP_GATEWAY": "no address"}, WIDE) as wide:
            await asyncio.to_thread(wide.says, "waiting: 'no address' is no address of a gateway")
            assert await asyncio.to_thread(wide.leave) == 0
