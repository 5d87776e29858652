"""The process of one bridge, as the gateway sees it: messages to it and from it, and its end."""

import asyncio
import logging
from collections.abc import Callable, Mapping

from tapui.mcp_servers.messages import AT_TAPUI, BridgeMessage, FromBridge, ServerStop
from tapui.runtime.children.channel import Channel, UnreadError
from tapui.runtime.children.child import Child, Ended
from tapui.runtime.children.lines import LineError
from tapui.runtime.children.supervisor import NETWORK, ProgramLog, own_program

LEAVE_SECONDS = 4.0
"""How long a bridge may take to end its server when it is asked to: more than it gives a server
that does not want to (`LEAVE_SECONDS` and `TERM_SECONDS` of `bridge/transports.py`)."""

_log = logging.getLogger(__name__)


class BridgeProcess:
    """A running bridge. Make it with `start()`, then hear of its end with `wait()`."""

    def __init__(self, child: Child, channel: Channel[FromBridge]) -> None:
        self._child = child
        self._channel = channel

    @classmethod
    async def start(
        cls, environ: Mapping[str, str], on_message: Callable[[FromBridge], None]
    ) -> "BridgeProcess":
        """Start one; its messages are given to `on_message`. Raises `OSError`."""
        channel = Channel("the bridge", AT_TAPUI, on_message)
        command = own_program("tapui.mcp_servers.bridge", environ=environ, besides=NETWORK)
        return cls(await channel.start(command, ProgramLog().take), channel)

    @property
    def pid(self) -> int:
        return self._child.pid

    def send(self, message: BridgeMessage) -> None:
        try:
            self._channel.send(message)
        except UnreadError:
            _log.warning("the bridge %d does not read its input: it is ended", self.pid)
            self.kill()
        except LineError as error:
            _log.error("a message for a bridge is left out: %s", error)

    async def wait(self) -> Ended:
        """Wait for its end; all that it said was taken by then."""
        return await self._channel.end_of(self._child, LEAVE_SECONDS)

    async def stop(self) -> None:
        self.send(ServerStop())
        try:
            async with asyncio.timeout(LEAVE_SECONDS):
                await self.wait()
        except TimeoutError:
            await self._child.stop(within=0.5)

    def kill(self) -> None:
        """End it at once: its server sees the end of its own input."""
        self._child.kill()
