"""A bridge as tapui starts it: lines on its standard streams."""

import asyncio
import sys
from types import TracebackType
from typing import Any, Self, TypeVar

from tapui.mcp_servers.messages import (
    MAX_LINE_BYTES,
    BridgeMessage,
    FromBridge,
    ServerStart,
    line,
    read_by_tapui,
)
from tests.rig.gateway import Home

M = TypeVar("M")
ENDS_WITHIN = 15.0


class BridgeProcess:
    """A bridge; `told` is all that it has said. It ends with its context."""

    def __init__(self, home: Home, start: ServerStart | None, *argv: str) -> None:
        self._home = home
        self._start = start
        self._argv = argv or (sys.executable, "-m", "tapui.mcp_servers.bridge")
        self._news = asyncio.Event()
        self.told: list[FromBridge] = []
        self.errors = ""

    async def __aenter__(self) -> Self:
        self.process = await asyncio.create_subprocess_exec(
            *self._argv,
            env=self._home.env(),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
            limit=2 * MAX_LINE_BYTES,
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
        """Send a line."""
        assert self.process.stdin is not None
        self.process.stdin.write(line(message))
        await self.process.stdin.drain()

    async def heard(
        self, kind: type[M], *, times: int = 1, within: float = 20.0, **fields: Any
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
        """Close its input; return its exit code once it has ended."""
        assert self.process.stdin is not None
        self.process.stdin.close()
        try:
            async with asyncio.timeout(ENDS_WITHIN):
                code = await self.process.wait()
        except TimeoutError:
            self.process.kill()
            await self.process.wait()
            raise AssertionError(f"the bridge did not end; {self.errors}") from None
        await self._reading
        return code

    async def _read(self) -> None:
        assert self.process.stdout is not None
        while text := await self.process.stdout.readline():
            self.told.append(read_by_tapui(text))
            self._news.set()

    async def _read_errors(self) -> None:
        assert self.process.stderr is not None
        while text := await self.process.stderr.read(65536):
            self.errors += text.decode(errors="replace")
