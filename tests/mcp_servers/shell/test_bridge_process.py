"""The process of a bridge: what it started ends with it."""

import os
import sys
from pathlib import Path

from tapui.mcp_servers.messages import ServerStart
from tapui.mcp_servers.shell.bridge_process import BridgeProcess
from tests.gateway.emitting import until_dead
from tests.rig.waiting import until_async

STUBBORN = """
import os, pathlib, signal, time
signal.signal(signal.SIGTERM, signal.SIG_IGN)
place = pathlib.Path("pid")
place.with_suffix(".new").write_text(str(os.getpid()))
place.with_suffix(".new").rename(place)
while True:
    time.sleep(60)
"""


async def test_a_server_that_does_not_want_to_end_ends_with_its_bridge(tmp_path: Path) -> None:
    bridge = await BridgeProcess.start(os.environ, lambda _: None)
    place = tmp_path / "pid"
    bridge.send(
        ServerStart(
            "stubborn", "ws://127.0.0.1:9", sys.executable, ["-c", STUBBORN], cwd=str(tmp_path)
        )
    )
    await until_async(place.exists, what="the server")
    await bridge.stop()
    await until_dead(place.read_text())
