"""A gateway that says exactly what a test says, announced in a home as a real one is."""

import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from websockets.asyncio.server import Server, ServerConnection, serve
from websockets.exceptions import ConnectionClosed

from tapui.home.paths import Home
from tapui.home.run_folder import RunFolder
from tapui.secret import Secret

Json = dict[str, Any]
Talk = Callable[["Peer"], Awaitable[None]]

TOKEN = "itk-of-the-test"
SESSION: Json = {"id": "s1", "label": "First", "foreground": True, "state": "idle", "cwd": "/code"}
EMPTY: Json = {
    "sessions": [],
    "providers": [],
    "calls": [],
    "streams": [],
    "approvals": [],
    "unattached": [],
}


class Peer:
    """The gateway's end of one connection."""

    def __init__(self, socket: ServerConnection) -> None:
        self.socket = socket
        self.seq = 0

    async def send(self, type_: str, **fields: Any) -> None:
        await self.socket.send(json.dumps({"type": type_, **fields}))

    async def receive(self) -> Json:
        message: Json = json.loads(await self.socket.recv())
        return message

    async def greet(self, state: Json | None = None, *, seq: int = 0, towers: int = 0) -> Json:
        """Go through the opening; return the `tower.hello`."""
        auth = await self.receive()
        assert auth == {"type": "auth", "token": TOKEN}
        await self.send("sessions", active=[SESSION])
        hello = await self.receive()
        assert hello["type"] == "tower.hello"
        await self.snapshot(state, seq=seq, towers=towers)
        return hello

    async def snapshot(self, state: Json | None = None, *, seq: int = 0, towers: int = 0) -> None:
        self.seq = seq
        await self.send(
            "tower.snapshot", seq=seq, run="r1", towers=towers, state={**EMPTY, **(state or {})}
        )

    async def event(self, kind: str, **fields: Any) -> None:
        self.seq += 1
        event = {"kind": kind, **fields}
        await self.send("tower.event", seq=self.seq, ts="2026-11-21T20:10:00.123456Z", event=event)

    async def line(self, number: int, text: str = "x", *, session: str = "s1") -> None:
        await self.event(
            "stream.posted", sessionId=session, stream="ci@watcher", line=line(number, text)
        )


def line(number: int, text: str = "x") -> Json:
    """A line of a stream."""
    return {"seq": number, "ts": "2026-11-21T20:10:00.123456Z", "level": "keep", "event": text}


def approval(id_: str, kind: str = "permission", state: str = "waiting", **more: Any) -> Json:
    """An approval."""
    return {
        "id": id_,
        "kind": kind,
        "state": state,
        "detail": {},
        "createdAt": "2026-11-21T20:10:00.123456Z",
        "expiresAt": "2026-11-21T20:12:00.123456Z",
        **more,
    }


class FakeGateway:
    """Listens on 127.0.0.1 and lets `talk` play the gateway's part of every connection."""

    def __init__(
        self, root: Path, talk: Talk, *, port: int = 0, max_bytes: int | None = 2**20
    ) -> None:
        self.home = Home.at(root / "tapui", root / "copilot")
        self.talk = talk
        self.faults: list[BaseException] = []
        self._port = port
        self._max_bytes = max_bytes
        self._server: Server
        self._folder: RunFolder

    async def __aenter__(self) -> Self:
        self._server = await serve(
            self._serve, "127.0.0.1", self._port, compression=None, max_size=self._max_bytes
        )
        self._port = self._server.sockets[0].getsockname()[1]
        self._folder = RunFolder.claim(self.home, self._port)
        self._folder.write_internal_token(Secret(TOKEN))
        self._folder.announce(self.url, "9.9.9", Path("/nowhere"))
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.stop()
        assert not self.faults, self.faults

    async def stop(self) -> None:
        self._folder.release()
        self._server.close()
        await self._server.wait_closed()

    async def _serve(self, socket: ServerConnection) -> None:
        try:
            await self.talk(Peer(socket))
        except ConnectionClosed:
            pass  # the client has left
        except AssertionError as fault:
            self.faults.append(fault)

    @property
    def port(self) -> int:
        return self._port

    @property
    def url(self) -> str:
        return f"ws://127.0.0.1:{self._port}"
