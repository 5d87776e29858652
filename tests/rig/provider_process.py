"""A provider as an operating-system process of its own, which a test directs line by line.

Run as a module it is the process: it connects, says hello, prints every message that it gets and
sends every message that it is told on standard input (JSON, one a line). It knows `websockets`
and the public socket, nothing of tapui.
"""

import asyncio
import json
import os
import subprocess
import sys
import threading
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import websockets

from tests.rig.peers import GREET, Inbox, Json
from tests.rig.waiting import HUNG


class ProviderProcess:
    """The process, started and bound to a session; used as a context manager.

    With `keeps_tools` the hello names no tools, so that those of a former connection stay.
    """

    def __init__(
        self,
        url: str,
        token: str,
        *,
        name: str = "greeter",
        tools: list[Json] | None = None,
        session: str | None = None,
        keeps_tools: bool = False,
        **hello: Any,
    ) -> None:
        message = {
            "type": "hello",
            "name": name,
            "protocolVersion": 2,
            **({} if keeps_tools else {"tools": [GREET] if tools is None else tools}),
            **({"session": session} if session else {}),
            **hello,
        }
        self._inbox = Inbox()
        self._news = threading.Condition()
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.rig.provider_process", url, json.dumps(message)],
            cwd=Path(__file__).parent.parent.parent,
            env={**os.environ, "TAP_PROVIDER_TOKEN": token},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            bufsize=1,
            start_new_session=True,
        )
        self._reading = threading.Thread(target=self._read, daemon=True)
        self._reading.start()
        try:
            self.ack = self.expect("hello.ack")
        except BaseException:
            self.close()
            raise

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            with self._news:
                self._inbox.messages.append(json.loads(line))
                self._news.notify_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    @property
    def id(self) -> str:
        """The provider's id at the gateway."""
        return str(self.ack["providerId"])

    def send(self, message: Json) -> None:
        """Have the process send a message."""
        assert self._process.stdin is not None
        self._process.stdin.write(json.dumps(message) + "\n")
        self._process.stdin.flush()

    def expect(self, type_: str, *, within: float = HUNG, **fields: Any) -> Json:
        """Wait for a message of `type_` with these `fields`; those passed over stay."""
        with self._news:
            found: Json | None = None

            def look() -> bool:
                nonlocal found
                found = self._inbox.take(type_, fields)
                return found is not None

            if not self._news.wait_for(look, within) or found is None:
                unread = [message.get("type") for message in self._inbox.messages]
                raise AssertionError(f"no {type_} {fields or ''} in {within:g} s; unread {unread}")
            return found

    def answer(self, *, within: float = HUNG, **result: Any) -> Json:
        """Answer the next call with `result`; return the call."""
        call = self.expect("tool.call", within=within)
        self.send({"type": "tool.result", "id": call["id"], **result})
        return call

    def push(self, event: str, *, level: str = "keep", stream: str = "news", **more: Any) -> None:
        """Push a line."""
        self.send({"type": "push", "level": level, "event": event, "stream": stream, **more})

    def close(self) -> None:
        """End the process and wait for it."""
        if self._process.poll() is None:
            self._process.kill()
        self._process.wait()
        self._reading.join()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                pipe.close()


async def _main(url: str, hello: Json) -> None:
    orders = asyncio.StreamReader()
    await asyncio.get_running_loop().connect_read_pipe(
        lambda: asyncio.StreamReaderProtocol(orders), sys.stdin
    )
    async with websockets.connect(url) as socket:

        async def obey() -> None:
            while line := await orders.readline():
                await socket.send(line.decode().strip())

        obeying = asyncio.create_task(obey())
        await socket.send(json.dumps({"type": "auth", "token": os.environ["TAP_PROVIDER_TOKEN"]}))
        async for frame in socket:
            message = json.loads(frame)
            if message["type"] == "sessions":
                hello.setdefault("session", message["active"][0]["id"])
                await socket.send(json.dumps(hello))
            print(json.dumps(message), flush=True)
        obeying.cancel()


if __name__ == "__main__":
    try:
        asyncio.run(_main(sys.argv[1], json.loads(sys.argv[2])))
    except websockets.ConnectionClosedError as error:
        sys.exit(f"the gateway went away: {error}")
