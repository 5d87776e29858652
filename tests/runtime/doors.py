"""Doors for tests of the server: they record what they were told, or echo."""

import asyncio

from tapui.runtime.ports import SocketPort
from tests.rig.waiting import HUNG


class RecordingDoor:
    """Trusts everybody and remembers everything."""

    def __init__(self) -> None:
        self.refused: str | None = None
        self.ports: list[SocketPort] = []
        self.messages: list[bytes] = []
        self.binary: list[int] = []
        self.oversized: list[bytes] = []
        self.gone: list[SocketPort] = []
        self.drains = 0
        self.trusting = True
        self.changed = asyncio.Event()

    def refusal(self, origin: str | None) -> str | None:
        return self.refused

    def opened(self, port: SocketPort) -> None:
        self.ports.append(port)
        if self.trusting:
            port.authenticated()
        self.changed.set()

    def received(self, port: SocketPort, data: bytes) -> None:
        self.messages.append(data)
        self.changed.set()

    def received_oversized(self, port: SocketPort, start: bytes) -> None:
        self.oversized.append(start)
        self.changed.set()

    def received_binary(self, port: SocketPort, size: int) -> None:
        self.binary.append(size)
        self.changed.set()

    def drained(self, port: SocketPort) -> None:
        self.drains += 1
        self.changed.set()

    def closed(self, port: SocketPort) -> None:
        self.gone.append(port)
        self.changed.set()

    async def until(self, condition, within: float = HUNG) -> None:
        """Wait until `condition()` holds; look again whenever the door was told something."""
        async with asyncio.timeout(within):
            while not condition():
                self.changed.clear()
                await self.changed.wait()


class EchoDoor(RecordingDoor):
    """Sends every text message back. Keeps nothing."""

    def received(self, port: SocketPort, data: bytes) -> None:
        port.send(data)
