"""A bridge as tapui starts it: lines over a socket pair."""

import asyncio
import socket
import sys
from types import TracebackType
from typing import Any, Self, TypeVar

from tapui.mcp_servers.messages import AT_TAPUI, BridgeMessage, FromBridge, ServerStart
from tapui.runtime.children.lines import MAX_LINE_BYTES
from tests.rig.gateway import Home
from tests.rig.waiting import HUNG

M = TypeVar("M")
ENDS_WITHIN = 15.0


class BridgeProcess:
    """A bridge; `told` is all that it has said. It ends with its context."""

    def __init__(self, home: Home, start: ServerStart | None, *argv: str, **environ: str) -> None:
        self._environ = home.env(**environ)
        self._start = start
        self._argv = argv or (sys.executable, "-m", "tapui.mcp_servers.bridge")
        self._news = asyncio.Event()
        self.told: list[FromBridge] = []
        self.errors = ""

    async def __aenter__(self) -> Self:
        ours, theirs = socket.socketpair()
        with theirs:
            self.process = await asyncio.create_subprocess_exec(
                *self._argv,
                str(theirs.fileno()),
                env=self._environ,
                stderr=asyncio.subprocess.PIPE,
                pass_fds=(theirs.fileno(),),
            )
        self._reader, self._writer = await asyncio.open_connection(
            sock=ours, limit=2 * MAX_LINE_BYTES
        )
        self._reading = asyncio.gather(self._read(), self._read_errors())
        if self._start is not None:
            await self.say(self._start)
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.end()

    async def say(self, message: BridgeMessage) -> None:
        await self.write(AT_TAPUI.encode(message))

    async def write(self, data: bytes) -> None:
        """Send what may be no line."""
        self._writer.write(data)
        await self._writer.drain()

    async def heard(
        self, kind: type[M], *, times: int = 1, within: float = HUNG, **fields: Any
    ) -> M:
        """Wait until so many lines of a kind came, with these fields; return the newest."""

        def fits(one: object) -> bool:
            return isinstance(one, kind) and all(
                getattr(one, name) == value for name, value in fields.items()
            )

        try:
            async with asyncio.timeout(within):
                while len(found := [one for one in self.told if fits(one)]) < times:
                    self._news.clear()
                    await self._news.wait()
        except TimeoutError:
            raise AssertionError(
                f"no {kind.__name__} {fields}; told: {self.told}\n{self.errors}"
            ) from None
        newest = found[-1]
        assert isinstance(newest, kind)
        return newest

    async def end(self) -> int:
        """Close the channel; return its exit code once it has ended."""
        if self._writer.can_write_eof() and not self._writer.is_closing():
            self._writer.write_eof()
        try:
            async with asyncio.timeout(ENDS_WITHIN):
                code = await self.process.wait()
        except TimeoutError:
            self.process.kill()
            await self.process.wait()
            raise AssertionError(f"the bridge did not end; {self.errors}") from None
        await self._reading
        self._writer.close()
        return code

    async def _read(self) -> None:
        while text := await self._reader.readline():
            self.told.append(AT_TAPUI.decode(text))
            self._news.set()

    async def _read_errors(self) -> None:
        assert self.process.stderr is not None
        while text := await self.process.stderr.read(65536):
            self.errors += text.decode(errors="replace")
