"""The bridge as a process: `python -m tapui.mcp_servers.bridge END`, its end of a socket pair."""

import asyncio
import logging
import signal
import socket
import sys

from tapui.mcp_servers.messages import (
    AT_BRIDGE,
    BridgeMessage,
    ServerLost,
    ServerStart,
    ServerStop,
    ServerTold,
    ToBridge,
)
from tapui.runtime.children.channel import Channel
from tapui.runtime.children.lines import LineError, inherited_end
from tapui.runtime.processes.reaping import Orphans


def main() -> None:
    """Run until tapui closes the channel or is gone."""
    logging.basicConfig(stream=sys.stderr, level=logging.ERROR)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for tapui, which closes the channel
    asyncio.run(_serve(inherited_end(sys.argv[1])))


async def _serve(end: socket.socket) -> None:
    received: asyncio.Queue[ToBridge | LineError | None] = asyncio.Queue()
    channel = Channel("tapui", AT_BRIDGE, received.put_nowait, on_bad_line=received.put_nowait)
    channel.ended.add_done_callback(lambda _: received.put_nowait(None))
    await channel.open(end)

    def tell(message: BridgeMessage) -> None:
        try:
            channel.send(message)
        except LineError as error:
            channel.send(ServerTold("error", f"something could not be told: {error}"))

    start = await received.get()
    if start is None:
        return
    if not isinstance(start, ServerStart):
        sys.exit("tapui.mcp_servers.bridge: the first line is not `start`")
    try:
        from tapui.mcp_servers.bridge.bridge import Bridge
    except ImportError as error:
        hint = "install tapui with the extra `mcp`"
        tell(ServerLost("package", f"the package mcp cannot be used: {error}", hint))
        return
    loop = asyncio.get_running_loop()
    Orphans(loop).adopt()  # what the server leaves behind stays known as an agent's
    for number in (signal.SIGTERM, signal.SIGHUP):
        loop.add_signal_handler(number, received.put_nowait, ServerStop())
    await Bridge(start, tell).run(received)


if __name__ == "__main__":
    main()
