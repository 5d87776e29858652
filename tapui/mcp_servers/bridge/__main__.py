"""The bridge as a process: lines on its standard streams, and nothing else there."""

import asyncio
import contextlib
import logging
import os
import signal
import sys
import threading
from typing import BinaryIO

from tapui.mcp_servers.messages import (
    MAX_LINE_BYTES,
    BridgeMessage,
    LineError,
    ServerLost,
    ServerStart,
    ServerStop,
    ServerTold,
    ToBridge,
    line,
    read_by_bridge,
)
from tapui.runtime.processes.reaping import Orphans


def main() -> None:
    """Run until the input ends."""
    logging.basicConfig(stream=sys.stderr, level=logging.ERROR)
    # What anything here prints goes to standard error: the lines have a descriptor of their own.
    out = os.fdopen(os.dup(1), "wb", buffering=0)
    os.dup2(2, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is for tapui, which then ends the input
    first = sys.stdin.buffer.readline(MAX_LINE_BYTES + 1)
    if not first:
        return
    try:
        start = read_by_bridge(first)
        if not isinstance(start, ServerStart):
            raise LineError("the first line is not `start`")
    except LineError as error:
        sys.exit(f"tapui.mcp_servers.bridge: {error}")
    try:
        from tapui.mcp_servers.bridge.bridge import Bridge
    except ImportError as error:
        hint = "install tapui with the extra `mcp`"
        out.write(line(ServerLost("package", f"the package mcp cannot be used: {error}", hint)))
        return

    async def run() -> None:
        lines: asyncio.Queue[ToBridge | None] = asyncio.Queue()
        tell = _Teller(out)
        bridge = Bridge(start, tell.tell)
        loop = asyncio.get_running_loop()
        Orphans(loop).adopt()  # what the server leaves behind stays known as an agent's
        for number in (signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, lines.put_nowait, ServerStop())
        threading.Thread(
            target=_read, args=(sys.stdin.buffer, loop, lines, tell), daemon=True
        ).start()
        await bridge.run(lines)

    asyncio.run(run())


class _Teller:
    """Writes lines. When tapui reads no more, the end of the input follows."""

    def __init__(self, out: BinaryIO) -> None:
        self._out = out

    def tell(self, message: BridgeMessage) -> None:
        try:
            data = line(message)
        except LineError as error:
            data = line(ServerTold("error", f"something could not be told: {error}"))
        view = memoryview(data)
        with contextlib.suppress(BrokenPipeError):  # tapui is gone; the input ends, too
            while view:
                view = view[self._out.write(view) :]


def _read(
    source: BinaryIO,
    loop: asyncio.AbstractEventLoop,
    lines: "asyncio.Queue[ToBridge | None]",
    tell: _Teller,
) -> None:
    """Hand lines to the loop, in a thread; the end of the input is None."""

    def put(message: ToBridge | None) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed: the process ends
            loop.call_soon_threadsafe(lines.put_nowait, message)

    while text := source.readline(MAX_LINE_BYTES + 1):
        try:
            put(read_by_bridge(text))
        except LineError as error:
            tell.tell(ServerTold("error", f"a line was ignored: {error}"))
    put(None)


if __name__ == "__main__":
    main()
